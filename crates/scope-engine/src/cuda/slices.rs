//! Slices: soft weights, sums over pixels, and their gradients; kernels are compiled for the sizes at hand.

use super::{
    Cuda,
    kernels::{Arg, Grid, SLICES},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{SLICE_EPSILON, Slices, add},
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// Pixels of a block that spreads or multiplies.
const PIXELS: usize = 128;

impl Slices {
    fn constants(&self) -> String {
        format!("HEADS={} S={} D={}", self.heads, self.slices, self.size)
    }

    /// A block for each head of each sample, and so many pieces of the pixels.
    fn grid(&self, pieces: usize, threads: usize) -> Grid {
        Grid { blocks: [self.batch * self.heads, pieces], ..Grid::of(1, threads) }
    }

    fn weights(&self) -> [usize; 4] {
        [self.batch, self.pixels, self.heads, self.slices]
    }

    fn values(&self) -> [usize; 3] {
        [self.batch, self.pixels, self.heads * self.size]
    }

    fn tokens(&self) -> [usize; 4] {
        [self.batch, self.heads, self.slices, self.size]
    }

    fn launch(&self, cuda: &Cuda, name: &str, grid: Grid, arguments: &[Arg]) -> Result<(), EngineError> {
        cuda.launch_with(SLICES, &self.constants(), name, grid, arguments)
    }
}

fn wide(x: &Tensor) -> Result<Tensor, EngineError> {
    add::convert(x.clone(), Dtype::F32)
}

/// softmax(logits / temperature), rounded to what products take.
pub(crate) fn weights(
    cuda: &Cuda,
    sizes: Slices,
    params: &Params,
    temperature: ParamId,
    logits: &Tensor,
    compute: Dtype,
) -> Result<Tensor, EngineError> {
    let logits = wide(logits)?;
    let out = Tensor::on_cuda(cuda, &sizes.weights(), compute)?;
    let rows = out.len() / sizes.slices;
    let temperature = params.address(temperature, Dtype::F32);
    let arguments = [(&logits).into(), temperature.into(), (&out).into(), rows.into()];
    sizes.launch(cuda, &format!("weights_{}", kind(compute)), Grid::over(32 * rows), &arguments)?;
    Ok(out)
}

/// The gradient of the logits, in the precision of the weights; the temperature gets its sum.
pub(crate) fn weights_back(
    cuda: &Cuda,
    sizes: Slices,
    temperature: ParamId,
    weights: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let dw = add::convert(gradient.clone(), weights.dtype())?;
    let dl = Tensor::on_cuda(cuda, &sizes.weights(), weights.dtype())?;
    // As many warps for each head as for any other.
    let blocks = (4 * cuda.multiprocessors()).next_multiple_of(sizes.heads);
    let warps = 8 * blocks;
    let pixels = sizes.batch * sizes.pixels;
    let partial = Tensor::on_cuda(cuda, &[warps], Dtype::F32)?;
    let values = flow.params().address(temperature, Dtype::F32);
    let arguments =
        [weights.into(), (&dw).into(), values.into(), (&dl).into(), (&partial).into(), pixels.into()];
    let name = format!("weights_back_{}", kind(weights.dtype()));
    sizes.launch(cuda, &name, Grid::of(blocks, 256), &arguments)?;
    let (into, accumulate) = flow.into().address(temperature);
    let arguments =
        [(&partial).into(), values.into(), into.into(), warps.into(), usize::from(accumulate).into()];
    let grid = Grid::of(1, sizes.heads.next_multiple_of(32));
    sizes.launch(cuda, "temperature_back", grid, &arguments)?;
    Ok(dl)
}

/// The sum over pixels of w f; divided by the sums of w, which are given back too, if asked.
fn gather(
    cuda: &Cuda,
    sizes: Slices,
    weights: &Tensor,
    values: &Tensor,
    divide: bool,
) -> Result<(Tensor, Tensor), EngineError> {
    let Slices { batch, pixels, heads, slices, size } = sizes;
    let values = add::convert(values.clone(), weights.dtype())?;
    let each = slices * (size + 1);
    let pieces = pixels.div_ceil(64).min((8 * cuda.multiprocessors()).div_ceil(batch * heads)).max(1);
    let partial = Tensor::on_cuda(cuda, &[batch * heads, pieces, each], Dtype::F32)?;
    let arguments = [weights.into(), (&values).into(), (&partial).into(), pixels.into(), pieces.into()];
    let grid = Grid { shared: 8 * each * size_of::<f32>(), ..sizes.grid(pieces, 256) };
    sizes.launch(cuda, &format!("gather_{}", kind(weights.dtype())), grid, &arguments)?;
    finish_pooling(cuda, sizes, &partial, divide)
}

/// Adds up sums of w f and of w over pieces of the pixels \[batch heads, pieces, slices (size + 1)\]; divides the first
/// by the second, which are given back too, if asked.
pub(super) fn finish_pooling(
    cuda: &Cuda,
    sizes: Slices,
    partial: &Tensor,
    divide: bool,
) -> Result<(Tensor, Tensor), EngineError> {
    let Slices { batch, heads, slices, .. } = sizes;
    let pieces = partial.shape()[1];
    let out = Tensor::on_cuda(cuda, &sizes.tokens(), Dtype::F32)?;
    let totals = Tensor::on_cuda(cuda, &[batch, heads, slices], Dtype::F32)?;
    let arguments = [
        partial.into(),
        (&out).into(),
        (if divide { totals.address() } else { 0 }).into(),
        pieces.into(),
        (SLICE_EPSILON as f32).into(),
    ];
    sizes.launch(cuda, "gather_finish", Grid::of(batch * heads, 256), &arguments)?;
    Ok((out, totals))
}

/// Pooled values, and the sum of each slice's weights.
pub(crate) fn pool(
    cuda: &Cuda,
    sizes: Slices,
    weights: &Tensor,
    values: &Tensor,
) -> Result<(Tensor, Tensor), EngineError> {
    gather(cuda, sizes, weights, values, true)
}

/// The sum over slices of w z, in the precision of the weights.
fn scatter(cuda: &Cuda, sizes: Slices, weights: &Tensor, tokens: &Tensor) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, &sizes.values(), weights.dtype())?;
    let arguments = [weights.into(), tokens.into(), (&out).into(), sizes.pixels.into()];
    let grid = sizes.grid(sizes.pixels.div_ceil(PIXELS), PIXELS);
    sizes.launch(cuda, &format!("scatter_{}", kind(weights.dtype())), grid, &arguments)?;
    Ok(out)
}

