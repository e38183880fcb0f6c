//! Fills, sums and conversions, element by element.

use super::{
    Cuda,
    kernels::{ELEMENTWISE, Grid},
    kind,
};
use crate::{dtype::Dtype, error::EngineError, tensor::Tensor};

/// Vectors of eight, at most so many blocks.
fn grid(cuda: &Cuda, count: usize) -> Grid {
    Grid::of(count.div_ceil(8 * 256).min(16 * cuda.multiprocessors()), 256)
}

/// A tensor of f32 that are all one value.
pub(crate) fn full(cuda: &Cuda, shape: &[usize], value: f32) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, shape, Dtype::F32)?;
    cuda.launch(
        ELEMENTWISE,
        "fill_f32",
        grid(cuda, out.len()),
        &[(&out).into(), value.into(), out.len().into()],
    )?;
    Ok(out)
}

/// x + y, of one kind.
pub(crate) fn add(cuda: &Cuda, x: Tensor, y: &Tensor) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    let arguments = [(&x).into(), y.into(), (&out).into(), out.len().into()];
    cuda.launch(ELEMENTWISE, &format!("add_{}", kind(x.dtype())), grid(cuda, out.len()), &arguments)?;
    Ok(out)
}

/// A tensor between f32 and bf16.
pub(crate) fn convert(cuda: &Cuda, x: &Tensor, dtype: Dtype) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, x.shape(), dtype)?;
    let name = if dtype == Dtype::Bf16 { "narrow" } else { "widen" };
    cuda.launch(ELEMENTWISE, name, grid(cuda, out.len()), &[x.into(), (&out).into(), out.len().into()])?;
    Ok(out)
}
