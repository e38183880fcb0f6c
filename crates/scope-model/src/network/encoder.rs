//! From a context to latent tokens.

use scope_engine::{EngineError, Epilogue, Linear, Norm, ParamId, Scope, Tape, Var};

use super::block::Block;
use crate::config::ModelConfig;

/// Patch embedding, positions, blocks, normalisation, head.
#[derive(Clone, Debug)]
pub struct Encoder {
    side: usize,
    patch: Linear,
    pos: ParamId,
    blocks: Vec<Block>,
    ln: Norm,
    head: Linear,
}

impl Encoder {
    /// Declares its parameters.
    pub fn declare(mut scope: Scope<'_>, config: &ModelConfig) -> Self {
        let width = config.encoder.width;
        let mut patch = scope.scope("patch");
        let kernel = [width, config.context_channels, config.patch, config.patch];
        let patch = Linear { weight: patch.weight("weight", &kernel), bias: patch.offset("bias", &[width]) };
        Self {
            side: config.patch,
            patch,
            pos: scope.offset("pos", &[config.tokens(), width]),
            blocks: Block::declare_all(&mut scope, config.encoder, config.expansion),
            ln: Norm::declare(scope.scope("ln"), width),
            head: Linear::declare(scope.scope("head"), width, config.latent),
        }
    }

    /// # Shapes
    /// context \[batch, channels, size, size\], latents \[batch, tokens, latent\].
    pub fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        let tokens = tape.patches(context, self.side)?; // [batch, tokens, channels patch patch]
        let mut x = tape.linear(&tokens, self.patch, Epilogue::AddRows(self.pos))?; // [batch, tokens, width]
        for block in &self.blocks {
            x = block.forward(tape, &x)?;
        }
        tape.linear(&tape.layer_norm(&x, self.ln)?, self.head, Epilogue::Wide)
    }
}
