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

/// Local fits, what their coefficients are divided by, and how they enter.
#[derive(Clone, Debug, PartialEq)]
pub struct Fits {
    /// How sensors are fitted.
    pub local_fit: LocalFit,
    /// The divisors \[channels\]: measured before training and kept with the weights.
    pub normaliser: ParamId,
    /// Points along each side of a patch.
    side: usize,
    /// Their embedding, which is added to that of the context.
    patch: Linear,
}

/// The embedding of patches: a linear layer whose weight has the shape of a convolution's.
fn embedding(mut scope: Scope<'_>, kernel: [usize; 4]) -> Linear {
    Linear { weight: scope.weight("weight", &kernel), bias: scope.offset("bias", &kernel[..1]) }
}

impl Encoder {
    /// Declares its parameters.
    pub(crate) fn declare(mut scope: Scope<'_>, config: &ModelConfig) -> Self {
        let width = config.encoder.width;
        let fits = config.fits.as_ref().map(|fits| {
            let local_fit = fits.local_fit();
            let side = config.patch / fits.stride.max(1);
            let channels = local_fit.channels(config.context_channels / 2);
            let mut scope = scope.scope("fits");
            let normaliser = scope.statistic("normaliser", &[channels]);
            Fits { local_fit, normaliser, side, patch: embedding(scope, [width, channels, side, side]) }
        });
        let patch =
            embedding(scope.scope("patch"), [width, config.context_channels, config.patch, config.patch]);
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
    /// context \[batch, channels, rows, columns\], latents \[batch, tokens, latent\].
    pub fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let fit = |fits: &Fits| tape.local_fits(context, &fits.local_fit, Some(fits.normaliser));
        let fits = self.fits.as_ref().map(fit).transpose()?;
        self.forward_fitted(tape, context, fits.as_ref())
    }

    /// The same with the local fits given, normalised, where the encoder has any: those of a context's pixels are not
    /// the only ones that can be had of its sensors.
    ///
    /// # Shapes
    /// context \[batch, channels, rows, columns\], fits \[batch, fit channels, points, points\], latents \[batch,
    /// tokens, latent\].
    pub fn forward_fitted(
        &self,
        tape: &Tape<'_>,
        context: &Var,
        fits: Option<&Var>,
    ) -> Result<Var, EngineError> {
        let tokens = tape.patchify(context, self.side)?; // [batch, tokens, channels patch patch]
        let mut x = tape.linear(&tokens, self.patch, Epilogue::AddRows(self.pos))?; // [batch, tokens, width]
        if let (Some(own), Some(fits)) = (&self.fits, fits) {
            let tokens = tape.patchify(fits, own.side)?; // [batch, tokens, fit channels, side side]
            x = tape.linear(&tokens, own.patch, Epilogue::Add(&x))?;
        }
        for block in &self.blocks {
            x = block.forward(tape, &x)?;
        }
        tape.linear(&tape.layer_norm(&x, self.ln)?, self.head, Epilogue::Wide)
    }
}
