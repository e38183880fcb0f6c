//! Training a replacement decoder on a frozen backbone.

use std::sync::Arc;

use scope_data::schedule::Batch;
use scope_engine::{
    AdamW, Device, Dtype, Gradients, Layout, Moments, Optimizer, Params, StepScalars, Tape, Tensor, Update,
};
use scope_model::{Architecture, Decoder, DecoderConfig, Model, ModelConfig, View, initialise};

use crate::{
    error::TrainError,
    examples::Examples,
    objective::{Component, Objective},
    replayed::OneLoss,
    run::{Counters, Deployable, Feed, Learner},
    step::{MAX_NORM, StepReport},
};

/// A replacement decoder in training. Its layout is its own: the backbone is not even in reach.
#[derive(Debug)]
pub struct HeadTrainer {
    decoder: Decoder,
    /// The head's parameters, named `decoder. ...`.
    pub params: Params,
    /// The optimizer's memory.
    pub moments: Moments,
    /// How parameters follow their gradients.
    pub optimizer: Optimizer,
    /// Steps taken.
    pub steps: u64,
    gradients: Gradients,
}

/// A head in training on the frozen model that it will replace the decoder of.
#[derive(Debug)]
pub struct Adaptation {
    base: Model,
    view: View,
    widths: DecoderConfig,
    /// The head.
    pub head: HeadTrainer,
}

impl Adaptation {
    /// A newly initialised head on a frozen model.
    pub fn new(base: Model, widths: DecoderConfig, view: View, seed: u64) -> Result<Self, TrainError> {
        let head = HeadTrainer::new(&base, &widths, seed)?;
        Ok(Self { base, view, widths, head })
    }

    /// One step on examples: the frozen model's latents, then the head.
    pub fn step(&mut self, examples: &Examples, rate: f64) -> Result<StepReport, TrainError> {
        self.head.step(self.latents(examples)?, examples, rate)
    }

    /// The frozen model's latents of a batch; nothing flows back through them.
    fn latents(&self, examples: &Examples) -> Result<Tensor, TrainError> {
        let tape = Tape::inference(&self.base.params, self.base.params.training_precision());
        let latents = match self.view {
            View::Sparse => self.base.network.predict(&tape, &tape.input(examples.contexts.clone()))?,
            View::Complete => {
                self.base.network.encoder.forward(&tape, &tape.input(examples.complete.clone()))?
            }
        };
        Ok(latents.value().clone())
    }
}

impl OneLoss for Adaptation {
    fn settings(&self) -> &AdamW {
        &self.head.optimizer.adamw
    }

    fn step_at(&mut self, examples: &Examples, pace: &StepScalars) -> Result<StepReport, TrainError> {
        self.head.learn_at(self.latents(examples)?, examples, pace)
    }

    fn steps_mut(&mut self) -> &mut u64 {
        &mut self.head.steps
    }
}

impl Learner for Adaptation {
    fn learn(&mut self, feed: &Feed<'_>, batch: &Batch, rate: f64, _: f64) -> Result<StepReport, TrainError> {
        self.step(&feed.examples(batch, self.device())?, rate)
    }

    fn begin_stage(&mut self, _: &Objective) -> Result<(), TrainError> {
        self.head.moments = Moments::zeros(&self.head.params)?;
        self.head.steps = 0;
        Ok(())
    }

    fn device(&self) -> &Device {
        self.base.params.device()
    }

    fn buffers(&self) -> Vec<(&'static str, &Tensor)> {
        let HeadTrainer { params, moments, .. } = &self.head;
        vec![("params", params.flat()), ("first_moment", &moments.first), ("second_moment", &moments.second)]
    }

    fn counters(&self) -> Counters {
        Counters { steps: self.head.steps, alpha: 1.0 }
    }

    fn restore(
        &mut self,
        buffers: &dyn Fn(&str) -> Option<Tensor>,
        counters: Counters,
    ) -> Result<(), TrainError> {
        let take = |name: &str| buffers(name).ok_or_else(|| TrainError::lacking(name));
        self.head.params.set_flat(take("params")?)?;
        self.head.moments = Moments { first: take("first_moment")?, second: take("second_moment")? };
        self.head.steps = counters.steps;
        Ok(())
    }

    /// The frozen parts with the new head in the decoder's place.
    fn deployable(&self, _: &Architecture) -> Result<Deployable, TrainError> {
        let config = ModelConfig { decoder: self.widths.clone(), ..self.base.config.clone() };
        let mut model = Model::zeros(config, self.device())?;
        let layout = model.params.layout().clone();
        let mut flat = vec![0.0_f32; layout.len()];
        for source in [&self.base.params, &self.head.params] {
            let values = source.flat().to_vec::<f32>()?;
            for param in source.layout().params() {
                let Some(to) = layout.find(&param.name).map(|id| layout.param(id)) else { continue };
                // The old decoder's names are the new one's; their numbers come second and win.
                if to.shape == param.shape {
                    flat[to.range.clone()].copy_from_slice(&values[param.range.clone()]);
                }
            }
        }
        model.params.set_flat(Tensor::from_slice(self.device(), &[flat.len()], &flat)?)?;
        Ok(Deployable { architecture: model.config.into(), params: model.params })
    }
}

impl HeadTrainer {
    /// A newly initialised head for a model.
    pub fn new(base: &Model, widths: &DecoderConfig, seed: u64) -> Result<Self, TrainError> {
        let mut layout = Layout::new();
        let decoder = Decoder::declare(layout.root().scope("decoder"), &base.config, widths);
        let mut params = Params::zeros(base.params.device(), Arc::new(layout))?;
        initialise(&mut params, seed)?;
        let (moments, gradients) = (Moments::zeros(&params)?, Gradients::zeros(&params)?);
        Ok(Self { decoder, params, moments, optimizer: Optimizer::default(), steps: 0, gradients })
    }

    /// One step on latents that the frozen backbone gave: z_M for SP, z_F for DP.
    pub fn step(
        &mut self,
        latents: Tensor,
        examples: &Examples,
        rate: f64,
    ) -> Result<StepReport, TrainError> {
        let pace = StepScalars::new(self.params.device(), &self.optimizer.adamw, self.steps + 1, rate, 1.0)?;
        let report = self.learn_at(latents, examples, &pace)?;
        self.steps += 1;
        Ok(report)
    }

    /// A step that is not counted.
    fn learn_at(
        &mut self,
        latents: Tensor,
        examples: &Examples,
        pace: &StepScalars,
    ) -> Result<StepReport, TrainError> {
        let tape = Tape::recording(&self.params)?;
        let fields = self.decoder.forward(&tape, &tape.input(latents))?;
        let loss = tape.mean_distance(&fields, &examples.fields, &examples.weights)?;
        self.gradients.restart()?;
        tape.backward(&[(&loss, 1.0)], &mut self.gradients)?;
        let loss = loss.value().clone();
        drop(tape);
        let update = Update { scalars: pace, max_norm: MAX_NORM, paths: &[""] };
        let norm = self.optimizer.step(&mut self.params, &self.gradients, &mut self.moments, update)?;
        Ok(StepReport::plain(Component::Field, loss, norm))
    }

    /// The fields this head decodes from latents.
    pub fn decode(&self, latents: Tensor) -> Result<Tensor, TrainError> {
        let tape = Tape::inference(&self.params, Dtype::F32);
        Ok(self.decoder.forward(&tape, &tape.input(latents))?.value().clone())
    }
}
