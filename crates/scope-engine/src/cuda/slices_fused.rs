//! Slices in bf16 with weights that are made again wherever they are wanted, on tensor cores.

use super::{
    Cuda,
    kernels::{Arg, Grid, LINEAR, SLICES_FUSED},
    slices::finish_pooling,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{Linear, SLICE_EPSILON, Slices, add},
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// Pixels of a tile.
const PIXELS: usize = 64;
/// Shared memory of a block, at most.
const SHARED: usize = 200 * 1024;

/// What the weights of slices are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slicing {
    pub(crate) sizes: Slices,
    pub(crate) layer: Linear,
    pub(crate) temperature: ParamId,
}

impl Slicing {
    /// Whether these kernels take such sizes.
    pub(crate) fn possible(self, cuda: &Cuda, compute: Dtype) -> bool {
        let Slices { heads, slices, size, .. } = self.sizes;
        let whole = slices.is_multiple_of(16) && slices <= 64 && size.is_multiple_of(4) && heads <= 16;
        cuda.is_hopper() && compute == Dtype::Bf16 && whole && self.shared(6) <= SHARED
    }

    /// Numbers of a row in shared memory.
    fn columns(self) -> usize {
        (self.sizes.size + 2).next_multiple_of(8)
    }

    /// Bytes of so many tiles and a matrix a head.
    fn shared(self, tiles: usize) -> usize {
        let Slices { heads, slices, .. } = self.sizes;
        heads * self.columns() * Dtype::Bf16.size() * (tiles * PIXELS + slices)
    }

    fn pieces(self, cuda: &Cuda) -> usize {
        (8 * cuda.multiprocessors() / self.sizes.batch.max(1)).clamp(1, self.sizes.pixels.div_ceil(PIXELS))
    }

    /// Launches a kernel, a block for each sample and piece.
    fn launch(self, cuda: &Cuda, name: &str, tiles: usize, arguments: &[Arg]) -> Result<(), EngineError> {
        let Slices { batch, heads, slices, size, .. } = self.sizes;
        let grid = Grid {
            blocks: [batch, self.pieces(cuda)],
            shared: self.shared(tiles),
            ..Grid::of(1, 32 * heads)
        };
        cuda.launch_with(SLICES_FUSED, &format!("HEADS={heads} S={slices} D={size}"), name, grid, arguments)
    }

    /// Weight, bias and temperatures.
    fn addresses(self, params: &Params) -> [Arg; 3] {
        let Linear { weight, bias } = self.layer;
        [weight, bias, self.temperature].map(|id| params.address(id, Dtype::F32).into())
    }
}

/// The sum over pixels of w f; divided by the sums of w, which are given back too, if asked.
pub(crate) fn pool(
    cuda: &Cuda,
    slicing: Slicing,
    params: &Params,
    [g, f]: [&Tensor; 2],
    divide: bool,
) -> Result<(Tensor, Tensor), EngineError> {
    let Slices { batch, pixels, heads, slices, size } = slicing.sizes;
    let pieces = slicing.pieces(cuda);
    let f = add::convert(f.clone(), Dtype::Bf16)?;
    let partial = Tensor::on_cuda(cuda, &[batch * heads, pieces, slices * (size + 1)], Dtype::F32)?;
    let [weight, bias, temperature] = slicing.addresses(params);
    let arguments =
        [g.into(), (&f).into(), weight, bias, temperature, (&partial).into(), pixels.into(), pieces.into()];
    slicing.launch(cuda, "pool", 4, &arguments)?;
    finish_pooling(cuda, slicing.sizes, &partial, divide)
}

/// The sum over slices of w z.
pub(crate) fn spread(
    cuda: &Cuda,
    slicing: Slicing,
    params: &Params,
    g: &Tensor,
    tokens: &Tensor,
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, g.shape(), Dtype::Bf16)?;
    let tokens = add::convert(tokens.clone(), Dtype::F32)?;
    let [weight, bias, temperature] = slicing.addresses(params);
    let arguments = [
        g.into(),
        (&tokens).into(),
        weight,
        bias,
        temperature,
        (&out).into(),
        slicing.sizes.pixels.into(),
        slicing.pieces(cuda).into(),
    ];
    slicing.launch(cuda, "spread", 2, &arguments)?;
    Ok(out)
}

/// What went into slices and came out of them again.
pub(crate) struct Passed<'a> {
    pub(crate) g: &'a Tensor,
    pub(crate) f: &'a Tensor,
    pub(crate) pooled: &'a Tensor,
    pub(crate) sums: &'a Tensor,
    /// What was spread, and the gradient of the result.
    pub(crate) spread: (Tensor, Tensor),
}

/// Gradients of g and f from that of the pooled slices; layer and temperatures get their sums.
pub(crate) fn backward(
    cuda: &Cuda,
    slicing: Slicing,
    passed: &Passed<'_>,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<[Tensor; 2], EngineError> {
    let Slices { batch, pixels, heads, slices, .. } = slicing.sizes;
    let pieces = slicing.pieces(cuda);
    let columns = slicing.columns();
    let blocks = batch * pieces;
    let each = heads * slices * columns;
    let (tokens, dy) = &passed.spread;
    let tokens = add::convert(tokens.clone(), Dtype::F32)?;
    let dz = add::convert(gradient.clone(), Dtype::F32)?;
    let dy = add::convert(dy.clone(), Dtype::Bf16)?;
    let [dg, df] = [passed.g, passed.f].map(|x| Tensor::on_cuda(cuda, x.shape(), Dtype::Bf16));
    let dg = dg?;
    let df = df?;
    let partial = Tensor::on_cuda(cuda, &[blocks, each], Dtype::F32)?;
    let [weight, bias, temperature] = slicing.addresses(flow.params());
    let arguments = [
        passed.g.into(),
        passed.f.into(),
        (&dy).into(),
        (&tokens).into(),
        (&dz).into(),
        passed.pooled.into(),
        passed.sums.into(),
        weight,
        bias,
        temperature,
        (&dg).into(),
        (&df).into(),
        (&partial).into(),
        pixels.into(),
        pieces.into(),
        (SLICE_EPSILON as f32).into(),
    ];
    slicing.launch(cuda, "slices_back", 6, &arguments)?;
    let sums = Tensor::on_cuda(cuda, &[each], Dtype::F32)?;
    let arguments = [(&partial).into(), (&sums).into(), each.into(), blocks.into(), 0_usize.into()];
    cuda.launch(LINEAR, "finish_sums", Grid::of(each.div_ceil(32), 32 * blocks.min(32)), &arguments)?;
    finish(cuda, slicing, &sums, flow)?;
    Ok([dg, df])
}

/// Gradients of the layer and the temperatures from sums of every head.
fn finish(cuda: &Cuda, slicing: Slicing, sums: &Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
    let Slices { heads, slices, size, .. } = slicing.sizes;
    let Linear { weight, bias } = slicing.layer;
    let [to_weight, to_bias, to_temperature] =
        [weight, bias, slicing.temperature].map(|id| flow.into().address(id));
    let [weight, bias, temperature] = slicing.addresses(flow.params());
    let arguments = [
        sums.into(),
        weight,
        bias,
        temperature,
        to_weight.0.into(),
        to_bias.0.into(),
        to_temperature.0.into(),
        usize::from(to_weight.1).into(),
        usize::from(to_bias.1).into(),
        usize::from(to_temperature.1).into(),
    ];
    let constants = format!("HEADS={heads} S={slices} D={size}");
    cuda.launch_with(SLICES_FUSED, &constants, "slices_finish", Grid::of(1, 256), &arguments)
}
