//! A factor, an offset or a choice for each channel.

use super::{
    Cuda,
    column_sums::{Summand, column_sums},
    kernels::{Grid, OPERATORS},
    kind,
    linear::finish,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::add,
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// x g for each channel.
pub(crate) fn scale(cuda: &Cuda, params: &Params, gain: ParamId, x: &Tensor) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    let n = x.shape().last().copied().unwrap_or(1);
    let gain = params.address(gain, Dtype::F32);
    let arguments = [x.into(), gain.into(), (&out).into(), out.len().into(), n.into()];
    cuda.launch(OPERATORS, &format!("scale_{}", kind(x.dtype())), Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// x + b for each channel.
pub(crate) fn shift(
    cuda: &Cuda,
    params: &Params,
    offset: ParamId,
    x: &Tensor,
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    finish(cuda, x, Some(params.address(offset, Dtype::F32)), None, None, &out)?;
    Ok(out)
}

/// dg += column sums of dy x.
pub(crate) fn gain_gradient(
    cuda: &Cuda,
    gain: ParamId,
    x: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let product = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    let sums = flow.into().address(gain);
    column_sums(cuda, gradient, Summand::Slope(x, &product), sums)
}

/// db += column sums of dy.
pub(crate) fn offset_gradient(
    cuda: &Cuda,
    offset: ParamId,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let sums = flow.into().address(offset);
    cuda.on_side_stream(&[gradient], || column_sums(cuda, gradient, Summand::Gradient, sums))
}

/// x where a channel's weight is not zero; elsewhere the other value, or zero.
pub(crate) fn choose(
    cuda: &Cuda,
    x: &Tensor,
    other: Option<&Tensor>,
    weights: &Tensor,
) -> Result<Tensor, EngineError> {
    let x = add::convert(x.clone(), Dtype::F32)?;
    let out = Tensor::on_cuda(cuda, x.shape(), Dtype::F32)?;
    let each = x.len() / weights.len().max(1);
    let other = other.map_or(0, Tensor::address);
    let arguments = [(&x).into(), other.into(), weights.into(), (&out).into(), out.len().into(), each.into()];
    cuda.launch(OPERATORS, "choose", Grid::over(out.len()), &arguments)?;
    Ok(out)
}
