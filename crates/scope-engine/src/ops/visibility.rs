//! How much of each patch is seen.

use crate::{
    cpu, cuda,
    device::Device,
    error::EngineError,
    ops::Patches,
    tape::{Tape, Var},
};

impl Tape<'_> {
    /// The mean of every second channel (the masks of a context) over each patch. A mask is data: nothing flows
    /// back to it, and a tracked context is refused.
    ///
    /// # Shapes
    /// x \[batch, 2 m, height, width\], y \[batch, tokens, m\].
    pub fn visibility(&self, x: &Var, patch: usize) -> Result<Var, EngineError> {
        let patches = Patches::of("visibility", x.shape(), patch)?;
        if x.node().is_some() || !patches.channels.is_multiple_of(2) {
            return Err(EngineError::shape(
                "visibility",
                "the context",
                "values and masks in turn, without gradients",
                x.shape(),
            ));
        }
        let value = match self.device() {
            Device::Cpu(cpu) => cpu::layout::visibility(cpu, patches, x.value()),
            Device::Cuda(cuda) => cuda::layout::visibility(cuda, patches, x.value())?,
        };
        Ok(self.input(value))
    }
}
