//! The mean of squared differences.

use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct MeanSquareRecord {
    x: Var,
    target: Tensor,
}

impl Tape<'_> {
    /// L = mean of (x - t)^2; nothing flows to the target.
    ///
    /// # Shapes
    /// x and target equal, L \[1\].
    pub fn mean_square(&self, x: &Var, target: &Tensor) -> Result<Var, EngineError> {
        require_shape("mean square", "the target", target.shape(), x.shape())?;
        let value = kernel!(self.device(), losses::mean_square(x.value(), target))?;
        let record = MeanSquareRecord { x: x.clone(), target: target.clone() };
        Ok(self.push(value, x.node().is_some(), || Box::new(record)))
    }
}

/// dx = 2 g (x - t) / n.
impl Record for MeanSquareRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx =
            kernel!(gradient.device(), losses::mean_square_back(self.x.value(), &self.target, &gradient))?;
        flow.give(&self.x, dx)
    }
}
