//! Training: the state of a stage, and one step of it: forward, backward, gradient cap, clipping, optimizer, EMA.

mod gradients;
mod head;
mod in_team;
mod input;
mod recorder;
mod report;
mod state;
#[cfg(test)]
mod tests;
mod trainable;

use scope_data::schedule::Batch;
use scope_engine::{
    Device, DeviceGroup, Dtype, Gradients, Moments, Optimizer, Params, StepScalars, Tape, Update,
};
use scope_model::{DecoderConfig, FieldModel, Model, View};
use serde::{Deserialize, Serialize};

pub use head::Head;
pub use report::{DeviceReport, StepReport};
pub use trainable::Trainable;

use crate::{
    error::TrainError, examples::Examples, losses::Pass, objective::Objective, residual::Residual,
    run::DataLoader, schedule::Rates, team::Team,
};
use gradients::{Differentiated, Passes};
use recorder::Recorder;
use report::scalar;
use state::teacher_of;

/// Combined gradients are clipped to this norm.
pub const MAX_NORM: f64 = 1.0;

/// The numbers of a trainer's state that are not in its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Number of steps taken in the stage.
    pub steps: u64,
    /// Factor of the gradient cap that was measured last.
    pub alpha: f64,
}

impl Counters {
    /// The counters before the first step of a stage.
    const START: Self = Self { steps: 0, alpha: 1.0 };
}

/// The state of one stage of training, which takes steps.
///
/// What differs between SCOPE networks, operators and replacement decoders is which parameters are trained and how they
/// go forward ([`Trainable`]), which losses there are ([`Objective`]), whether there is an EMA teacher, and whether
/// steps are recorded and replayed ([`Trainer::recorded`]). The step is one and the same.
#[derive(Debug)]
pub struct Trainer {
    /// The network that is trained.
    pub trainable: Trainable,
    /// The parameters that are trained.
    pub params: Params,
    /// The EMA of the encoder, if the objective asks for one.
    pub teacher: Option<Params>,
    /// The optimizer's running moments.
    pub moments: Moments,
    /// The optimizer with its settings.
    pub optimizer: Optimizer,
    /// The objective that is minimised.
    pub objective: Objective,
    /// Precision of products (mixed precision): the device's own choice, unless it is changed.
    pub precision: Dtype,
    /// Number of steps between two measurements of the gradient cap. In between, one backward pass carries all
    /// components, with the factor measured last.
    pub cap_every: u64,
    /// Number of steps taken, and the cap's last factor.
    pub counters: Counters,
    /// One gradient a component, kept between steps.
    gradients: Vec<Gradients>,
    /// Recorded steps, if steps are to be recorded.
    recorder: Option<Recorder>,
    /// The GPUs of its team, if they compute on GPUs. After the recorded steps: what is recorded with it must be gone
    /// first.
    group: Option<Box<dyn DeviceGroup>>,
    /// The processes that it takes steps with, if it is not alone. After their GPUs: whoever waits for those of a lost
    /// process is ended by its connection with it.
    team: Option<Team>,
}

impl Trainer {
    /// Trains a SCOPE network; the EMA teacher, if the objective asks for one, begins as the encoder.
    pub fn scope(model: Model, objective: Objective) -> Result<Self, TrainError> {
        Self::new(Trainable::Scope(Box::new(model.network)), model.params, objective)
    }

    /// Trains a network of any architecture with the field loss alone.
    pub fn field(model: FieldModel) -> Result<Self, TrainError> {
        Self::new(Trainable::Field(model.network), model.params, Objective::FO)
    }

    /// Trains an operator of the auxiliary study; `residual` is of the problem whose equation is in the objective, if
    /// it is.
    pub fn auxiliary(
        model: FieldModel,
        objective: Objective,
        residual: Option<Residual>,
    ) -> Result<Self, TrainError> {
        Self::new(Trainable::Auxiliary(model.network, residual.map(Box::new)), model.params, objective)
    }

    /// Trains a newly initialised decoder on a frozen model, whose decoder it will replace, with the field loss alone.
    pub fn head(base: Model, widths: DecoderConfig, view: View, seed: u64) -> Result<Self, TrainError> {
        let (head, params) = Head::new(base, widths, view, seed)?;
        Self::new(Trainable::Head(Box::new(head)), params, Objective::FO)
    }

    /// Goes on training a model's own decoder, all else frozen, with the field loss alone.
    pub(crate) fn continued_head(base: Model, view: View) -> Result<Self, TrainError> {
        let (head, params) = Head::continued(base, view)?;
        Self::new(Trainable::Head(Box::new(head)), params, Objective::FO)
    }

    /// Begins a stage with fresh moments.
    fn new(trainable: Trainable, params: Params, objective: Objective) -> Result<Self, TrainError> {
        Ok(Self {
            trainable,
            teacher: teacher_of(&params, &objective)?,
            moments: Moments::zeros(&params)?,
            optimizer: Optimizer::default(),
            objective,
            precision: params.training_precision(),
            cap_every: 1,
            counters: Counters::START,
            gradients: Vec::new(),
            recorder: None,
            group: None,
            team: None,
            params,
        })
    }

