//! Layers as operations of a graph.

use scope_engine::Params;

use crate::{
    OnnxError,
    graph::{Attribute, Graph},
};

/// Added to the variance of a layer normalisation.
const EPSILON: f32 = 1e-5;
/// Kinds of numbers, as a cast names them.
pub(crate) const FLOAT: i64 = 1;
pub(crate) const DOUBLE: i64 = 11;

impl Graph {
    pub(crate) fn cast(&mut self, x: &str, kind: i64) -> String {
        self.node("Cast", &[x], &[("to", Attribute::Integer(kind))])
    }

    pub(crate) fn transpose(&mut self, x: &str, axes: &[i64]) -> String {
        self.node("Transpose", &[x], &[("perm", Attribute::Integers(axes.to_vec()))])
    }

    /// Another shape of the same numbers: a length of 0 is that of the same axis of x.
    pub(crate) fn reshape(&mut self, x: &str, shape: &[usize]) -> String {
        let shape: Vec<i64> = shape.iter().map(|length| *length as i64).collect();
        let shape = self.integers(&shape);
        self.node("Reshape", &[x, &shape], &[])
    }

    /// Part of each of some axes, which are counted from the last: (axis, first, end).
    pub(crate) fn part(&mut self, x: &str, parts: &[(i64, usize, usize)]) -> String {
        let firsts = self.integers(&parts.iter().map(|part| part.1 as i64).collect::<Vec<_>>());
        let ends = self.integers(&parts.iter().map(|part| part.2 as i64).collect::<Vec<_>>());
        let axes = self.integers(&parts.iter().map(|part| part.0).collect::<Vec<_>>());
        self.node("Slice", &[x, &firsts, &ends, &axes], &[])
    }

    pub(crate) fn gelu(&mut self, x: &str) -> String {
        self.node("Gelu", &[x], &[])
    }

    /// y = x W^T + b over the last axis.
    pub(crate) fn linear(&mut self, params: &Params, x: &str, layer: &str) -> Result<String, OnnxError> {
        let weight = self.parameter(params, &format!("{layer}.weight"))?;
        let bias = self.parameter(params, &format!("{layer}.bias"))?;
        let weight = self.transpose(&weight, &[1, 0]);
        let product = self.node("MatMul", &[x, &weight], &[]);
        Ok(self.node("Add", &[&product, &bias], &[]))
    }

    pub(crate) fn layer_norm(&mut self, params: &Params, x: &str, layer: &str) -> Result<String, OnnxError> {
        let gain = self.parameter(params, &format!("{layer}.weight"))?;
        let bias = self.parameter(params, &format!("{layer}.bias"))?;
        let settings = [("axis", Attribute::Integer(-1)), ("epsilon", Attribute::Float(EPSILON))];
        Ok(self.node("LayerNormalization", &[x, &gain, &bias], &settings))
    }

    /// A convolution of images with their channels first.
    pub(crate) fn convolution(
        &mut self,
        params: &Params,
        x: &str,
        layer: &str,
        window: Window,
    ) -> Result<String, OnnxError> {
        let weight = self.parameter(params, &format!("{layer}.weight"))?;
        self.convolved(params, x, layer, &weight, window)
    }

    /// A convolution of images with their channels first, whose weight \[out, side, side, in\] has them last.
    pub(crate) fn channels_last_convolution(
        &mut self,
        params: &Params,
        x: &str,
        layer: &str,
        window: Window,
    ) -> Result<String, OnnxError> {
        let weight = self.parameter(params, &format!("{layer}.weight"))?;
        let weight = self.transpose(&weight, &[0, 3, 1, 2]);
        self.convolved(params, x, layer, &weight, window)
    }

    fn convolved(
        &mut self,
        params: &Params,
        x: &str,
        layer: &str,
        weight: &str,
        Window { side, stride, padding }: Window,
    ) -> Result<String, OnnxError> {
        let bias = self.parameter(params, &format!("{layer}.bias"))?;
        let settings = [
            ("kernel_shape", Attribute::Integers(vec![side as i64; 2])),
            ("strides", Attribute::Integers(vec![stride as i64; 2])),
            ("pads", Attribute::Integers(vec![padding as i64; 4])),
        ];
        Ok(self.node("Conv", &[x, weight, &bias], &settings))
    }

    /// (x - mean) / sqrt(variance + epsilon) g + b for each channel of images with their channels first, with running
    /// statistics.
    pub(crate) fn batch_norm(&mut self, params: &Params, x: &str, layer: &str) -> Result<String, OnnxError> {
        let mut named = |name: &str| self.parameter(params, &format!("{layer}.{name}"));
        let gain = named("weight")?;
        let bias = named("bias")?;
        let mean = named("running_mean")?;
        let variance = named("running_var")?;
        let settings = [("epsilon", Attribute::Float(EPSILON))];
        Ok(self.node("BatchNormalization", &[x, &gain, &bias, &mean, &variance], &settings))
    }

    /// softmax(q k^T / sqrt d) v over the last two axes, for queries, keys and values of `size` numbers.
    pub(crate) fn attention(&mut self, [q, k, v]: [&str; 3], size: usize) -> String {
        let keys = self.transpose(k, &[0, 1, 3, 2]);
        let scores = self.node("MatMul", &[q, &keys], &[]);
        let factor = self.constant(&[], vec![1.0 / (size as f32).sqrt()]);
        let scores = self.node("Mul", &[&scores, &factor], &[]);
        let weights = self.node("Softmax", &[&scores], &[("axis", Attribute::Integer(-1))]);
        self.node("MatMul", &[&weights, v], &[])
    }

    /// The context (Ma a, Ma, Mu u, Mu) \[batch, 4, rows, columns\] of values that are zero where nothing is measured.
    pub(crate) fn context(&mut self, values: &str) -> String {
        let [rows, columns] = self.grid;
        let split = |graph: &mut Self, x: &str| graph.reshape(x, &[0, 2, 1, rows, columns]);
        let pair = split(self, values);
        let masks = split(self, Self::MASK);
        let turns = self.node("Concat", &[&pair, &masks], &[("axis", Attribute::Integer(2))]);
        self.reshape(&turns, &[0, 4, rows, columns])
    }

    /// Images \[batch, channels, ..., ...\] as tokens \[batch, tokens, channels\].
    pub(crate) fn tokens(&mut self, image: &str, channels: usize, tokens: usize) -> String {
        let flat = self.reshape(image, &[0, channels, tokens]);
        self.transpose(&flat, &[0, 2, 1])
    }
}

/// The windows of a convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) side: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
}

impl Window {
    /// Those around every point.
    pub(crate) const THREE: Self = Self { side: 3, stride: 1, padding: 1 };

    /// Those of patches beside each other.
    pub(crate) fn patch(side: usize) -> Self {
        Self { side, stride: side, padding: 0 }
    }
}
