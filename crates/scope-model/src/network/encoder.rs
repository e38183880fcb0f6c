//! From a context to latent tokens.

use scope_engine::{EngineError, Epilogue, Linear, LocalFit, Norm, ParamId, Scope, Tape, Var};

use super::block::Block;
use crate::config::ModelConfig;

/// Local fits of the sensors, if there are any; patch embedding, positions, blocks, normalisation, head.
#[derive(Clone, Debug)]
pub struct Encoder {
    side: usize,
    fits: Option<Fits>,
    patch: Linear,
    pos: ParamId,
    blocks: Vec<Block>,
    ln: Norm,
    head: Linear,
}

/// Local fits with what their coefficients are divided by.
#[derive(Clone, Debug, PartialEq)]
pub struct Fits {
    /// How sensors are fitted.
    pub local_fit: LocalFit,
    /// The divisors \[channels\]: measured before training and kept with the weights.
    pub normaliser: ParamId,
}

impl Encoder {
    /// Declares its parameters.
    pub fn declare(mut scope: Scope<'_>, config: &ModelConfig) -> Self {
        let width = config.encoder.width;
        let fits = config.fits.as_ref().map(|fits| {
            let local_fit = fits.local_fit();
            let channels = local_fit.channels(config.context_channels / 2);
            Fits { local_fit, normaliser: scope.scope("fits").statistic("normaliser", &[channels]) }
        });
        let mut patch = scope.scope("patch");
        let kernel = [width, config.encoder_channels(), config.patch, config.patch];
        let patch = Linear { weight: patch.weight("weight", &kernel), bias: patch.offset("bias", &[width]) };
        Self {
            side: config.patch,
            fits,
            patch,
            pos: scope.offset("pos", &[config.tokens(), width]),
            blocks: Block::declare_all(&mut scope, config.encoder, config.expansion),
            ln: Norm::declare(scope.scope("ln"), width),
            head: Linear::declare(scope.scope("head"), width, config.latent),
        }
    }

    /// Its local fits, if it has any.
    pub fn fits(&self) -> Option<&Fits> {
        self.fits.as_ref()
    }

    /// # Shapes
    /// context \[batch, channels, size, size\], latents \[batch, tokens, latent\].
    pub fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let fit = |fits: &Fits| tape.local_fits(context, &fits.local_fit, Some(fits.normaliser));
        let fits = self.fits.as_ref().map(fit).transpose()?;
        self.forward_fitted(tape, context, fits.as_ref())
    }

    /// The same with the local fits given, normalised, where the encoder has any: those of a context's pixels are not the only
    /// ones that can be had of its sensors.
    ///
    /// # Shapes
    /// context \[batch, channels, size, size\], fits \[batch, fit channels, size, size\], latents \[batch, tokens, latent\].
    pub fn forward_fitted(
        &self,
        tape: &Tape<'_>,
        context: &Var,
        fits: Option<&Var>,
    ) -> Result<Var, EngineError> {
        let tokens = match fits {
            None => tape.patches(context, self.side)?, // [batch, tokens, channels patch patch]
            Some(fits) => tape.patches_of(&[context, fits], self.side)?,
        };
        let mut x = tape.linear(&tokens, self.patch, Epilogue::AddRows(self.pos))?; // [batch, tokens, width]
        for block in &self.blocks {
            x = block.forward(tape, &x)?;
        }
        tape.linear(&tape.layer_norm(&x, self.ln)?, self.head, Epilogue::Wide)
    }
}
