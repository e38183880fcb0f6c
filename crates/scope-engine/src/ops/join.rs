//! Two values side by side along the last axis.

use super::{rows_of, with_last};
use crate::{
    cpu, cuda,
    device::Device,
    error::{EngineError, require_shape},
    ops::add,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct JoinRecord {
    first: Var,
    second: Var,
}

impl Tape<'_> {
    /// z = (x, y) along the last axis.
    ///
    /// # Shapes
    /// x \[..., m\], y \[..., n\], z \[..., m + n\].
    pub fn join(&self, x: &Var, y: &Var) -> Result<Var, EngineError> {
        let (_, m) = rows_of(x.shape());
        let (_, n) = rows_of(y.shape());
        require_shape("join", "the second value", y.shape(), &with_last(x.shape(), n))?;
        let x = add::widened(self, x)?;
        let y = add::widened(self, y)?;
        let shape = with_last(x.shape(), m + n);
        let value = match self.device() {
            Device::Cpu(cpu) => cpu::channels_last::join(cpu, x.value(), y.value(), &shape),
            Device::Cuda(cuda) => cuda::operators::join(cuda, x.value(), y.value(), &shape)?,
        };
        let tracked = x.node().or(y.node()).is_some();
        Ok(self.push(value, tracked, || Box::new(JoinRecord { first: x, second: y })))
    }
}

/// Each gets its part.
impl Record for JoinRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let shapes = [self.first.shape(), self.second.shape()];
        let [dx, dy] = match gradient.device().clone() {
            Device::Cpu(cpu) => cpu::channels_last::part(&cpu, &gradient, shapes),
            Device::Cuda(cuda) => cuda::operators::part(&cuda, &gradient, shapes)?,
        };
        flow.give(&self.first, dx)?;
        flow.give(&self.second, dy)
    }
}
