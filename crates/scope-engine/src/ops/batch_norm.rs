//! Batch normalisation, channels last.

use super::rows_of;
use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    ops::{Norm, add},
    params::{ParamId, Params, Scope},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// How far running statistics move towards those of a batch.
const SHARE: f64 = 0.1;

/// A batch normalisation of n channels: gain \[n\] and bias \[n\], and the running statistics of what it normalises.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm {
    /// Gain and bias.
    pub norm: Norm,
    /// The running mean.
    pub running_mean: ParamId,
    /// The running variance, whose sum of squares is divided by one less than the count.
    pub running_var: ParamId,
}

impl BatchNorm {
    /// Declares a normalisation of `n` channels.
    pub fn declare(mut scope: Scope<'_>, n: usize) -> Self {
        let norm = Norm { weight: scope.offset("weight", &[n]), bias: scope.offset("bias", &[n]) };
        let running_mean = scope.statistic("running_mean", &[n]);
        let running_var = scope.statistic("running_var", &[n]);
        Self { norm, running_mean, running_var }
    }
}

/// What one normalisation saw of a batch.
#[derive(Clone, Debug)]
pub struct BatchStatistics {
    pub(crate) layer: BatchNorm,
    /// Mean and variance of each channel \[2, n\], the variance divided by the count.
    pub(crate) moments: Tensor,
    /// How many rows the batch had.
    pub(crate) rows: usize,
}

struct BatchNormRecord {
    layer: BatchNorm,
    x: Var,
    moments: Tensor,
}

impl Tape<'_> {
    /// y = (x - mean) / sqrt(variance + 1e-5) g + b for each channel. A recording tape takes mean and variance from the
    /// batch and notes them ([`Tape::batch_statistics`]); any other takes the running statistics.
    ///
    /// # Shapes
    /// x and y \[..., n\].
    pub fn batch_norm(&self, x: &Var, layer: BatchNorm) -> Result<Var, EngineError> {
        let (rows, n) = rows_of(x.shape());
        let gain = &self.params().layout().param(layer.norm.weight).shape;
        require_shape("batch norm", "the gain", gain, &[n])?;
        let x = add::widened(self, x)?;
        if !self.is_recording() {
            let value = kernel!(self.device(), batch_norm::running(self.params(), layer, x.value()))?;
            return Ok(self.input(value));
        }
        let (value, moments) =
            kernel!(self.device(), batch_norm::forward(self.params(), layer.norm, x.value()))?;
        self.note_statistics(BatchStatistics { layer, moments: moments.clone(), rows });
        Ok(self.push(value, true, || Box::new(BatchNormRecord { layer, x, moments })))
    }
}

/// With r = 1 / sqrt(variance + e), h = (x - mean) r and means over all rows of the batch:
/// dx = g r (dy - mean(dy) - h mean(dy h)), dg = sum of dy h, db = sum of dy.
impl Record for BatchNormRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let norm = self.layer.norm;
        let x = self.x.value();
        let dx = kernel!(gradient.device(), batch_norm::backward(norm, x, &self.moments, &gradient, flow))?;
        flow.give(&self.x, dx)
    }
}

impl Params {
    /// running = 0.9 running + 0.1 that of the batch, for every normalisation that had one. Nothing happens if `guard`,
    /// the norm of the step's gradients, is not finite.
    pub fn update_running_statistics(
        &mut self,
        batches: &[BatchStatistics],
        guard: &Tensor,
    ) -> Result<(), EngineError> {
        for statistics in batches {
            kernel!(
                &self.device().clone(),
                batch_norm::update_running_statistics(self, statistics, SHARE, guard)
            )?
        }
        Ok(())
    }
}
