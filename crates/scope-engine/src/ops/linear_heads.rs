//! One linear layer for the numbers of every head.

use crate::{
    cuda,
    device::Device,
    error::{EngineError, require_shape},
    ops::{Epilogue, Linear, add},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// What it remembers on a GPU.
pub(crate) struct HeadsRecord {
    pub(crate) layer: Linear,
    pub(crate) heads: usize,
    pub(crate) x: Var,
}

impl Tape<'_> {
    /// y\[..., h\] = x\[..., h\] W^T + b, the same for every head h, at full width.
    ///
    /// # Shapes
    /// x \[batch, rows, heads k\], W \[n, k\], y \[batch, rows, heads, n\].
    pub(crate) fn linear_heads(&self, x: &Var, layer: Linear, heads: usize) -> Result<Var, EngineError> {
        let &[batch, rows, width] = x.shape() else {
            return Err(EngineError::shape(
                "a layer for all heads",
                "its input",
                "[batch, rows, heads x size]",
                x.shape(),
            ));
        };
        let shape = [batch, rows, heads.max(1), width / heads.max(1)];
        match self.device() {
            Device::Cpu(_) => self.linear(&x.reshape(&shape)?, layer, Epilogue::Wide),
            Device::Cuda(cuda) => {
                let weight = &self.params().layout().param(layer.weight).shape;
                let n = weight[0];
                require_shape("a layer for all heads", "the weight", weight, &[n, shape[3]])?;
                let x = add::converted(self, x)?;
                let shape = [batch, rows, heads, n];
                let value = cuda::heads::forward(cuda, self.params(), layer, heads, x.value(), &shape)?;
                Ok(self.push(value, true, || Box::new(HeadsRecord { layer, heads, x })))
            }
        }
    }
}

/// Gradients as of a linear layer, with sums over the heads too.
impl Record for HeadsRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let Device::Cuda(cuda) = gradient.device().clone() else { return Ok(()) };
        let dx = cuda::heads::backward(&cuda, self, &gradient, flow)?;
        flow.give(&self.x, dx)
    }
}
