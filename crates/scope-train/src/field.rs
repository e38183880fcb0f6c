//! Training any network with the field loss alone.

use scope_data::schedule::Batch;
use scope_engine::{AdamW, Device, Dtype, Gradients, Moments, Optimizer, StepScalars, Tape, Tensor, Update};
use scope_model::{Architecture, FieldModel};

use crate::{
    error::TrainError,
    examples::Examples,
    objective::{Component, Objective},
    replayed::OneLoss,
    run::{Counters, Deployable, Feed, Learner},
    step::{MAX_NORM, StepReport},
};

/// A network of any architecture in training: it minimises L_F, and nothing else.
#[derive(Debug)]
pub struct FieldTrainer {
    /// The network and the parameters that are trained.
    pub model: FieldModel,
    /// The optimizer's memory.
    pub moments: Moments,
    /// How parameters follow their gradients.
    pub optimizer: Optimizer,
    /// What products are computed in: the device's own choice, unless it is changed.
    pub precision: Dtype,
    /// Steps taken.
    pub steps: u64,
    gradients: Gradients,
}

impl FieldTrainer {
    /// Begins with fresh moments.
    pub fn new(model: FieldModel) -> Result<Self, TrainError> {
        let (moments, gradients) = (Moments::zeros(&model.params)?, Gradients::zeros(&model.params)?);
        let precision = model.params.training_precision();
        Ok(Self { model, moments, optimizer: Optimizer::default(), precision, steps: 0, gradients })
    }

    /// One step with a learning rate. If a gradient is not finite, the report says so and the state stays as it was.
    pub fn step(&mut self, examples: &Examples, rate: f64) -> Result<StepReport, TrainError> {
        let pace =
            StepScalars::new(self.model.params.device(), &self.optimizer.adamw, self.steps + 1, rate, 1.0)?;
        let report = self.learn_at(examples, &pace)?;
        self.steps += 1;
        Ok(report)
    }

    fn learn_at(&mut self, examples: &Examples, pace: &StepScalars) -> Result<StepReport, TrainError> {
        let params = &mut self.model.params;
        let tape = Tape::recording_in(params, self.precision)?;
        let fields = self.model.network.forward(&tape, &tape.input(examples.contexts.clone()))?;
        let loss = tape.mean_distance(&fields, &examples.fields, &examples.weights)?;
        self.gradients.restart()?;
        tape.backward(&[(&loss, 1.0)], &mut self.gradients)?;
        let (loss, observed) = (loss.value().clone(), tape.batch_statistics());
        drop(tape);
        let update = Update { scalars: pace, max_norm: MAX_NORM, paths: &[""] };
        let norm = self.optimizer.step(params, &self.gradients, &mut self.moments, update)?;
        params.update_running_statistics(&observed, &norm)?;
        Ok(StepReport::plain(Component::Field, loss, norm))
    }
}

impl OneLoss for FieldTrainer {
    fn settings(&self) -> &AdamW {
        &self.optimizer.adamw
    }

    fn step_at(&mut self, examples: &Examples, pace: &StepScalars) -> Result<StepReport, TrainError> {
        self.learn_at(examples, pace)
    }

    fn steps_mut(&mut self) -> &mut u64 {
        &mut self.steps
    }
}

impl Learner for FieldTrainer {
    fn learn(&mut self, feed: &Feed<'_>, batch: &Batch, rate: f64, _: f64) -> Result<StepReport, TrainError> {
        let examples = feed.examples(batch, self.device())?;
        self.step(&examples, rate)
    }

    fn begin_stage(&mut self, _: &Objective) -> Result<(), TrainError> {
        self.moments = Moments::zeros(&self.model.params)?;
        self.steps = 0;
        Ok(())
    }

    fn device(&self) -> &Device {
        self.model.params.device()
    }

    fn buffers(&self) -> Vec<(&'static str, &Tensor)> {
        let Moments { first, second } = &self.moments;
        vec![("params", self.model.params.flat()), ("first_moment", first), ("second_moment", second)]
    }

    fn counters(&self) -> Counters {
        Counters { steps: self.steps, alpha: 1.0 }
    }

    fn restore(
        &mut self,
        buffers: &dyn Fn(&str) -> Option<Tensor>,
        counters: Counters,
    ) -> Result<(), TrainError> {
        let take = |name: &str| buffers(name).ok_or_else(|| TrainError::lacking(name));
        self.model.params.set_flat(take("params")?)?;
        self.moments = Moments { first: take("first_moment")?, second: take("second_moment")? };
        self.steps = counters.steps;
        Ok(())
    }

    fn deployable(&self, trained: &Architecture) -> Result<Deployable, TrainError> {
        Ok(Deployable { architecture: trained.clone(), params: self.model.params.prefix("")? })
    }
}
