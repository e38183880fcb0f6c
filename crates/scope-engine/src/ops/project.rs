//! y = x W^T, without a bias.

use super::{rows_of, with_last};
use crate::{
    device::kernel,
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
        let x = add::for_product(self, x)?;
        let value = kernel!(self.device(), expansion::project(self.params(), weight, x.value(), &shape))?;
        Ok(self.push(value, true, || Box::new(ProjectRecord { weight, x })))
    }
}

/// dx = dy W, dW = dy^T x.
impl Record for ProjectRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx = kernel!(
            gradient.device(),
            expansion::project_back(self.weight, self.x.value(), &gradient, flow)
        )?;
        flow.give(&self.x, dx)
    }
}
