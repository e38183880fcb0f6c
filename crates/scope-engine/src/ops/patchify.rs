//! Images cut into square patches, one a token.

use crate::{
    device::kernel,
    error::EngineError,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// The sizes of an image in patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patches {
    pub(crate) batch: usize,
    pub(crate) channels: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) patch: usize,
}

impl Patches {
    /// The patches of an image \[batch, channels, height, width\].
    pub(super) fn of(operation: &'static str, shape: &[usize], patch: usize) -> Result<Self, EngineError> {
        match *shape {
            [batch, channels, height, width]
                if patch > 0 && height.is_multiple_of(patch) && width.is_multiple_of(patch) =>
            {
                Ok(Self { batch, channels, height, width, patch })
            }
            _ => Err(EngineError::shape(
                operation,
                "the image",
                format!("[batch, channels, height, width] with sides a multiple of {patch}"),
                shape,
            )),
        }
    }

    /// Patches per image.
    pub(crate) fn tokens(&self) -> usize {
        (self.height / self.patch) * (self.width / self.patch)
    }

    /// Pixels per patch.
    pub(crate) fn area(&self) -> usize {
        self.patch * self.patch
    }
}

struct PatchifyRecord {
    patches: Patches,
    x: Var,
}

impl Tape<'_> {
    /// Token t holds its patch as (channel, row, column): what a convolution with stride and size `patch` sees.
    ///
    /// # Shapes
    /// x \[batch, channels, height, width\], y \[batch, tokens, channels patch patch\].
    pub fn patchify(&self, x: &Var, patch: usize) -> Result<Var, EngineError> {
        let patches = Patches::of("patchify", x.shape(), patch)?;
        let value = kernel!(self.device(), layout::patchify(patches, x.value(), self.compute()))?;
        let record = PatchifyRecord { patches, x: x.clone() };
        Ok(self.push(value, x.node().is_some(), || Box::new(record)))
    }
}

/// Every number goes back to where it came from.
impl Record for PatchifyRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx = kernel!(gradient.device(), layout::patchify_back(self.patches, &gradient))?;
        flow.give(&self.x, dx)
    }
}
