//! Passes over flat buffers of parameters.

use std::ops::Range;

use super::{
    Cuda,
    kernels::{FLAT, Grid},
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    optimiser::AdamW,
    params::Params,
    tensor::Tensor,
};

/// Numbers between two places where decay can change: ranges of parameters begin at multiples of this.
const BLOCK: usize = 64;
/// Numbers in the block of scalars that an update reads and writes; see `Scalars` in flat.cu.
pub(crate) const SCALARS: usize = 16;

fn grid(cuda: &Cuda, count: usize) -> Grid {
    Grid::of(count.div_ceil(4 * 256).min(8 * cuda.processors()), 256)
}

/// The Euclidean norm of a range, left on the card.
pub(crate) fn norm(cuda: &Cuda, flat: &Tensor, range: Range<usize>) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, &[1], Dtype::F32)?;
    let grid = grid(cuda, range.len());
    let partial = cuda.memory(grid.blocks[0] * size_of::<f64>())?;
    let from = flat.address() + (range.start * size_of::<f32>()) as u64;
    let counter = cuda.counters(1)?;
    let arguments = [from.into(), (&partial).into(), counter.into(), (&out).into(), range.len().into()];
    cuda.launch(FLAT, "norm_of", grid, &arguments)?;
    Ok(out)
}

/// Up to four gradients' addresses, zero where there is none.
fn addresses(components: &[&Tensor]) -> [u64; 4] {
    std::array::from_fn(|k| components.get(k).map_or(0, |tensor| tensor.address()))
}

/// Norms, cap and clip of a main gradient and up to three auxiliary ones, written to `scalars`. `part` is how many
/// numbers, from the first, the cap also holds for by themselves.
pub(crate) fn cap(
    cuda: &Cuda,
    components: &[&Tensor],
    scalars: &Tensor,
    part: usize,
    clip: f64,
) -> Result<(), EngineError> {
    let length = components.first().map_or(0, |main| main.len());
    let grid = Grid::of(length.div_ceil(4 * 256).min(4 * cuda.processors()), 256);
    let partial = cuda.memory(10 * grid.blocks[0] * size_of::<f64>())?;
    let [f, a, b, c] = addresses(components).map(Into::into);
    let counter = cuda.counters(1)?;
    let arguments = [
        f,
        a,
        b,
        c,
        (&partial).into(),
        counter.into(),
        scalars.into(),
        length.into(),
        part.into(),
        (clip as f32).into(),
    ];
    cuda.launch(FLAT, "cap", grid, &arguments)
}

/// A byte for each block of numbers: whether they decay.
pub(crate) fn decays(cuda: &Cuda, params: &Params) -> Result<Tensor, EngineError> {
    let layout = params.layout();
    let mut flags = vec![0_u8; layout.len() / BLOCK];
    for param in layout.params().iter().filter(|param| param.decay) {
        flags[param.range.start / BLOCK..param.range.end.div_ceil(BLOCK)].fill(1);
    }
    // Tensors hold floats: pack four flags in one.
    flags.resize(flags.len().next_multiple_of(4), 0);
    let words: Vec<f32> = bytemuck::pod_collect_to_vec(&flags);
    Tensor::from_slice(&crate::device::Device::Cuda(cuda.clone()), &[words.len()], &words)
}

/// What one step of AdamW changes and reads.
pub(crate) struct AdamStep<'a> {
    pub(crate) settings: AdamW,
    pub(crate) params: &'a Params,
    pub(crate) moments: [&'a Tensor; 2],
    /// The main gradient first.
    pub(crate) components: &'a [&'a Tensor],
    pub(crate) decays: &'a Tensor,
    /// An average of the first parameters, if one is kept.
    pub(crate) average: Option<&'a Params>,
    pub(crate) scalars: &'a Tensor,
}

/// One step of AdamW, the bf16 copy and the average, in one pass.
pub(crate) fn adamw(cuda: &Cuda, step: &AdamStep<'_>) -> Result<(), EngineError> {
    let AdamStep { settings, params, moments, components, decays, average, scalars } = *step;
    let length = params.layout().len();
    let [f, a, b, c] = addresses(components).map(Into::into);
    let copy = |params: &Params| params.halves().map_or(0, Tensor::address);
    let arguments = [
        params.flat().into(),
        copy(params).into(),
        moments[0].into(),
        moments[1].into(),
        f,
        a,
        b,
        c,
        decays.into(),
        average.map_or(0, |average| average.flat().address()).into(),
        average.map_or(0, copy).into(),
        scalars.into(),
        length.into(),
        average.map_or(0, |average| average.layout().len()).into(),
        (settings.betas[0] as f32).into(),
        (settings.betas[1] as f32).into(),
        (settings.epsilon as f32).into(),
        (settings.decay as f32).into(),
    ];
    cuda.launch(FLAT, "adamw", grid(cuda, length), &arguments)
}