/// f . z for each pixel and slice, less y . z if there is a y; in the precision of f.
fn inner(
    cuda: &Cuda,
    sizes: Slices,
    values: &Tensor,
    tokens: &Tensor,
    less: Option<&Tensor>,
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, &sizes.weights(), values.dtype())?;
    let arguments = [
        values.into(),
        tokens.into(),
        less.map_or(0, Tensor::address).into(),
        (&out).into(),
        sizes.pixels.into(),
    ];
    let grid = sizes.grid(sizes.pixels.div_ceil(PIXELS), PIXELS);
    sizes.launch(cuda, &format!("inner_{}", kind(values.dtype())), grid, &arguments)?;
    Ok(out)
}

/// Gradients of the weights and of the values.
pub(crate) fn pool_back(
    cuda: &Cuda,
    sizes: Slices,
    [weights, values, pooled, sums]: [&Tensor; 4],
    gradient: &Tensor,
) -> Result<[Tensor; 2], EngineError> {
    let dz = wide(gradient)?;
    let scaled = Tensor::on_cuda(cuda, &sizes.tokens(), Dtype::F32)?;
    let arguments =
        [(&dz).into(), sums.into(), (&scaled).into(), scaled.len().into(), (SLICE_EPSILON as f32).into()];
    sizes.launch(cuda, "scaled", Grid::over(scaled.len()), &arguments)?;
    let dw = inner(cuda, sizes, values, &scaled, Some(pooled))?;
    Ok([dw, scatter(cuda, sizes, weights, &scaled)?])
}

/// Tokens spread over the pixels.
pub(crate) fn spread(
    cuda: &Cuda,
    sizes: Slices,
    weights: &Tensor,
    tokens: &Tensor,
) -> Result<Tensor, EngineError> {
    scatter(cuda, sizes, weights, &wide(tokens)?)
}

/// Gradients of the weights and of the tokens.
pub(crate) fn spread_back(
    cuda: &Cuda,
    sizes: Slices,
    [weights, tokens]: [&Tensor; 2],
    gradient: &Tensor,
) -> Result<[Tensor; 2], EngineError> {
    let dy = add::convert(gradient.clone(), weights.dtype())?;
    let dw = inner(cuda, sizes, &dy, &wide(tokens)?, None)?;
    Ok([dw, gather(cuda, sizes, weights, &dy, false)?.0])
}
