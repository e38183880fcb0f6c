//! The networks. A field of a struct is a part of a parameter's name: `encoder.blocks.3.qkv.weight`.

mod block;
mod decoder;
mod encoder;
mod predictor;

use scope_engine::{EngineError, Epilogue, Layout, Linear, Tape, Var};

pub use decoder::Decoder;
pub use encoder::{Encoder, Fits};
pub use predictor::Predictor;

use crate::config::ModelConfig;

/// Encoder, predictor, conditioner and decoder: what a context passes on its way to fields.
#[derive(Clone, Debug)]
pub struct Network {
    patch: usize,
    /// Context or complete view to latents.
    pub encoder: Encoder,
    /// Latents of what is seen to latents of everything.
    pub predictor: Predictor,
    /// Visibility of each patch, added to its latent.
    cond: Linear,
    /// Latents to fields.
    pub decoder: Decoder,
}

impl Network {
    /// Declares all parameters; the encoder's come first, so that they are one range.
    pub(crate) fn declare(layout: &mut Layout, config: &ModelConfig) -> Self {
        let mut root = layout.root();
        let masks = config.context_channels / 2;
        Self {
            patch: config.patch,
            encoder: Encoder::declare(root.scope("encoder"), config),
            predictor: Predictor::declare(root.scope("predictor"), config),
            cond: Linear::declare(root.scope("cond"), masks, config.latent),
            decoder: Decoder::declare(root.scope("decoder"), config, &config.decoder),
        }
    }

    /// z_M: the predicted latents of a context.
    ///
    /// # Shapes
    /// context \[batch, channels, size, size\], latents \[batch, tokens, latent\].
    pub fn predict(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let z = self.encoder.forward(tape, context)?;
        self.complete(tape, context, &z)
    }

    /// The predicted latents from those of what is seen.
    fn complete(&self, tape: &Tape<'_>, context: &Var, z: &Var) -> Result<Var, EngineError> {
        let seen = tape.pool_odd_channels(context, self.patch)?; // [batch, tokens, masks]
        let z = tape.linear(&seen, self.cond, Epilogue::Add(z))?;
        self.predictor.forward(tape, &z)
    }

    /// The fields of a context, in stored coordinates.
    ///
    /// # Shapes
    /// context \[batch, channels, size, size\], fields \[batch, fields, size, size\].
    pub fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        self.decoder.forward(tape, &self.predict(tape, context)?)
    }

    /// The fields of a context whose local fits are given; see [`Encoder::forward_fitted`].
    pub fn forward_fitted(&self, tape: &Tape<'_>, context: &Var, fits: &Var) -> Result<Var, EngineError> {
        let z = self.encoder.forward_fitted(tape, context, Some(fits))?;
        self.decoder.forward(tape, &self.complete(tape, context, &z)?)
    }
}
