//! A training step: forward, backward, update.

use scope_data::schedule::Batch;
use scope_engine::{
    Device, Dtype, Gradients, Moments, Optimizer, Params, StepScalars, Tape, Tensor, Update, Var,
};
use scope_model::{Architecture, Model, Network};

use crate::{
    error::TrainError,
    examples::Examples,
    losses::{Pass, PassLosses},
    objective::{Component, Objective},
    run::{Counters, Deployable, Feed, Learner},
};

/// Combined gradients are clipped to this norm.
pub(crate) const MAX_NORM: f64 = 1.0;
/// The parameter sets on which the cap holds: all, and the encoder's.
const CAP_SETS: [&str; 2] = ["", "encoder"];

/// The state of one stage of training.
#[derive(Debug)]
pub struct Trainer {
    /// The network's parts.
    pub network: Network,
    /// The parameters that are trained.
    pub params: Params,
    /// The running average of the encoder, if the objective asks for one.
    pub teacher: Option<Params>,
    /// The optimizer's memory.
    pub moments: Moments,
    /// How parameters follow their gradients.
    pub optimizer: Optimizer,
    /// What is minimised.
    pub objective: Objective,
    /// What products are computed in: the device's own choice, unless it is changed.
    pub precision: Dtype,
    /// Steps between two measurements of the cap. In between, one backward pass carries all components, with
    /// the factor measured last.
    pub cap_every: u64,
    /// Steps taken in this stage.
    pub steps: u64,
    /// The cap's last factor.
    pub alpha: f64,
    /// One gradient a component, kept between steps.
    gradients: Vec<Gradients>,
}

/// What a step measured, still on its device.
#[derive(Clone, Debug)]
pub struct StepReport {
    losses: Vec<(Component, Tensor)>,
    /// Norms \[components, sets\] and alpha, if the cap was at work.
    cap: Option<(Tensor, Tensor)>,
    /// The factor that was applied, if the cap did not measure one.
    alpha: f64,
    norm: Tensor,
    spread: Option<Tensor>,
}

/// What a step measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The loss of each component that took part, unweighted.
    pub losses: Vec<(Component, f64)>,
    /// The norm of each component's weighted gradient over all parameters and over the encoder's; empty when
    /// there was nothing to cap.
    pub norms: Vec<(Component, [f64; 2])>,
    /// The factor of the components beside the field's.
    pub alpha: f64,
    /// The norm of the combined gradient before it was shortened.
    pub norm: f64,
    /// Mean standard deviation of a latent coordinate over the batch.
    pub latent_std: Option<f64>,
}

impl Trainer {
    /// Begins a stage with fresh moments; the teacher begins as the encoder.
    pub fn new(model: Model, objective: Objective) -> Result<Self, TrainError> {
        let Model { network, params, .. } = model;
        let teacher = teacher_of(&params, &objective)?;
        let moments = Moments::zeros(&params)?;
        let (optimizer, gradients) = (Optimizer::default(), Vec::new());
        let (cap_every, steps, alpha) = (1, 0, 1.0);
        let precision = params.training_precision();
        Ok(Self {
            network,
            params,
            teacher,
            moments,
            optimizer,
            objective,
            precision,
            cap_every,
            steps,
            alpha,
            gradients,
        })
    }

    /// One step with a learning rate, and a momentum for the teacher. If a gradient is not finite, the report says
    /// so and the state stays as it was.
    pub fn step(&mut self, examples: &Examples, rate: f64, momentum: f64) -> Result<StepReport, TrainError> {
        let Differentiated { losses, cap, spread } = self.differentiate(examples, Passes::AsNeeded)?;
        if let Some((_, alpha)) = &cap {
            self.alpha = scalar(alpha)?;
        }
        let pace =
            StepScalars::new(self.params.device(), &self.optimizer.adamw, self.steps + 1, rate, momentum)?;
        let norm = self.update(&pace)?;
        self.steps += 1;
        Ok(StepReport { losses, cap, alpha: self.alpha, norm, spread })
    }

    /// One step at the pace of the next, without waiting for the device.
    pub(crate) fn step_unread(
        &mut self,
        examples: &Examples,
        pace: &StepScalars,
        passes: Passes<'_>,
    ) -> Result<StepReport, TrainError> {
        let Differentiated { losses, cap, spread } = self.differentiate(examples, passes)?;
        let norm = self.update(pace)?;
        Ok(StepReport { losses, cap, alpha: self.alpha, norm, spread })
    }

    /// Whether the next step measures the cap.
    pub(crate) fn measures_cap(&self) -> bool {
        self.steps.is_multiple_of(self.cap_every)
    }

    /// What a component's loss is multiplied with in a step that does not measure the cap: its weight and, beside others,
    /// the factor measured last.
    pub(crate) fn factor(&self, component: Component) -> f64 {
        let several = self.objective.capped && self.objective.components().count() > 1;
        let capped = several && component != Component::Field;
        self.objective.weight(component) * if capped { self.alpha } else { 1.0 }
    }

