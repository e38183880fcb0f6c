//! Channels of one value or of another, as weights say.

use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct ChooseRecord {
    x: Var,
    weights: Tensor,
}

impl Tape<'_> {
    /// y\[b, c\] = x\[b, c\] where w\[b, c\] is not zero, and t\[b, c\] elsewhere; nothing flows to t.
    ///
    /// # Shapes
    /// x, t and y \[batch, channels, ...\], w \[batch, channels\].
    pub fn choose(&self, x: &Var, other: &Tensor, weights: &Tensor) -> Result<Var, EngineError> {
        let shape = x.shape();
        require_shape("choose", "the other value", other.shape(), shape)?;
        require_shape("choose", "the weights", weights.shape(), &shape[..shape.len().min(2)])?;
        let value = kernel!(self.device(), per_channel::choose(x.value(), Some(other), weights))?;
        let record = ChooseRecord { x: x.clone(), weights: weights.clone() };
        Ok(self.push(value, x.node().is_some(), || Box::new(record)))
    }
}

/// dx\[b, c\] = dy\[b, c\] where w\[b, c\] is not zero, and 0 elsewhere.
impl Record for ChooseRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx = kernel!(gradient.device(), per_channel::choose(&gradient, None, &self.weights))?;
        flow.give(&self.x, dx)
    }
}
