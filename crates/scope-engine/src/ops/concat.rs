//! Concatenation along the last axis.

use super::{rows_of, with_last};
use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    ops::add,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct ConcatRecord {
    first: Var,
    second: Var,
}

impl Tape<'_> {
    /// z = (x, y) along the last axis.
    ///
    /// # Shapes
    /// x \[..., m\], y \[..., n\], z \[..., m + n\].
    pub fn concat(&self, x: &Var, y: &Var) -> Result<Var, EngineError> {
        let (_, m) = rows_of(x.shape());
        let (_, n) = rows_of(y.shape());
        require_shape("concat", "the second value", y.shape(), &with_last(x.shape(), n))?;
        let x = add::widened(self, x)?;
        let y = add::widened(self, y)?;
        let shape = with_last(x.shape(), m + n);
        let value = kernel!(self.device(), channels_last::concat(x.value(), y.value(), &shape))?;
        let tracked = x.node().or(y.node()).is_some();
        Ok(self.push(value, tracked, || Box::new(ConcatRecord { first: x, second: y })))
    }
}

/// dx and dy are the parts of dz.
impl Record for ConcatRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let shapes = [self.first.shape(), self.second.shape()];
        let [dx, dy] = kernel!(gradient.device(), channels_last::split(&gradient, shapes))?;
        flow.give(&self.first, dx)?;
        flow.give(&self.second, dy)
    }
}
