//! The mean of weighted Euclidean distances: a relative error, when the weights are one over the targets' norms.

use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct DistanceRecord {
    prediction: Var,
    target: Tensor,
    weights: Tensor,
    /// |p - t| of each sample and channel.
    distances: Tensor,
}

impl Tape<'_> {
    /// L = mean over samples b and channels c of w\[b, c\] |p\[b, c\] - t\[b, c\]|.
    ///
    /// # Shapes
    /// prediction and target \[batch, channels, ...\], weights \[batch, channels\], L \[1\].
    pub fn mean_distance(
        &self,
        prediction: &Var,
        target: &Tensor,
        weights: &Tensor,
    ) -> Result<Var, EngineError> {
        let shape = prediction.shape();
        require_shape("mean distance", "the target", target.shape(), shape)?;
        require_shape("mean distance", "the weights", weights.shape(), &shape[..shape.len().min(2)])?;
        let (value, distances) =
            kernel!(self.device(), losses::distance(prediction.value(), target, weights))?;
        let target = target.clone();
        let weights = weights.clone();
        let record = DistanceRecord { prediction: prediction.clone(), target, weights, distances };
        Ok(self.push(value, prediction.node().is_some(), || Box::new(record)))
    }
}

/// dp = g w / (batch channels) (p - t) / |p - t|, and 0 where the two are equal.
impl Record for DistanceRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let saved = [self.prediction.value(), &self.target, &self.weights, &self.distances];
        let dp = kernel!(gradient.device(), losses::distance_back(saved, &gradient))?;
        flow.give(&self.prediction, dp)
    }
}
