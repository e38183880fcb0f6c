//! y = x W^T + b, with what usually follows it.

use super::{rows_of, with_last};
use crate::{
    device::{Device, kernel},
    error::{EngineError, require_shape},
    ops::add,
    params::{ParamId, Scope},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// A linear layer's parameters: weight \[n, k\] (or \[n, ...\] with k numbers each) and bias \[n\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// W: the weight.
    pub weight: ParamId,
    /// b: the bias.
    pub bias: ParamId,
}

impl Linear {
    /// Declares a layer from `k` to `n` numbers.
    pub fn declare(mut scope: Scope<'_>, k: usize, n: usize) -> Self {
        Self { weight: scope.weight("weight", &[n, k]), bias: scope.offset("bias", &[n]) }
    }

    /// Declares a layer or a convolution without a bias, whose weight has this shape: the bias that it is computed with
    /// is zero, uncounted, and stays so.
    pub fn declare_without_bias(mut scope: Scope<'_>, shape: &[usize]) -> Self {
        Self { weight: scope.weight("weight", shape), bias: scope.statistic("zero", &shape[..1]) }
    }

    /// Whether its bias is trained.
    pub(super) fn has_bias(self, flow: &Flow<'_>) -> bool {
        flow.params().layout().param(self.bias).trained
    }
}

/// What follows a linear layer or a convolution, fused with it.
#[derive(Clone, Copy, Debug)]
pub enum Epilogue<'a> {
    /// Nothing; the result has the precision of the products.
    Plain,
    /// Nothing; the result keeps the precision of the sums.
    Wide,
    /// GELU, in its exact form: gelu(v) = v (1 + erf(v / sqrt 2)) / 2.
    Gelu,
    /// Adds a value of the result's shape, in whose precision the result is.
    Add(&'a Var),
    /// Adds a parameter \[t, n\] to every t rows: positions.
    AddRows(ParamId),
}

/// What a linear layer remembers.
pub(crate) struct LinearRecord {
    pub(crate) layer: Linear,
    /// \[m, k\].
    pub(crate) x: Var,
    /// The value before GELU, if there was one; on a GPU the slope of GELU there.
    pub(crate) before: Option<Tensor>,
    residual: Option<Var>,
    positions: Option<ParamId>,
}

impl Tape<'_> {
    /// y = x W^T + b, then the epilogue.
    ///
    /// # Shapes
    /// x \[..., k\], y \[..., n\].
    pub fn linear(&self, x: &Var, layer: Linear, epilogue: Epilogue<'_>) -> Result<Var, EngineError> {
        let weight = self.params().layout().param(layer.weight);
        let n = weight.shape[0];
        require_shape("linear", "the weight", &[n, weight.range.len() / n], &[n, rows_of(x.shape()).1])?;
        self.run_forward_hook(layer.weight, x.value());
        self.linear_on_rows(x, layer, epilogue)
    }

    /// The same for rows of x that may have been padded with zeros beyond k for a GPU.
    pub(super) fn linear_on_rows(
        &self,
        x: &Var,
        layer: Linear,
        epilogue: Epilogue<'_>,
    ) -> Result<Var, EngineError> {
        let layout = self.params().layout();
        let m = rows_of(x.shape()).0;
        let n = layout.param(layer.weight).shape[0];
        let shape = with_last(x.shape(), n);
        let mut residual = None;
        let mut positions = None;
        match epilogue {
            Epilogue::Add(value) => {
                require_shape("linear", "the residual", value.shape(), &shape)?;
                residual = Some(value.clone());
            }
            Epilogue::AddRows(rows) => {
                let table = &layout.param(rows).shape;
                let period = m / (m / table[0].max(1)).max(1);
                require_shape("linear", "the table of positions", table, &[period, n])?;
                positions = Some(rows);
            }
            Epilogue::Plain | Epilogue::Wide | Epilogue::Gelu => {}
        }
        let x = add::converted(self, x)?;
        let (value, before) = kernel!(self.device(), linear::forward(self, layer, &x, epilogue, &shape))?;
        let record = LinearRecord { layer, x, before, residual, positions };
        Ok(self.push(value, true, || Box::new(record)))
    }
}

/// With g the gradient of y, and h = g gelu'(W x + b) or g:
/// db = sum over rows of h, dW = h^T x, dx = h W; the residual gets g itself.
impl Record for LinearRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let device = gradient.device().clone();
        if let Some(positions) = self.positions {
            kernel!(&device, linear::position_gradient(positions, &gradient, flow))?;
        }
        let h = if self.before.is_some() || self.layer.has_bias(flow) {
            kernel!(&device, linear::bias_gradient(self, &gradient, flow))?
        } else {
            add::convert(gradient.clone(), self.x.value().dtype())?
        };
        if let Some(residual) = &self.residual {
            flow.give(residual, gradient)?;
        }
        kernel!(&device, linear::weight_gradient(self, &h, flow))?;
        if flow.wants(&self.x) {
            kernel!(&device, linear::input_gradient(self, &h, flow))?;
        }
        Ok(())
    }

    fn slope(&self) -> Option<&Tensor> {
        self.before.as_ref().filter(|slope| matches!(slope.device(), Device::Cuda(_)))
    }
}
