//! Images cropped, or padded with zeros, to another number of rows and columns.

use crate::{
    device::kernel,
    error::EngineError,
    ops::add,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct CropRecord {
    x: Var,
}

impl Tape<'_> {
    /// y\[b, i, j\] = x\[b, i, j\] where x has such a pixel, and 0 elsewhere, in the precision of x.
    ///
    /// # Shapes
    /// x \[batch, ..., ..., c\], y \[batch, height, width, c\].
    pub fn crop_or_pad(&self, x: &Var, [height, width]: [usize; 2]) -> Result<Var, EngineError> {
        let &[batch, _, _, c] = x.shape() else {
            return Err(EngineError::shape(
                "crop or pad",
                "the image",
                "[batch, height, width, channels]",
                x.shape(),
            ));
        };
        let x = add::widened(self, x)?;
        let value = apply(x.value(), [batch, height, width, c])?;
        let tracked = x.node().is_some();
        Ok(self.push(value, tracked, || Box::new(CropRecord { x })))
    }
}

/// dx is dy, cropped or padded to the size of x.
impl Record for CropRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let &[batch, height, width, c] = self.x.shape() else { return Ok(()) };
        flow.give(&self.x, apply(&gradient, [batch, height, width, c])?)
    }
}

fn apply(x: &Tensor, shape: [usize; 4]) -> Result<Tensor, EngineError> {
    kernel!(x.device(), channels_last::crop_or_pad(x, &shape))
}
