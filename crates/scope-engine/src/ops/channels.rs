//! Channels last to channels first.

use crate::{
    device::kernel,
    error::EngineError,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct ChannelsRecord {
    x: Var,
}

impl Tape<'_> {
    /// y\[b, c, i, j\] = x\[b, i, j, c\].
    ///
    /// # Shapes
    /// x \[batch, height, width, channels\], y \[batch, channels, height, width\].
    pub fn channels_first(&self, x: &Var) -> Result<Var, EngineError> {
        let [batch, height, width, channels] = *x.shape() else {
            return Err(EngineError::shape(
                "channels first",
                "the image",
                "[batch, height, width, channels]",
                x.shape(),
            ));
        };
        let shape = [batch, channels, height, width];
        let value = kernel!(self.device(), layout::transpose(x.value(), [height * width, channels], &shape))?;
        let record = ChannelsRecord { x: x.clone() };
        Ok(self.push(value, x.node().is_some(), || Box::new(record)))
    }
}

/// dx\[b, i, j, c\] = dy\[b, c, i, j\].
impl Record for ChannelsRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let shape = self.x.shape();
        let pixels = shape[1] * shape[2];
        let channels = shape[3];
        let dx = kernel!(gradient.device(), layout::transpose(&gradient, [channels, pixels], shape))?;
        flow.give(&self.x, dx)
    }
}
