//! Layer normalisation, a warp a row.

use super::{
    Cuda,
    kernels::{Grid, LAYER_NORM},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{NORM_EPSILON, Norm, add},
    tape::{Flow, Tape},
    tensor::Tensor,
};

/// Rows that a block has at once.
const WARPS: usize = 8;

/// The normalised rows, in the precision of the products.
pub(crate) fn forward(cuda: &Cuda, tape: &Tape<'_>, norm: Norm, x: &Tensor) -> Result<Tensor, EngineError> {
    let x = add::convert(x.clone(), Dtype::F32)?;
    let width = x.shape().last().copied().unwrap_or(1);
    let rows = x.len() / width.max(1);
    let out = Tensor::on_cuda(cuda, x.shape(), tape.compute())?;
    let address = |id| tape.params().address(id, Dtype::F32).into();
    let arguments = [
        (&x).into(),
        address(norm.weight),
        address(norm.bias),
        (&out).into(),
        rows.into(),
        (NORM_EPSILON as f32).into(),
    ];
    let name = format!("norm_{}", kind(out.dtype()));
    let grid = Grid::of(rows.div_ceil(WARPS), 32 * WARPS).early();
    let early = usize::from(rows < WARPS * cuda.multiprocessors());
    cuda.launch_with(LAYER_NORM, &format!("WIDTH={width} EARLY={early}"), &name, grid, &arguments)?;
    Ok(out)
}

/// dx plus what had arrived already; gain and bias get their sums.
pub(crate) fn backward(
    cuda: &Cuda,
    norm: Norm,
    x: &Tensor,
    gradient: &Tensor,
    arrived: Option<Tensor>,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let x = add::convert(x.clone(), Dtype::F32)?;
    let arrived = arrived.map(|arrived| add::convert(arrived, gradient.dtype())).transpose()?;
    let width = x.shape().last().copied().unwrap_or(1);
    let rows = x.len() / width.max(1);
    let dx = Tensor::on_cuda(cuda, x.shape(), gradient.dtype())?;
    let blocks = rows.div_ceil(WARPS).clamp(1, 2 * cuda.multiprocessors());
    let partial = Tensor::on_cuda(cuda, &[blocks, 3, width], Dtype::F32)?;
    let arguments = [
        (&x).into(),
        gradient.into(),
        flow.params().address(norm.weight, Dtype::F32).into(),
        arrived.as_ref().map_or(0, Tensor::address).into(),
        (&dx).into(),
        (&partial).into(),
        rows.into(),
        (NORM_EPSILON as f32).into(),
    ];
    let name = format!("norm_back_{}", kind(gradient.dtype()));
    let grid = Grid::of(blocks, 32 * WARPS).early();
    cuda.launch_with(LAYER_NORM, &format!("WIDTH={width}"), &name, grid, &arguments)?;
    let (dgain, accumulate) = flow.into().address(norm.weight);
    let (dbias, _) = flow.into().address(norm.bias);
    add_sums(cuda, &partial, 0, &[dgain, dbias], accumulate)?;
    flow.fusion().note_column_sums(dx.clone(), partial);
    Ok(dx)
}

/// The gradient of the bias of the layer before a normalisation, from what the normalisation's pass back summed.
pub(super) fn bias_sums(
    cuda: &Cuda,
    partial: &Tensor,
    (bias, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    add_sums(cuda, partial, 2, &[bias], accumulate)
}

/// Adds up the blocks' sums \[blocks, 3, width\] of some kinds, on the side stream.
fn add_sums(
    cuda: &Cuda,
    partial: &Tensor,
    first: usize,
    to: &[u64],
    accumulate: bool,
) -> Result<(), EngineError> {
    let blocks = partial.shape()[0];
    let width = partial.shape()[2];
    let second = to.get(1).copied().unwrap_or(0);
    let arguments = [
        partial.into(),
        to[0].into(),
        second.into(),
        blocks.into(),
        first.into(),
        usize::from(accumulate).into(),
    ];
    let grid = Grid { blocks: [width.div_ceil(32), to.len()], ..Grid::of(1, 1024) };
    let constants = format!("WIDTH={width}");
    cuda.on_side_stream(&[partial], || {
        cuda.launch_with(LAYER_NORM, &constants, "norm_sums", grid, &arguments)
    })
}
