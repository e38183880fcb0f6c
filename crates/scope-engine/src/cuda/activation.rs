//! Activations that follow no linear layer.

use super::{
    Cuda,
    kernels::{Grid, OPERATORS},
    kind,
};
use crate::{
    error::EngineError,
    ops::{Activation, add},
    tensor::Tensor,
};

/// f(x), number by number.
pub(crate) fn forward(cuda: &Cuda, activation: Activation, x: &Tensor) -> Result<Tensor, EngineError> {
    apply(cuda, activation, x, None)
}

/// dy f'(x), in the precision of x.
pub(crate) fn backward(
    cuda: &Cuda,
    activation: Activation,
    x: &Tensor,
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    let gradient = add::convert(gradient.clone(), x.dtype())?;
    apply(cuda, activation, x, Some(&gradient))
}

fn apply(
    cuda: &Cuda,
    activation: Activation,
    x: &Tensor,
    gradient: Option<&Tensor>,
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    let (leaky, slope) = match activation {
        Activation::Gelu => (0_usize, 0.0),
        Activation::LeakyRelu(slope) => (1, slope),
    };
    let dy = gradient.map_or(0, Tensor::address);
    let arguments =
        [x.into(), dy.into(), (&out).into(), out.len().into(), leaky.into(), (slope as f32).into()];
    let name = format!("activate_{}", kind(x.dtype()));
    cuda.launch(OPERATORS, &name, Grid::over(out.len().div_ceil(8)), &arguments)?;
    Ok(out)
}
