//! Sums over the rows of a gradient: what biases and tables get.

use super::{
    Cuda,
    kernels::{Grid, LINEAR},
    kind,
};
use crate::{dtype::Dtype, error::EngineError, tensor::Tensor};

/// Sums of a column over at most so many blocks of rows are left to be added up: sixteen for each warp of a block.
const PIECES: usize = 512;

/// What is summed, given a gradient g.
#[derive(Clone, Copy)]
pub(super) enum Summand<'a> {
    /// The gradient g itself is summed.
    Gradient,
    /// h = g gelu'(u + bias), which is written.
    Gelu(&'a Tensor, u64, &'a Tensor),
    /// h = g slope, which is written.
    Slope(&'a Tensor, &'a Tensor),
}

/// Adds column sums at an address, or to what is there.
pub(super) fn column_sums(
    cuda: &Cuda,
    g: &Tensor,
    summand: Summand<'_>,
    sums: (u64, bool),
) -> Result<(), EngineError> {
    let n = g.shape().last().copied().unwrap_or(1);
    add_up(cuda, &block_sums(cuda, g, n, summand)?, sums)
}

/// Column sums of g \[m, n\], or of what is summand of it, over blocks of rows: \[blocks, n\].
pub(super) fn block_sums(
    cuda: &Cuda,
    g: &Tensor,
    n: usize,
    summand: Summand<'_>,
) -> Result<Tensor, EngineError> {
    let m = g.len() / n.max(1);
    let (name, factor, bias, h) = match summand {
        Summand::Gradient => ("sums", None, 0, 0),
        Summand::Gelu(before, bias, h) => ("gelu_sums", Some(before), bias, h.address()),
        Summand::Slope(slope, h) => ("slope_sums", Some(slope), 0, h.address()),
    };
    let stride = factor.map_or(n, |factor| factor.shape().last().copied().unwrap_or(n));
    let width = if n.is_multiple_of(8) && stride.is_multiple_of(8) { 8 } else { 1 };
    let lanes = lanes(n.div_ceil(width));
    let groups = n.div_ceil(lanes * width);
    let rows = 256 / lanes;
    let pieces = (4 * cuda.multiprocessors() / groups).clamp(1, PIECES).min(m.div_ceil(rows));
    let partial = Tensor::on_cuda(cuda, &[pieces, n], Dtype::F32)?;
    let arguments = [
        g.into(),
        factor.map_or(0, Tensor::address).into(),
        bias.into(),
        h.into(),
        (&partial).into(),
        m.into(),
        n.into(),
        stride.into(),
        lanes.into(),
    ];
    let name = format!("{name}_{}_{width}", kind(g.dtype()));
    cuda.launch(LINEAR, &name, Grid { blocks: [groups, pieces], ..Grid::of(1, 256) }, &arguments)?;
    Ok(partial)
}

/// How many threads of a block share a row of so many vectors. Rows are read whole where that leaves few of the 256
/// idle: memory is faster in long pieces. Otherwise a power of two of which whole groups fill the row, if it is not too
/// small.
fn lanes(vectors: usize) -> usize {
    let whole = 1 << vectors.trailing_zeros().min(5);
    let idle = 256 % vectors.max(1);
    if (5..=256).contains(&vectors) && whole < 32 && idle <= 40 {
        vectors
    } else if whole >= 4 {
        whole
    } else {
        vectors.next_power_of_two().min(32)
    }
}

/// Adds up sums over blocks \[blocks, n\], on the side stream.
pub(super) fn add_up(
    cuda: &Cuda,
    partial: &Tensor,
    (sums, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let pieces = partial.shape()[0];
    let n = partial.shape()[1];
    let arguments = [partial.into(), sums.into(), n.into(), pieces.into(), usize::from(accumulate).into()];
    let grid = Grid::of(n.div_ceil(32), 32 * pieces.min(32));
    cuda.on_side_stream(&[partial], || cuda.launch(LINEAR, "finish_sums", grid, &arguments))
}
