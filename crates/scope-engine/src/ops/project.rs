//! y = x W^T, without a bias.

use super::{rows_of, with_last};
use crate::{
    cpu, cuda,
    device::Device,
    error::{EngineError, require_shape},
    ops::add,
    params::ParamId,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct ProjectRecord {
    weight: ParamId,
    x: Var,
}

impl Tape<'_> {
    /// y = x W^T.
    ///
    /// # Shapes
    /// x \[..., k\], W \[n, k\], y \[..., n\].
    pub fn project(&self, x: &Var, weight: ParamId) -> Result<Var, EngineError> {
        let (_, k) = rows_of(x.shape());
        let sizes = &self.params().layout().param(weight).shape;
        let n = sizes[0];
        require_shape("a projection", "the weight", sizes, &[n, k])?;
        let shape = with_last(x.shape(), n);
        let x = match self.device() {
            Device::Cpu(_) => add::widened(self, x)?,
            Device::Cuda(_) => add::converted(self, x)?,
        };
        let value = match self.device() {
            Device::Cpu(cpu) => cpu::expansion::project(cpu, self.params(), weight, x.value(), &shape),
            Device::Cuda(cuda) => cuda::heads::project(cuda, self.params(), weight, x.value(), &shape)?,
        };
        Ok(self.push(value, true, || Box::new(ProjectRecord { weight, x })))
    }
}

/// dx = dy W, dW = dy^T x.
impl Record for ProjectRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx = match gradient.device().clone() {
            Device::Cpu(cpu) => {
                cpu::expansion::project_back(&cpu, self.weight, self.x.value(), &gradient, flow)?
            }
            Device::Cuda(cuda) => {
                cuda::heads::project_back(&cuda, self.weight, self.x.value(), &gradient, flow)?
            }
        };
        flow.give(&self.x, dx)
    }
}
