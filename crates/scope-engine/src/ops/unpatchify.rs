//! Tokens laid out as the patches of an image.

use crate::{
    device::kernel,
    error::EngineError,
    ops::Patches,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct UnpatchifyRecord {
    patches: Patches,
    x: Var,
}

impl Tape<'_> {
    /// Token t holds its tile as (channel, row, column); the image has its channels last.
    ///
    /// # Shapes
    /// x \[batch, rows columns, channels patch patch\], y \[batch, rows patch, columns patch, channels\].
    pub fn unpatchify(&self, x: &Var, patch: usize, [rows, columns]: [usize; 2]) -> Result<Var, EngineError> {
        let malformed = || {
            EngineError::shape(
                "unpatchify",
                "the tokens",
                format!("[batch, {rows} x {columns}, channels x {patch} x {patch}]"),
                x.shape(),
            )
        };
        let [batch, tokens, features] = *x.shape() else { return Err(malformed()) };
        let area = patch * patch;
        if rows.checked_mul(columns) != Some(tokens) || area == 0 || !features.is_multiple_of(area) {
            return Err(malformed());
        }
        let channels = features / area;
        let patches = Patches { batch, channels, height: rows * patch, width: columns * patch, patch };
        let value = kernel!(self.device(), layout::unpatchify(patches, x.value()))?;
        let record = UnpatchifyRecord { patches, x: x.clone() };
        Ok(self.push(value, x.node().is_some(), || Box::new(record)))
    }
}

/// Every number goes back to where it came from.
impl Record for UnpatchifyRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx = kernel!(gradient.device(), layout::unpatchify_back(self.patches, &gradient))?;
        flow.give(&self.x, dx)
    }
}
