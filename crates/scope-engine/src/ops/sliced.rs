//! Pixels gathered into slices and spread out again: Transolver's attention without what is between.

use std::{cell::RefCell, rc::Rc};

use crate::{
    cuda::slices_fused::{self, Passed, Slicing},
    device::Device,
    dtype::Dtype,
    error::{EngineError, require_shape},
    ops::{Linear, SLICE_EPSILON, Slices, TEMPERATURES, add},
    params::ParamId,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// Pixels gathered into slices.
#[derive(Debug)]
pub struct Sliced {
    /// What the slices gathered \[batch, heads, slices, d\], at full width.
    pub tokens: Var,
    weights: SliceWeights,
}

/// The weights that they can be spread again with.
#[derive(Debug)]
enum SliceWeights {
    /// Kept from gathering.
    Stored(Var),
    /// Computed again where they are needed, on GPUs.
    Recomputed(Rc<Recomputed>),
}

#[derive(Debug)]
struct Recomputed {
    slicing: Slicing,
    g: Var,
    f: Var,
    pooled: Tensor,
    sums: Tensor,
    /// In the backward pass: what was spread, and the gradient of the result.
    spread: RefCell<Option<(Tensor, Tensor)>>,
}

impl Sliced {
    /// The temperature of a head stays within these bounds.
    pub const TEMPERATURES: [f64; 2] = TEMPERATURES;
    /// Added to the sum of a slice's weights.
    pub const EPSILON: f64 = SLICE_EPSILON;
}

impl Tape<'_> {
    /// Weights w\[n, h\] = softmax over slices of (W g\[n, h\] + b) / t_h, with the temperature t_h of each head kept
    /// between 0.1 and 5, and what slices gather with them: the sum over pixels n of w f / (sum over n of w + 1e-5).
    ///
    /// # Shapes
    /// g and f \[batch, pixels, heads d\], W \[slices, d\], temperature \[heads\].
    pub fn slice(
        &self,
        g: &Var,
        f: &Var,
        layer: Linear,
        temperature: ParamId,
        heads: usize,
    ) -> Result<Sliced, EngineError> {
        if let Some(sliced) = self.slice_fused(g, f, layer, temperature, heads)? {
            return Ok(sliced);
        }
        let logits = self.linear_heads(g, layer, heads)?; // [batch, pixels, heads, slices]
        let weights = self.slice_weights(&logits, temperature)?;
        Ok(Sliced { tokens: self.pool_slices(&weights, f)?, weights: SliceWeights::Stored(weights) })
    }

    /// o\[n, h\] = sum over slices s of w\[n, h, s\] z\[h, s\], with the weights that the slices were gathered with.
    /// They are taken: the weights' gradient is found once, from gathering and spreading together.
    ///
    /// # Shapes
    /// tokens z \[batch, heads, slices, d\], o \[batch, pixels, heads d\].
    pub fn spread(&self, sliced: Sliced, tokens: &Var) -> Result<Var, EngineError> {
        match sliced.weights {
            SliceWeights::Stored(weights) => self.spread_slices(&weights, tokens),
            SliceWeights::Recomputed(recomputed) => self.spread_fused(&recomputed, tokens),
        }
    }
}

impl Tape<'_> {
    /// Slices by one fused kernel on a GPU in bf16; none if the sizes do not allow it.
    fn slice_fused(
        &self,
        g: &Var,
        f: &Var,
        layer: Linear,
        temperature: ParamId,
        heads: usize,
    ) -> Result<Option<Sliced>, EngineError> {
        let (Device::Cuda(cuda), &[batch, pixels, width]) = (self.device(), g.shape()) else {
            return Ok(None);
        };
        let weight = &self.params().layout().param(layer.weight).shape;
        let slices = weight[0];
        let size = width / heads.max(1);
        let slicing = Slicing { sizes: Slices { batch, pixels, heads, slices, size }, layer, temperature };
        if !slicing.possible(cuda, self.compute()) {
            return Ok(None);
        }
        require_shape("slices", "the layer of their weights", weight, &[slices, size])?;
        require_shape("slices", "what they gather", f.shape(), &[batch, pixels, heads * size])?;
        let g = add::converted(self, g)?;
        let f = add::converted(self, f)?;
        let (pooled, sums) = slices_fused::pool(cuda, slicing, self.params(), [g.value(), f.value()], true)?;
        let recomputed =
            Rc::new(Recomputed { slicing, g, f, pooled: pooled.clone(), sums, spread: RefCell::default() });
        let tokens = self.push(pooled, true, || Box::new(PoolRecord(recomputed.clone())));
        Ok(Some(Sliced { tokens, weights: SliceWeights::Recomputed(recomputed) }))
    }

    fn spread_fused(&self, recomputed: &Rc<Recomputed>, tokens: &Var) -> Result<Var, EngineError> {
        let Device::Cuda(cuda) = self.device() else { return Ok(tokens.clone()) };
        require_shape("spreading slices", "the tokens", tokens.shape(), recomputed.pooled.shape())?;
        let value = slices_fused::spread(
            cuda,
            recomputed.slicing,
            self.params(),
            recomputed.g.value(),
            tokens.value(),
        )?;
        let record = || -> Box<dyn Record> { Box::new(SpreadRecord(recomputed.clone(), tokens.clone())) };
        Ok(self.push(value, true, record))
    }
}

struct SpreadRecord(Rc<Recomputed>, Var);

/// dz\[s\] = sum over n of w\[n, s\] do\[n\]. What the weights get waits for the pooling's own gradient.
impl Record for SpreadRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let Self(recomputed, tokens) = self;
        let Device::Cuda(cuda) = gradient.device().clone() else { return Ok(()) };
        let dy = add::convert(gradient, Dtype::Bf16)?;
        let (dz, _) =
            slices_fused::pool(&cuda, recomputed.slicing, flow.params(), [recomputed.g.value(), &dy], false)?;
        *recomputed.spread.borrow_mut() = Some((tokens.value().clone(), dy));
        flow.give(tokens, dz)
    }
}

struct PoolRecord(Rc<Recomputed>);

impl Record for PoolRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let Self(recomputed) = self;
        let Device::Cuda(cuda) = gradient.device().clone() else { return Ok(()) };
        let g = recomputed.g.value();
        let f = recomputed.f.value();
        let spread = match recomputed.spread.borrow_mut().take() {
            Some(spread) => spread,
            None => {
                let nothing = |shape: &[usize]| Tensor::full(gradient.device(), Dtype::F32, shape, 0.0);
                (nothing(recomputed.pooled.shape())?, nothing(g.shape())?)
            }
        };
        let passed = Passed { g, f, pooled: &recomputed.pooled, sums: &recomputed.sums, spread };
        let [dg, df] = slices_fused::backward(&cuda, recomputed.slicing, &passed, &gradient, flow)?;
        flow.give(&recomputed.g, dg)?;
        flow.give(&recomputed.f, df)
    }
}