    /// Applies the combined gradient; gives back its norm.
    fn update(&mut self, pace: &StepScalars) -> Result<Tensor, TrainError> {
        let update = Update { scalars: pace, max_norm: MAX_NORM, paths: self.objective.paths() };
        let norm = self.optimizer.step(&mut self.params, &self.gradients[0], &mut self.moments, update)?;
        if let Some(teacher) = &mut self.teacher {
            teacher.update_ema(&self.params, pace, &norm)?;
        }
        Ok(norm)
    }

    /// Forward and backward; the combined gradient is left in the first buffer.
    fn differentiate(
        &mut self,
        examples: &Examples,
        passes: Passes<'_>,
    ) -> Result<Differentiated, TrainError> {
        let several = self.objective.capped && self.objective.components().count() > 1;
        let measures = several
            && match passes {
                Passes::AsNeeded => self.measures_cap(),
                Passes::Together(_) => false,
                Passes::All | Passes::AllButVariance => true,
            };
        let going_back = self.objective.components().filter(|component| passes.goes_back(*component)).count();
        let buffers = if measures { going_back } else { 1 };
        while self.gradients.len() < buffers {
            self.gradients.push(Gradients::zeros(&self.params)?);
        }
        for gradients in &mut self.gradients[..buffers] {
            gradients.restart()?;
        }
        // What one view's passes remember is forgotten before the other's begin: that halves the memory.
        let mut done = Differentiated { losses: Vec::new(), cap: None, spread: None };
        for view in self.objective.by_view().into_iter().filter(|view| view.components().next().is_some()) {
            self.differentiate_view(&view, examples, passes, measures, &mut done)?;
        }
        if measures {
            let (field, others) = self.gradients.split_at_mut(1);
            let others: Vec<&Gradients> = others.iter().take(buffers - 1).collect();
            let capped = field[0].add_capped(&others, &CAP_SETS)?;
            done.cap = Some((capped.norms, capped.alpha));
        }
        for (_, loss) in done.losses.iter().filter(|(component, _)| !passes.goes_back(*component)) {
            self.gradients[0].void_unless_zero(loss)?;
        }
        Ok(done)
    }

    /// Forward and backward of what one view is needed for: into a buffer for each component if the cap is measured, else into
    /// the first.
    fn differentiate_view(
        &mut self,
        view: &Objective,
        examples: &Examples,
        passes: Passes<'_>,
        measures: bool,
        done: &mut Differentiated,
    ) -> Result<(), TrainError> {
        let before = done.losses.len();
        let tape = Tape::recording_in(&self.params, self.precision)?;
        let pass = Pass::run(&tape, &self.network, self.teacher.as_ref(), examples, view)?;
        let PassLosses(losses) = pass.losses(&tape, examples, view)?;
        // The complete view's latents are the ones watched, where there are any.
        let watched = pass.complete.as_ref().or(pass.predicted.as_ref().filter(|_| *view == self.objective));
        if let Some(z) = watched {
            done.spread = Some(tape.mean_spread(z)?);
        }
        drop(pass);
        done.losses.extend(losses.iter().map(|(component, loss)| (*component, loss.value().clone())));
        let seen = losses.iter().enumerate().filter(|(_, (component, _))| passes.goes_back(*component));
        if measures {
            for (place, (component, loss)) in seen {
                let gradients = &mut self.gradients[before + place];
                if matches!(passes, Passes::AsNeeded) && is_zero(*component, loss.value())? {
                    gradients.clear()?;
                } else {
                    tape.backward(&[(loss, self.objective.weight(*component))], gradients)?;
                }
            }
        } else if let Passes::Together(factors) = passes {
            let seeds: Vec<(&Var, Tensor)> =
                seen.map(|(place, (_, loss))| (loss, factors[before + place].clone())).collect();
            tape.backward_from(&seeds, &mut self.gradients[0])?;
        } else {
            let seeds: Vec<(&Var, f64)> =
                seen.map(|(_, (component, loss))| (loss, self.factor(*component))).collect();
            tape.backward(&seeds, &mut self.gradients[0])?;
        }
        Ok(())
    }
}

/// Which components' gradients a step computes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passes<'a> {
    /// All but those that are exactly zero, which the device is asked for.
    AsNeeded,
    /// All.
    All,
    /// All but the variance term's; if that was not zero after all, the step is void: its norm is not finite, and nothing
    /// changes.
    AllButVariance,
    /// The sum of all, each times a factor \[1\] that lies on the device.
    Together(&'a [Tensor]),
}

impl Passes<'_> {
    /// Whether a component's gradient is computed.
    fn goes_back(self, component: Component) -> bool {
        !matches!(self, Passes::AllButVariance) || component != Component::Variance
    }
}

/// A teacher like the encoder, if the objective wants one.
fn teacher_of(params: &Params, objective: &Objective) -> Result<Option<Params>, TrainError> {
    Ok(objective.has(Component::Latent).then(|| params.prefix("encoder")).transpose()?)
}