    /// The same trainer with its steps recorded: on a GPU the first step of each kind in a stage is recorded as a CUDA
    /// graph, and replayed from then on. Elsewhere nothing changes.
    #[must_use]
    pub fn recorded(mut self) -> Self {
        if let Device::Cuda(cuda) = self.device() {
            self.recorder = Some(Recorder::new(cuda));
        }
        self
    }

    /// The same trainer as one of a team's: batches are the rows that its rank has, and steps those of whole batches.
    #[must_use]
    pub fn in_team(mut self, team: Team) -> Self {
        self.team = Some(team);
        self
    }

    /// The same trainer on one of several devices, each of which has an equal share of every batch: losses and
    /// gradients are the means over all.
    #[must_use]
    pub fn over(mut self, group: impl DeviceGroup + 'static) -> Self {
        self.group = Some(Box::new(group));
        self
    }

    /// One step. If a gradient is not finite, the report says so and parameters, moments and teacher stay as they were.
    pub fn step(&mut self, examples: &Examples, rates: Rates) -> Result<DeviceReport, TrainError> {
        let done = self.differentiate(examples, Passes::AsNeeded)?;
        if let Some(cap) = &done.cap {
            self.counters.alpha = scalar(&cap.alpha)?;
        }
        let scalars = self.scalars(rates)?;
        let report = self.update(None, done, &scalars, rates)?;
        self.counters.steps += 1;
        Ok(report)
    }

    /// A step on a batch of a loader, replayed if steps are recorded. The numbers of a report then stay until the next
    /// step.
    pub fn train_on_batch(
        &mut self,
        loader: &DataLoader<'_>,
        batch: &Batch,
        rates: Rates,
    ) -> Result<DeviceReport, TrainError> {
        if self.group.is_none()
            && let Some(mut team) = self.team.take()
        {
            let report = self.step_in_team(&mut team, loader, batch, rates);
            self.team = Some(team);
            return report;
        }
        let Some(mut recorder) = self.recorder.take() else {
            let examples = loader.examples(batch, self.device())?;
            return self.step(&examples, rates);
        };
        let report = recorder.train_on_batch(self, loader, batch, rates);
        self.recorder = Some(recorder);
        report
    }

    /// A step on examples that are the same in every step, replayed if steps are recorded: for measuring how fast steps
    /// are.
    pub fn repeat(&mut self, examples: &Examples, rates: Rates) -> Result<DeviceReport, TrainError> {
        let Some(mut recorder) = self.recorder.take() else { return self.step(examples, rates) };
        let report = recorder.repeat(self, examples, rates);
        self.recorder = Some(recorder);
        report
    }

    /// Goes forward as far as the objective needs it.
    pub fn forward(&self, tape: &Tape<'_>, examples: &Examples) -> Result<Pass, TrainError> {
        Ok(self.trainable.forward(tape, self.teacher.as_ref(), examples, &self.objective)?)
    }

    /// One step that is neither counted nor waited for, with the numbers that change from step to step on the device.
    fn step_on_device(
        &mut self,
        examples: &Examples,
        scalars: &StepScalars,
        rates: Rates,
        passes: Passes<'_>,
    ) -> Result<DeviceReport, TrainError> {
        let done = self.differentiate(examples, passes)?;
        self.update(None, done, scalars, rates)
    }

    /// Clips the combined gradient and applies it; the EMA teacher follows. In a team each rank takes its share of the
    /// hidden matrices, and all others' from them.
    fn update(
        &mut self,
        team: Option<&mut Team>,
        done: Differentiated,
        scalars: &StepScalars,
        rates: Rates,
    ) -> Result<DeviceReport, TrainError> {
        let Differentiated { losses, cap, latent_std, batch_statistics } = done;
        let paths = self.objective.paths();
        let team = team.filter(|_| self.optimizer.muon.is_some());
        let group = self.group.as_deref().filter(|group| self.optimizer.muon.is_some() && group.size() > 1);
        let place = team.as_ref().map(|team| (team.rank(), team.size()));
        let place = place.or(group.map(|group| (group.rank(), group.size())));
        let shares = place.map(|(_, size)| self.params.layout().hidden_shares(paths, size));
        let share = place.zip(shares.as_ref()).map(|((rank, _), shares)| shares[rank].as_slice());
        let update = Update { scalars, max_norm: MAX_NORM, paths, share };
        let norm = self.optimizer.step(&mut self.params, &self.gradients[0], &mut self.moments, update)?;
        if let Some((team, shares)) = team.zip(shares.as_ref()) {
            team.exchange_hidden(&mut self.params, shares)?;
        }
        if let Some((group, shares)) = group.zip(shares.as_ref()) {
            group.share(&mut self.params, shares)?;
        }
        if let Some(teacher) = &mut self.teacher {
            teacher.update_ema(&self.params, scalars, &norm)?;
        }
        self.params.update_running_statistics(&batch_statistics, &norm)?;
        Ok(DeviceReport { rates, losses, cap, alpha: self.counters.alpha, norm, latent_std })
    }

    /// The numbers of the next step that change from step to step, on the device.
    fn scalars(&self, rates: Rates) -> Result<StepScalars, TrainError> {
        let Rates { learning_rate, ema_momentum } = rates;
        let number = self.counters.steps + 1;
        Ok(StepScalars::new(self.device(), &self.optimizer.adamw, number, learning_rate, ema_momentum)?)
    }
}
