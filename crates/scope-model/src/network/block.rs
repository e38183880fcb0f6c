//! A Transformer block.

use scope_engine::{EngineError, Epilogue, Linear, Norm, Scope, Tape, Var};

use crate::config::Transformer;

/// Pre-normalised self-attention and MLP, each added to the stream:
/// x += proj(attention(qkv(ln1(x)))), x += fc2(gelu(fc1(ln2(x)))).
#[derive(Clone, Debug)]
pub(super) struct Block {
    heads: usize,
    ln1: Norm,
    qkv: Linear,
    proj: Linear,
    ln2: Norm,
    fc1: Linear,
    fc2: Linear,
}

impl Block {
    fn declare(mut scope: Scope<'_>, stack: Transformer, expansion: usize) -> Self {
        let width = stack.width;
        let ln1 = Norm::declare(scope.scope("ln1"), width);
        let qkv = Linear::declare(scope.scope("qkv"), width, 3 * width);
        // A shift of all keys shifts a query's scores alike, which softmax does not see: the gradient of the keys' bias
        // is zero. What rounding leaves of it AdamW would scale up to full steps, and far from zero keys lose their
        // bits.
        scope.hold(qkv.bias, width..2 * width);
        let proj = Linear::declare(scope.scope("proj"), width, width);
        let ln2 = Norm::declare(scope.scope("ln2"), width);
        let fc1 = Linear::declare(scope.scope("fc1"), width, expansion * width);
        let fc2 = Linear::declare(scope.scope("fc2"), expansion * width, width);
        // Queries, keys and values are three matrices.
        for (layer, parts) in [(qkv, 3), (proj, 1), (fc1, 1), (fc2, 1)] {
            scope.hidden(layer.weight, parts);
        }
        Self { heads: stack.heads, ln1, qkv, proj, ln2, fc1, fc2 }
    }

    /// The stack's blocks, named `blocks.0`, `blocks.1`, ...
    pub(super) fn declare_all(scope: &mut Scope<'_>, stack: Transformer, expansion: usize) -> Vec<Self> {
        let mut blocks = scope.scope("blocks");
        (0..stack.depth).map(|k| Self::declare(blocks.scope(k), stack, expansion)).collect()
    }

    /// # Shapes
    /// x and the result \[batch, tokens, width\].
    pub(super) fn forward(&self, tape: &Tape<'_>, x: &Var) -> Result<Var, EngineError> {
        let h = tape.layer_norm(x, self.ln1)?;
        let qkv = tape.linear(&h, self.qkv, Epilogue::Plain)?; // [batch, tokens, 3 width]
        let h = tape.attention(&qkv, self.heads)?;
        let x = tape.linear(&h, self.proj, Epilogue::Add(x))?;
        let h = tape.layer_norm(&x, self.ln2)?;
        let h = tape.linear(&h, self.fc1, Epilogue::Gelu)?; // [batch, tokens, expansion width]
        tape.linear(&h, self.fc2, Epilogue::Add(&x))
    }
}