/// Whether a component's gradient is exactly zero: a variance term whose every coordinate clears the floor.
fn is_zero(component: Component, loss: &Tensor) -> Result<bool, TrainError> {
    Ok(component == Component::Variance && scalar(loss)? == 0.0)
}

fn scalar(tensor: &Tensor) -> Result<f64, TrainError> {
    Ok(f64::from(tensor.to_vec::<f32>()?[0]))
}

/// What a backward pass leaves beside its gradients.
struct Differentiated {
    losses: Vec<(Component, Tensor)>,
    cap: Option<(Tensor, Tensor)>,
    spread: Option<Tensor>,
}

impl Learner for Trainer {
    fn learn(
        &mut self,
        feed: &Feed<'_>,
        batch: &Batch,
        rate: f64,
        momentum: f64,
    ) -> Result<StepReport, TrainError> {
        let examples = feed.examples(batch, self.params.device())?;
        self.step(&examples, rate, momentum)
    }

    fn begin_stage(&mut self, objective: &Objective) -> Result<(), TrainError> {
        self.objective = *objective;
        self.teacher = teacher_of(&self.params, objective)?;
        self.moments = Moments::zeros(&self.params)?;
        (self.steps, self.alpha) = (0, 1.0);
        Ok(())
    }

    fn set_fit_normaliser(&mut self, divisors: &[f32]) -> Result<(), TrainError> {
        let fits = self.network.encoder.fits().map(|fits| fits.normaliser);
        let id = fits.ok_or_else(|| TrainError::Request("the network has no local fits".to_owned()))?;
        let range = self.params.layout().param(id).range.clone();
        let mut flat = self.params.flat().to_vec::<f32>()?;
        flat[range].copy_from_slice(divisors);
        self.params.set_flat(Tensor::from_slice(self.params.device(), &[flat.len()], &flat)?)?;
        self.teacher = teacher_of(&self.params, &self.objective)?;
        Ok(())
    }

    fn device(&self) -> &Device {
        self.params.device()
    }

    fn buffers(&self) -> Vec<(&'static str, &Tensor)> {
        let teacher = self.teacher.as_ref().map(|teacher| ("teacher", teacher.flat()));
        let own = [
            ("params", self.params.flat()),
            ("first_moment", &self.moments.first),
            ("second_moment", &self.moments.second),
        ];
        own.into_iter().chain(teacher).collect()
    }

    fn counters(&self) -> Counters {
        Counters { steps: self.steps, alpha: self.alpha }
    }

    fn restore(
        &mut self,
        buffers: &dyn Fn(&str) -> Option<Tensor>,
        counters: Counters,
    ) -> Result<(), TrainError> {
        let take = |name: &str| buffers(name).ok_or_else(|| TrainError::lacking(name));
        self.params.set_flat(take("params")?)?;
        self.moments = Moments { first: take("first_moment")?, second: take("second_moment")? };
        if let Some(teacher) = &mut self.teacher {
            teacher.set_flat(take("teacher")?)?;
        }
        (self.steps, self.alpha) = (counters.steps, counters.alpha);
        Ok(())
    }

    fn deployable(&self, trained: &Architecture) -> Result<Deployable, TrainError> {
        Ok(Deployable { architecture: trained.clone(), params: self.params.prefix("")? })
    }
}

impl StepReport {
    /// A report of one loss without a cap.
    pub(crate) fn plain(component: Component, loss: Tensor, norm: Tensor) -> Self {
        Self { losses: vec![(component, loss)], cap: None, alpha: 1.0, norm, spread: None }
    }

    /// One component's loss, brought back from the device; zero if it took no part.
    pub(crate) fn loss(&self, component: Component) -> Result<f64, TrainError> {
        self.losses.iter().find(|(named, _)| *named == component).map_or(Ok(0.0), |(_, loss)| scalar(loss))
    }

    /// The cap's factor, if this step measured it, brought back from the device.
    pub(crate) fn measured_alpha(&self) -> Result<Option<f64>, TrainError> {
        self.cap.as_ref().map(|(_, alpha)| scalar(alpha)).transpose()
    }

    /// The same report with a factor of the host's.
    pub(crate) fn with_alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Brings the numbers back from the device.
    pub fn read(&self) -> Result<Measured, TrainError> {
        let losses: Vec<(Component, f64)> = self
            .losses
            .iter()
            .map(|(component, loss)| Ok((*component, scalar(loss)?)))
            .collect::<Result<_, TrainError>>()?;
        let (mut norms, mut alpha) = (Vec::new(), self.alpha);
        if let Some((measured, factor)) = &self.cap {
            let measured = measured.to_vec::<f32>()?;
            let pairs = measured.chunks_exact(2).map(|pair| [f64::from(pair[0]), f64::from(pair[1])]);
            norms = losses.iter().map(|(component, _)| *component).zip(pairs).collect();
            alpha = scalar(factor)?;
        }
        let latent_std = self.spread.as_ref().map(scalar).transpose()?;
        Ok(Measured { losses, norms, alpha, norm: scalar(&self.norm)?, latent_std })
    }
}
