//! Batch normalisation: sums over fixed pieces of the rows, added in order.

use super::{
    Cuda,
    kernels::{BATCH_NORM, Grid},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{BatchNorm, BatchStatistics, NORM_EPSILON, Norm, add},
    params::Params,
    tape::Flow,
    tensor::Tensor,
};

/// Channels that a block sums at most.
const LANES: usize = 256;

fn sizes(x: &Tensor) -> (usize, usize) {
    let n = x.shape().last().copied().unwrap_or(1);
    (x.len() / n.max(1), n)
}

/// Partial sums \[blocks, 2, n\] of a kind.
pub(super) fn partial_sums(
    cuda: &Cuda,
    name: &str,
    x: &Tensor,
    dy: Option<&Tensor>,
    moments: Option<&Tensor>,
) -> Result<Tensor, EngineError> {
    let (rows, n) = sizes(x);
    let together = (LANES / n.max(1)).max(1);
    let blocks = rows.div_ceil(together * 32).clamp(1, 4 * cuda.multiprocessors());
    let partial = Tensor::on_cuda(cuda, &[blocks, 2, n], Dtype::F32)?;
    let arguments = [
        x.into(),
        dy.map_or(0, Tensor::address).into(),
        moments.map_or(0, Tensor::address).into(),
        (&partial).into(),
        rows.into(),
        n.into(),
        (NORM_EPSILON as f32).into(),
    ];
    let grid = Grid { blocks: [blocks, n.div_ceil(LANES)], ..Grid::of(1, LANES) };
    cuda.launch(BATCH_NORM, &format!("{name}_{}", kind(x.dtype())), grid, &arguments)?;
    Ok(partial)
}

/// out \[n\] = scale times the sum of one kind of partial sums, which a gradient gets unscaled.
pub(super) fn total(
    cuda: &Cuda,
    partial: &Tensor,
    which: usize,
    scale: f64,
    out: u64,
    gradient: Option<(u64, bool)>,
) -> Result<(), EngineError> {
    let blocks = partial.shape()[0];
    let n = partial.shape()[2];
    let (gradient, accumulate) = gradient.unwrap_or((0, false));
    let arguments = [
        partial.into(),
        out.into(),
        gradient.into(),
        blocks.into(),
        n.into(),
        which.into(),
        (scale as f32).into(),
        usize::from(accumulate).into(),
    ];
    cuda.launch(BATCH_NORM, "batch_total", Grid::over(32 * n), &arguments)
}

/// Where the second row of a pair of rows begins.
fn second(pair: &Tensor) -> u64 {
    pair.address() + (pair.len() / 2 * size_of::<f32>()) as u64
}

/// Vectors of eight, with so many numbers of each channel in shared memory.
fn grid(cuda: &Cuda, x: &Tensor, factors: usize) -> Grid {
    let blocks = x.len().div_ceil(8 * 256).min(16 * cuda.multiprocessors());
    Grid { shared: factors * sizes(x).1 * size_of::<f32>(), ..Grid::of(blocks, 256) }
}

fn normalise(
    cuda: &Cuda,
    params: &Params,
    norm: Norm,
    x: &Tensor,
    [mean, variance]: [u64; 2],
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    let address = |id| params.address(id, Dtype::F32).into();
    let arguments = [
        x.into(),
        mean.into(),
        variance.into(),
        address(norm.weight),
        address(norm.bias),
        (&out).into(),
        out.len().into(),
        sizes(x).1.into(),
        (NORM_EPSILON as f32).into(),
    ];
    cuda.launch(BATCH_NORM, &format!("normalise_{}", kind(x.dtype())), grid(cuda, x, 3), &arguments)?;
    Ok(out)
}

/// The normalised batch, and the mean and variance \[2, n\] of each channel.
pub(crate) fn forward(
    cuda: &Cuda,
    params: &Params,
    norm: Norm,
    x: &Tensor,
) -> Result<(Tensor, Tensor), EngineError> {
    let (rows, n) = sizes(x);
    let share = 1.0 / rows as f64;
    let moments = Tensor::on_cuda(cuda, &[2, n], Dtype::F32)?;
    total(cuda, &partial_sums(cuda, "batch_mean", x, None, None)?, 0, share, moments.address(), None)?;
    let squares = partial_sums(cuda, "batch_variance", x, None, Some(&moments))?;
    total(cuda, &squares, 0, share, second(&moments), None)?;
    let out = normalise(cuda, params, norm, x, [moments.address(), second(&moments)])?;
    Ok((out, moments))
}

/// Normalised by the running statistics.
pub(crate) fn running(
    cuda: &Cuda,
    params: &Params,
    layer: BatchNorm,
    x: &Tensor,
) -> Result<Tensor, EngineError> {
    let moments = [layer.running_mean, layer.running_var].map(|id| params.address(id, Dtype::F32));
    normalise(cuda, params, layer.norm, x, moments)
}

/// dx, in the precision of x; gain and bias get their sums.
pub(crate) fn backward(
    cuda: &Cuda,
    norm: Norm,
    x: &Tensor,
    moments: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let dy = add::convert(gradient.clone(), x.dtype())?;
    let (rows, n) = sizes(x);
    let share = 1.0 / rows as f64;
    let partial = partial_sums(cuda, "batch_slopes", x, Some(&dy), Some(moments))?;
    let means = Tensor::on_cuda(cuda, &[2, n], Dtype::F32)?;
    let bias = flow.into().address(norm.bias);
    let gain = flow.into().address(norm.weight);
    total(cuda, &partial, 0, share, means.address(), Some(bias))?;
    total(cuda, &partial, 1, share, second(&means), Some(gain))?;
    let dx = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    let arguments = [
        x.into(),
        (&dy).into(),
        moments.into(),
        (&means).into(),
        flow.params().address(norm.weight, Dtype::F32).into(),
        (&dx).into(),
        dx.len().into(),
        n.into(),
        (NORM_EPSILON as f32).into(),
    ];
    let name = format!("normalise_back_{}", kind(x.dtype()));
    cuda.launch(BATCH_NORM, &name, grid(cuda, x, 4), &arguments)?;
    Ok(dx)
}

/// Running statistics take a step towards those of a batch.
pub(crate) fn update_running_statistics(
    cuda: &Cuda,
    params: &mut Params,
    statistics: &BatchStatistics,
    share: f64,
    guard: &Tensor,
) -> Result<(), EngineError> {
    let n = statistics.moments.len() / 2;
    let unbiased = statistics.rows as f64 / (statistics.rows as f64 - 1.0).max(1.0);
    for (id, moments, factor) in [
        (statistics.layer.running_mean, statistics.moments.address(), 1.0),
        (statistics.layer.running_var, second(&statistics.moments), unbiased),
    ] {
        let arguments = [
            params.address(id, Dtype::F32).into(),
            moments.into(),
            guard.into(),
            n.into(),
            (share as f32).into(),
            (factor as f32).into(),
        ];
        cuda.launch(BATCH_NORM, "absorb", Grid::over(n), &arguments)?;
    }
    Ok(())
}
