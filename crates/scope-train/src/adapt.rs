//! Training a replacement decoder on a frozen backbone.

use std::sync::Arc;

use scope_engine::{AdamW, Dtype, Gradients, Layout, Moments, Pace, Params, Tape, Tensor, Update};
use scope_model::{Decoder, DecoderConfig, Model, initialise};

use crate::{
    error::TrainError,
    examples::Examples,
    objective::Component,
    step::{LONGEST, StepReport},
};

/// A replacement decoder in training. Its layout is its own: the backbone is not even in reach.
#[derive(Debug)]
pub struct HeadTrainer {
    decoder: Decoder,
    /// The head's parameters, named `decoder. ...`.
    pub params: Params,
    /// The optimiser's memory.
    pub moments: Moments,
    /// The optimiser's settings.
    pub settings: AdamW,
    /// Steps taken.
    pub steps: u64,
    gradients: Gradients,
}

impl HeadTrainer {
    /// A newly initialised head for a model.
    pub fn new(base: &Model, widths: &DecoderConfig, seed: u64) -> Result<Self, TrainError> {
        let mut layout = Layout::new();
        let decoder = Decoder::declare(layout.root().scope("decoder"), &base.config, widths);
        let mut params = Params::zeros(base.params.device(), Arc::new(layout))?;
        initialise(&mut params, seed)?;
        let (moments, gradients) = (Moments::zeros(&params)?, Gradients::zeros(&params)?);
        Ok(Self { decoder, params, moments, settings: AdamW::default(), steps: 0, gradients })
    }

    /// One step on latents that the frozen backbone gave: z_M for SP, z_F for DP.
    pub fn step(
        &mut self,
        latents: Tensor,
        examples: &Examples,
        rate: f64,
    ) -> Result<StepReport, TrainError> {
        let tape = Tape::recording(&self.params)?;
        let fields = self.decoder.forward(&tape, &tape.input(latents))?;
        let loss = tape.mean_distance(&fields, &examples.fields, &examples.weights)?;
        self.gradients.restart()?;
        tape.backward(&[(&loss, 1.0)], &mut self.gradients)?;
        let loss = loss.value().clone();
        drop(tape);
        self.steps += 1;
        let pace = Pace::new(self.params.device(), &self.settings, self.steps, rate, 1.0)?;
        let update = Update { pace: &pace, longest: LONGEST, paths: &[""] };
        let norm = self.settings.step(&mut self.params, &self.gradients, &mut self.moments, update)?;
        Ok(StepReport::plain(Component::Field, loss, norm))
    }

    /// The fields this head decodes from latents.
    pub fn decode(&self, latents: Tensor) -> Result<Tensor, TrainError> {
        let tape = Tape::inference(&self.params, Dtype::F32);
        Ok(self.decoder.forward(&tape, &tape.input(latents))?.value().clone())
    }
}
