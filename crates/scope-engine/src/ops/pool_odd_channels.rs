//! Average pooling of every second channel over patches.

use crate::{
    device::kernel,
    error::EngineError,
    ops::Patches,
    tape::{Tape, Var},
};

impl Tape<'_> {
    /// y\[b, t, k\] = the mean of channel 2 k + 1 of x over patch t. Where channels are values and their masks in turn,
    /// that is how much of each patch is measured. Nothing flows back to x, and a tracked one is refused.
    ///
    /// # Shapes
    /// x \[batch, 2 m, height, width\], y \[batch, tokens, m\].
    pub fn pool_odd_channels(&self, x: &Var, patch: usize) -> Result<Var, EngineError> {
        let patches = Patches::of("pooling odd channels", x.shape(), patch)?;
        if x.node().is_some() || !patches.channels.is_multiple_of(2) {
            return Err(EngineError::shape(
                "pooling odd channels",
                "the image",
                "an even number of channels, without gradients",
                x.shape(),
            ));
        }
        let value = kernel!(self.device(), layout::pool_odd_channels(patches, x.value()))?;
        Ok(self.input(value))
    }
}
