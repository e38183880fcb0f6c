//! Pixels with their coordinates, channels last.

use crate::{
    device::kernel,
    error::EngineError,
    tape::{Tape, Var},
};

impl Tape<'_> {
    /// y\[b, i, j\] = (x\[b, 0, i, j\], ..., x\[b, c - 1, i, j\], i / (height - 1), j / (width - 1)): channels last,
    /// with the coordinates of both axes from 0 to 1. Nothing flows back to x, and a tracked one is refused.
    ///
    /// # Shapes
    /// x \[batch, c, height, width\], y \[batch, height, width, c + 2\].
    pub fn pixels(&self, x: &Var) -> Result<Var, EngineError> {
        let &[batch, c, height, width] = x.shape() else { return Err(malformed(x)) };
        if x.node().is_some() || height < 2 || width < 2 {
            return Err(malformed(x));
        }
        let sizes = [batch, c, height, width];
        let value = kernel!(self.device(), channels_last::pixels(sizes, x.value(), self.compute()))?;
        Ok(self.input(value))
    }
}

fn malformed(x: &Var) -> EngineError {
    EngineError::shape(
        "pixels",
        "the image",
        "[batch, channels, height, width] without gradients, of two pixels a side at least",
        x.shape(),
    )
}
