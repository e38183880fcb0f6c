//! The mean of weighted absolute differences.

use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct AbsoluteRecord {
    prediction: Var,
    target: Tensor,
    weights: Tensor,
}

impl Tape<'_> {
    /// L = mean over samples b of the sum over channels c of w\[b, c\] times the mean over pixels of |p\[b, c\] - t\[b,
    /// c\]|. A channel of weight zero takes no part.
    ///
    /// # Shapes
    /// prediction and target \[batch, channels, ...\], weights \[batch, channels\], L \[1\].
    pub fn mean_absolute(
        &self,
        prediction: &Var,
        target: &Tensor,
        weights: &Tensor,
    ) -> Result<Var, EngineError> {
        let shape = prediction.shape();
        require_shape("mean absolute", "the target", target.shape(), shape)?;
        require_shape("mean absolute", "the weights", weights.shape(), &shape[..shape.len().min(2)])?;
        let value = kernel!(self.device(), losses::absolute(prediction.value(), target, weights))?;
        let record = AbsoluteRecord {
            prediction: prediction.clone(),
            target: target.clone(),
            weights: weights.clone(),
        };
        Ok(self.push(value, prediction.node().is_some(), || Box::new(record)))
    }
}

/// dp = g w / (batch pixels) sign(p - t), and 0 where the two are equal.
impl Record for AbsoluteRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let saved = [self.prediction.value(), &self.target, &self.weights];
        let dp = kernel!(gradient.device(), losses::absolute_back(saved, &gradient))?;
        flow.give(&self.prediction, dp)
    }
}
