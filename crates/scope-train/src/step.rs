//! A training step: forward, backward, update.

use scope_engine::{AdamW, Gradients, Moments, Pace, Params, Tape, Tensor, Update};
use scope_model::{Model, Network};

use crate::{
    error::TrainError,
    examples::Examples,
    losses::{Pass, PassLosses},
    objective::{Component, Objective},
};

/// Combined gradients are shortened to this norm.
pub(crate) const LONGEST: f64 = 1.0;
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
    /// The optimiser's memory.
    pub moments: Moments,
    /// The optimiser's settings.
    pub settings: AdamW,
    /// What is minimised.
    pub objective: Objective,
    /// Steps taken in this stage.
    pub steps: u64,
    /// One gradient a component, kept between steps.
    gradients: Vec<Gradients>,
}

/// What a step measured, still on its device.
#[derive(Clone, Debug)]
pub struct StepReport {
    losses: Vec<(Component, Tensor)>,
    /// Norms \[components, sets\] and alpha, if the cap was at work.
    cap: Option<(Tensor, Tensor)>,
    norm: Tensor,
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
}

impl Trainer {
    /// Begins a stage with fresh moments; the teacher begins as the encoder.
    pub fn new(model: Model, objective: Objective) -> Result<Self, TrainError> {
        let Model { network, params, .. } = model;
        let teacher = objective.has(Component::Latent).then(|| params.prefix("encoder")).transpose()?;
        let moments = Moments::zeros(&params)?;
        let settings = AdamW::default();
        Ok(Self { network, params, teacher, moments, settings, objective, steps: 0, gradients: Vec::new() })
    }

    /// One step with a learning rate, and a momentum for the teacher.
    pub fn step(&mut self, examples: &Examples, rate: f64, momentum: f64) -> Result<StepReport, TrainError> {
        let pace = Pace::new(self.params.device(), &self.settings, self.steps + 1, rate, momentum)?;
        let report = self.step_at(examples, &pace)?;
        self.steps += 1;
        Ok(report)
    }

    /// One step at a pace, which must be that of the next step.
    pub(crate) fn step_at(&mut self, examples: &Examples, pace: &Pace) -> Result<StepReport, TrainError> {
        let (losses, cap) = self.differentiate(examples)?;
        let update = Update { pace, longest: LONGEST, paths: self.objective.paths() };
        let norm = self.settings.step(&mut self.params, &self.gradients[0], &mut self.moments, update)?;
        if let Some(teacher) = &mut self.teacher {
            teacher.follow(&self.params, pace)?;
        }
        Ok(StepReport { losses, cap, norm })
    }

    /// Forward and backward; the combined gradient is left in the first buffer.
    fn differentiate(&mut self, examples: &Examples) -> Result<Differentiated, TrainError> {
        let tape = Tape::recording(&self.params)?;
        let pass = Pass::run(&tape, &self.network, self.teacher.as_ref(), examples, &self.objective)?;
        let PassLosses(losses) = pass.losses(&tape, examples, &self.objective)?;
        let capped = self.objective.capped && losses.len() > 1;
        let buffers = if capped { losses.len() } else { 1 };
        while self.gradients.len() < buffers {
            self.gradients.push(Gradients::zeros(&self.params)?);
        }
        for gradients in &mut self.gradients {
            gradients.restart()?;
        }
        for (k, (component, loss)) in losses.iter().enumerate() {
            let weight = self.objective.weight(*component);
            tape.backward(&[(loss, weight)], &mut self.gradients[if capped { k } else { 0 }])?;
        }
        let mut cap = None;
        if let Some((field, others)) = self.gradients.split_first_mut().filter(|_| capped) {
            let others: Vec<&Gradients> = others.iter().take(losses.len() - 1).collect();
            let capped = field.add_capped(&others, &CAP_SETS)?;
            cap = Some((capped.norms, capped.alpha));
        }
        let losses = losses.iter().map(|(component, loss)| (*component, loss.value().clone())).collect();
        Ok((losses, cap))
    }
}

/// The losses of a step, and what the cap measured.
type Differentiated = (Vec<(Component, Tensor)>, Option<(Tensor, Tensor)>);

impl StepReport {
    /// A report of one loss without a cap.
    pub(crate) fn plain(component: Component, loss: Tensor, norm: Tensor) -> Self {
        Self { losses: vec![(component, loss)], cap: None, norm }
    }

    /// Brings the numbers back from the device.
    pub fn read(&self) -> Result<Measured, TrainError> {
        let scalar = |tensor: &Tensor| Ok::<f64, TrainError>(f64::from(tensor.to_vec::<f32>()?[0]));
        let losses: Vec<(Component, f64)> = self
            .losses
            .iter()
            .map(|(component, loss)| Ok((*component, scalar(loss)?)))
            .collect::<Result<_, TrainError>>()?;
        let (mut norms, mut alpha) = (Vec::new(), 1.0);
        if let Some((measured, factor)) = &self.cap {
            let measured = measured.to_vec::<f32>()?;
            let pairs = measured.chunks_exact(2).map(|pair| [f64::from(pair[0]), f64::from(pair[1])]);
            norms = losses.iter().map(|(component, _)| *component).zip(pairs).collect();
            alpha = scalar(factor)?;
        }
        Ok(Measured { losses, norms, alpha, norm: scalar(&self.norm)? })
    }
}
