//! Images with another number of rows and columns: cut off, or filled up with zeros.

use crate::{
    cpu, cuda,
    device::Device,
    error::EngineError,
    ops::add,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct FrameRecord {
    x: Var,
}

impl Tape<'_> {
    /// y\[b, i, j\] = x\[b, i, j\] where x has such a pixel, and 0 elsewhere, in the precision of x.
    ///
    /// # Shapes
    /// x \[batch, ..., ..., c\], y \[batch, height, width, c\].
    pub fn frame(&self, x: &Var, [height, width]: [usize; 2]) -> Result<Var, EngineError> {
        let &[batch, _, _, c] = x.shape() else {
            return Err(EngineError::shape(
                "a frame",
                "the image",
                "[batch, height, width, channels]",
                x.shape(),
            ));
        };
        let x = add::widened(self, x)?;
        let value = apply(x.value(), [batch, height, width, c])?;
        let tracked = x.node().is_some();
        Ok(self.push(value, tracked, || Box::new(FrameRecord { x })))
    }
}

/// dx is dy in the frame of x.
impl Record for FrameRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let &[batch, height, width, c] = self.x.shape() else { return Ok(()) };
        flow.give(&self.x, apply(&gradient, [batch, height, width, c])?)
    }
}

fn apply(x: &Tensor, shape: [usize; 4]) -> Result<Tensor, EngineError> {
    match x.device() {
        Device::Cpu(cpu) => Ok(cpu::channels_last::frame(cpu, x, &shape)),
        Device::Cuda(cuda) => cuda::operators::frame(cuda, x, &shape),
    }
}
