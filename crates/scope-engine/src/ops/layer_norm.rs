//! Layer normalisation over the last axis.

use super::rows_of;
use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    params::{ParamId, Scope},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// Added to the variance.
pub(crate) const EPSILON: f64 = 1e-5;

/// The parameters of a normalisation: gain \[n\] and bias \[n\].
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    /// g: the gain of each channel.
    pub weight: ParamId,
    /// b: the bias of each channel.
    pub bias: ParamId,
}

impl Norm {
    /// Declares a normalisation of `n` numbers.
    pub fn declare(mut scope: Scope<'_>, n: usize) -> Self {
        Self { weight: scope.offset("weight", &[n]), bias: scope.offset("bias", &[n]) }
    }
}

struct NormRecord {
    norm: Norm,
    x: Var,
}

impl Tape<'_> {
    /// y = (x - mean) / sqrt(variance + 1e-5) g + b over the last axis, in the precision of the products.
    ///
    /// # Shapes
    /// x and y \[..., n\].
    pub fn layer_norm(&self, x: &Var, norm: Norm) -> Result<Var, EngineError> {
        let (_, n) = rows_of(x.shape());
        require_shape("layer norm", "the gain", &self.params().layout().param(norm.weight).shape, &[n])?;
        let value = kernel!(self.device(), layer_norm::forward(self, norm, x.value()))?;
        Ok(self.push(value, true, || Box::new(NormRecord { norm, x: x.clone() })))
    }
}

/// With r = 1 / sqrt(variance + e), h = (x - mean) r and d = dy g:
/// dx = r (d - mean(d) - h mean(d h)), dg = sum over rows of dy h, db = sum over rows of dy.
impl Record for NormRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let arrived = flow.take(&self.x);
        let dx = kernel!(
            gradient.device(),
            layer_norm::backward(self.norm, self.x.value(), &gradient, arrived, flow)
        )?;
        flow.give(&self.x, dx)
    }
}
