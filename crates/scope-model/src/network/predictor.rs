//! From the latents of what is seen to the latents of everything.

use scope_engine::{EngineError, Epilogue, Linear, Norm, ParamId, Scope, Tape, Var};

use super::block::Block;
use crate::config::ModelConfig;

/// Projection, positions, blocks, normalisation, projection back.
#[derive(Clone, Debug)]
pub struct Predictor {
    inp: Linear,
    pos: ParamId,
    blocks: Vec<Block>,
    ln: Norm,
    out: Linear,
}

impl Predictor {
    /// Declares its parameters.
    pub(crate) fn declare(mut scope: Scope<'_>, config: &ModelConfig) -> Self {
        let width = config.predictor.width;
        Self {
            inp: Linear::declare(scope.scope("inp"), config.latent, width),
            pos: scope.offset("pos", &[config.tokens(), width]),
            blocks: Block::declare_all(&mut scope, config.predictor, config.expansion),
            ln: Norm::declare(scope.scope("ln"), width),
            out: Linear::declare(scope.scope("out"), width, config.latent),
        }
    }

    /// # Shapes
    /// z and the result \[batch, tokens, latent\].
    pub fn forward(&self, tape: &Tape<'_>, z: &Var) -> Result<Var, EngineError> {
        let mut x = tape.linear(z, self.inp, Epilogue::AddRows(self.pos))?; // [batch, tokens, width]
        for block in &self.blocks {
            x = block.forward(tape, &x)?;
        }
        tape.linear(&tape.layer_norm(&x, self.ln)?, self.out, Epilogue::Wide)
    }
}
