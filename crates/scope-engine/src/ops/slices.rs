//! Pixels gathered into a few slices and spread out again, by soft weights: Transolver's attention.

use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    ops::add,
    params::ParamId,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// The temperature stays within these bounds.
pub(crate) const TEMPERATURES: [f64; 2] = [0.1, 5.0];
/// Added to the sum of a slice's weights.
pub(crate) const SLICE_EPSILON: f64 = 1e-5;

/// The sizes of slices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slices {
    pub(crate) batch: usize,
    pub(crate) pixels: usize,
    pub(crate) heads: usize,
    pub(crate) slices: usize,
    /// Numbers of a head.
    pub(crate) size: usize,
}

impl Slices {
    /// The sizes of weights \[batch, pixels, heads, slices\] of values of `width` numbers a pixel.
    fn of(weights: &Var, width: usize) -> Result<Self, EngineError> {
        match *weights.shape() {
            [batch, pixels, heads, slices] if heads > 0 && width.is_multiple_of(heads) => {
                Ok(Self { batch, pixels, heads, slices, size: width / heads })
            }
            _ => Err(EngineError::shape(
                "slices",
                "their weights",
                format!("[batch, pixels, heads, slices], heads dividing {width}"),
                weights.shape(),
            )),
        }
    }
}

struct SoftRecord {
    temperature: ParamId,
    /// The logits' place, holding the weights: what they were is not needed.
    weights: Var,
}

struct PoolRecord {
    sizes: Slices,
    weights: Var,
    values: Var,
    /// Its own value.
    pooled: Tensor,
    /// The sum of each slice's weights \[batch, heads, slices\].
    sums: Tensor,
}

struct SpreadRecord {
    sizes: Slices,
    weights: Var,
    tokens: Var,
}

impl Tape<'_> {
    /// w = softmax over slices of l / t_h, with the temperature t_h of each head kept between 0.1 and 5.
    ///
    /// # Shapes
    /// logits l and w \[batch, pixels, heads, slices\], temperature \[heads\].
    pub fn slice_weights(&self, logits: &Var, temperature: ParamId) -> Result<Var, EngineError> {
        let heads = self.params().layout().param(temperature).shape.iter().product();
        let sizes = Slices::of(logits, heads)?;
        require_shape("slice weights", "the heads", &[sizes.heads], &[heads])?;
        let logits = add::widened(self, logits)?;
        let weights = kernel!(
            self.device(),
            slices::weights(sizes, self.params(), temperature, logits.value(), self.compute())
        )?;
        let record = SoftRecord { temperature, weights: logits.holding(weights.clone()) };
        Ok(self.push(weights, true, || Box::new(record)))
    }

    /// z\[b, h, s\] = sum over pixels n of w\[b, n, h, s\] f\[b, n, h\] / (sum over n of w\[b, n, h, s\] + 1e-5), at
    /// full width.
    ///
    /// # Shapes
    /// w \[batch, pixels, heads, slices\], f \[batch, pixels, heads d\], z \[batch, heads, slices, d\].
    pub fn pool_slices(&self, weights: &Var, values: &Var) -> Result<Var, EngineError> {
        let width = values.shape().last().copied().unwrap_or(0);
        let sizes = Slices::of(weights, width)?;
        require_shape("pooling slices", "the values", values.shape(), &[sizes.batch, sizes.pixels, width])?;
        let weights = add::widened(self, weights)?;
        let values = add::widened(self, values)?;
        let (pooled, sums) = kernel!(self.device(), slices::pool(sizes, weights.value(), values.value()))?;
        let tracked = weights.node().or(values.node()).is_some();
        let record = PoolRecord { sizes, weights, values, pooled: pooled.clone(), sums };
        Ok(self.push(pooled, tracked, || Box::new(record)))
    }

    /// o\[b, n, h\] = sum over slices s of w\[b, n, h, s\] z\[b, h, s\].
    ///
    /// # Shapes
    /// w \[batch, pixels, heads, slices\], z \[batch, heads, slices, d\], o \[batch, pixels, heads d\].
    pub fn spread_slices(&self, weights: &Var, tokens: &Var) -> Result<Var, EngineError> {
        let size = tokens.shape().last().copied().unwrap_or(0);
        let heads = weights.shape().get(2).copied().unwrap_or(0);
        let sizes = Slices::of(weights, heads * size)?;
        let Slices { batch, slices, .. } = sizes;
        require_shape("spreading slices", "the tokens", tokens.shape(), &[batch, heads, slices, size])?;
        let weights = add::widened(self, weights)?;
        let tokens = add::widened(self, tokens)?;
        let value = kernel!(self.device(), slices::spread(sizes, weights.value(), tokens.value()))?;
        let tracked = weights.node().or(tokens.node()).is_some();
        Ok(self.push(value, tracked, || Box::new(SpreadRecord { sizes, weights, tokens })))
    }
}

/// With e = w (dw - sum over slices of w dw): dl = e / t, and dt = - sum of e l / t^2 where the temperature is within
/// its bounds. As each e sums to zero, ln w may stand for l / t.
impl Record for SoftRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let sizes = Slices::of(&self.weights, self.weights.shape()[2])?;
        let dl = kernel!(
            gradient.device(),
            slices::weights_back(sizes, self.temperature, self.weights.value(), &gradient, flow)
        )?;
        flow.give(&self.weights, dl)
    }
}

/// With e\[s\] = dz\[s\] / (sum of w + 1e-5): df\[n\] = sum over s of w\[n, s\] e\[s\], dw\[n, s\] = e\[s\] . (f\[n\] -
/// z\[s\]).
impl Record for PoolRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let saved = [self.weights.value(), self.values.value(), &self.pooled, &self.sums];
        let [dw, df] = kernel!(gradient.device(), slices::pool_back(self.sizes, saved, &gradient))?;
        flow.give(&self.weights, dw)?;
        flow.give(&self.values, df)
    }
}

/// dw\[n, s\] = do\[n\] . z\[s\], dz\[s\] = sum over n of w\[n, s\] do\[n\].
impl Record for SpreadRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let saved = [self.weights.value(), self.tokens.value()];
        let [dw, dz] = kernel!(gradient.device(), slices::spread_back(self.sizes, saved, &gradient))?;
        flow.give(&self.weights, dw)?;
        flow.give(&self.tokens, dz)
    }
}
