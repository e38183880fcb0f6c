//! Attention: on Hopper with a head's whole rows of scores in registers; elsewhere tensor cores where all of a head's
//! keys and values fit in shared memory, with room for up to 63 tokens that are none; plain arithmetic for the rest,
//! f32 among it.

use super::{
    Cuda,
    kernels::{ATTENTION, ATTENTION_ANY, ATTENTION_HOPPER, Grid},
    kind,
    runtime::boxes,
};
use crate::{dtype::Dtype, error::EngineError, ops::add, tape::Flow, tensor::Tensor};

/// Tokens that the kernels on tensor cores take at once.
const BLOCK: usize = 64;

/// The sizes of one attention.
struct Sizes {
    pairs: usize,
    tokens: usize,
    heads: usize,
    head: usize,
}

impl Sizes {
    fn of(qkv: &Tensor, heads: usize) -> Self {
        let shape = qkv.shape();
        Self { pairs: shape[0] * heads, tokens: shape[1], heads, head: shape[2] / 3 / heads.max(1) }
    }

    fn scale(&self) -> f32 {
        1.0 / (self.head as f32).sqrt()
    }

    /// Whether the kernels on tensor cores take it. They compute whole blocks of tokens: for few that is mostly waste.
    fn fits(&self, dtype: Dtype) -> bool {
        dtype == Dtype::Bf16 && (BLOCK / 2..=256).contains(&self.tokens) && matches!(self.head, 32 | 64)
    }

    /// Tokens that the kernels on tensor cores have room for: whole blocks.
    fn room(&self) -> usize {
        self.tokens.next_multiple_of(BLOCK)
    }

    /// Whether the kernels for Hopper take it: they have whole heads at a time, so small batches leave multiprocessors
    /// idle.
    fn fits_hopper(&self, cuda: &Cuda, dtype: Dtype) -> bool {
        let sizes = matches!(self.tokens, 128 | 256) && self.head == 64;
        cuda.is_hopper() && dtype == Dtype::Bf16 && sizes && 2 * self.pairs >= cuda.multiprocessors()
    }

    fn rows(&self) -> usize {
        self.pairs / self.heads.max(1) * self.tokens
    }

    fn width(&self) -> usize {
        self.heads * self.head
    }

    /// Bytes of one matrix of a head.
    fn tile(&self) -> usize {
        self.room() * self.head * 2
    }

    /// Bytes that a block of the backward pass on tensor cores shares: more than some GPUs have.
    fn shared_backward(&self) -> usize {
        4 * self.tile() + self.room() * self.round() * 2 + 2 * self.room() * size_of::<f32>()
    }

    fn constants(&self) -> String {
        let constants = format!("TOKENS={} HEAD={}", self.room(), self.head);
        if self.tokens == self.room() { constants } else { format!("{constants} REAL={}", self.tokens) }
    }

    /// Queries that a block, or a round of one, has at once.
    fn round(&self) -> usize {
        if self.room().is_multiple_of(128) { 128 } else { 64 }
    }

    /// The forward pass of what the tensor cores do not take: a block for 16 queries of a head.
    fn in_rows(&self) -> Grid {
        Grid::of(self.pairs * self.tokens.div_ceil(16), 256)
    }

    /// Its backward pass: a block for each row of each head, with room for two rows of scores.
    fn plain(&self) -> Grid {
        Grid { shared: 2 * self.tokens * size_of::<f32>(), ..Grid::of(self.pairs * self.tokens, 128) }
    }
}

/// The output, and the logarithms of the sums of each row of scores.
pub(crate) fn forward(
    cuda: &Cuda,
    qkv: &Tensor,
    heads: usize,
    shape: [usize; 3],
) -> Result<(Tensor, Tensor), EngineError> {
    let sizes = Sizes::of(qkv, heads);
    let out = Tensor::on_cuda(cuda, &shape, qkv.dtype())?;
    let log_sums = Tensor::on_cuda(cuda, &[shape[0], heads, sizes.tokens], Dtype::F32)?;
    let scale = sizes.scale();
    let tokens = sizes.tokens;
    if sizes.fits_hopper(cuda, qkv.dtype()) {
        let rows = sizes.rows();
        let width = sizes.width();
        let arguments = [
            boxes(qkv.address(), [rows, 3 * width], tokens as u32)?.into(),
            boxes(out.address(), [rows, width], 64)?.into(),
            (&log_sums).into(),
            heads.into(),
            sizes.pairs.into(),
            scale.into(),
        ];
        let grid =
            Grid { shared: 6 * sizes.tile() + 32, ..Grid::of(sizes.pairs.min(cuda.multiprocessors()), 512) };
        let constants = format!("TOKENS={tokens}");
        cuda.launch_with(ATTENTION_HOPPER, &constants, "attention", grid.early(), &arguments)?;
    } else if sizes.fits(qkv.dtype()) {
        // Few heads: fewer queries a warp and a block, so that more multiprocessors have work.
        let few = sizes.pairs * tokens < 128 * cuda.multiprocessors();
        let (tiles, queries) = if few { (1, 64) } else { (2, sizes.round()) };
        let room = sizes.room();
        let shared = (queries + 2 * room) * sizes.head * 2;
        let threads = queries / tiles * 2;
        let grid = Grid { blocks: [room / queries, sizes.pairs], shared, ..Grid::of(1, threads) }.early();
        let constants = format!("{} TILES={tiles} QUERIES={queries}", sizes.constants());
        let arguments = [qkv.into(), (&out).into(), (&log_sums).into(), heads.into(), scale.into()];
        cuda.launch_with(ATTENTION, &constants, "attention", grid, &arguments)?;
    } else {
        let arguments = [
            qkv.into(),
            (&out).into(),
            (&log_sums).into(),
            tokens.into(),
            heads.into(),
            sizes.head.into(),
            scale.into(),
        ];
        cuda.launch(ATTENTION_ANY, &format!("attention_{}", kind(qkv.dtype())), sizes.in_rows(), &arguments)?;
    }
    Ok((out, log_sums))
}

/// The gradient of queries, keys and values together.
pub(crate) fn backward(
    cuda: &Cuda,
    [qkv, out, log_sums]: [&Tensor; 3],
    gradient: &Tensor,
    heads: usize,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let sizes = Sizes::of(qkv, heads);
    let g = add::convert(gradient.clone(), qkv.dtype())?;
    let dqkv = Tensor::on_cuda(cuda, qkv.shape(), qkv.dtype())?;
    if sizes.fits_hopper(cuda, qkv.dtype()) {
        let partial = hopper_backward(cuda, &sizes, [qkv, out, log_sums], &g, &dqkv)?;
        flow.fusion().note_column_sums(dqkv.clone(), partial);
    } else if sizes.fits(qkv.dtype()) && sizes.shared_backward() <= cuda.shared_memory() {
        let grid = Grid { shared: sizes.shared_backward(), ..Grid::of(sizes.pairs, sizes.room()) }.early();
        let arguments = [
            qkv.into(),
            out.into(),
            (&g).into(),
            log_sums.into(),
            (&dqkv).into(),
            heads.into(),
            sizes.scale().into(),
        ];
        cuda.launch_with(ATTENTION, &sizes.constants(), "attention_back", grid, &arguments)?;
    } else {
        plain_backward(cuda, &sizes, [qkv, log_sums], &g, &dqkv)?;
    }
    Ok(dqkv)
}

/// Also leaves the sums of the gradient's columns over each item of the batch \[batch, 3 width\].
fn hopper_backward(
    cuda: &Cuda,
    sizes: &Sizes,
    [qkv, out, log_sums]: [&Tensor; 3],
    g: &Tensor,
    dqkv: &Tensor,
) -> Result<Tensor, EngineError> {
    let rows = sizes.rows();
    let width = sizes.width();
    let tokens = sizes.tokens;
    let partial = Tensor::on_cuda(cuda, &[rows / tokens, 3 * width], Dtype::F32)?;
    let arguments = [
        boxes(qkv.address(), [rows, 3 * width], 128)?.into(),
        boxes(g.address(), [rows, width], 128)?.into(),
        boxes(dqkv.address(), [rows, 3 * width], 64)?.into(),
        out.into(),
        g.into(),
        log_sums.into(),
        (&partial).into(),
        sizes.heads.into(),
        sizes.scale().into(),
    ];
    let sums = (2 * tokens + 3 * 8 * sizes.head) * size_of::<f32>();
    let grid = Grid { shared: 6 * sizes.tile() + sums + 16, ..Grid::of(sizes.pairs, 256) };
    let constants = format!("TOKENS={tokens}");
    cuda.launch_with(ATTENTION_HOPPER, &constants, "attention_back", grid.early(), &arguments)?;
    Ok(partial)
}

fn plain_backward(
    cuda: &Cuda,
    sizes: &Sizes,
    [qkv, log_sums]: [&Tensor; 2],
    g: &Tensor,
    dqkv: &Tensor,
) -> Result<(), EngineError> {
    let deltas = Tensor::on_cuda(cuda, log_sums.shape(), Dtype::F32)?;
    let tokens = sizes.tokens;
    let heads = sizes.heads;
    let head = sizes.head;
    let arguments = [
        qkv.into(),
        g.into(),
        log_sums.into(),
        (&deltas).into(),
        dqkv.into(),
        tokens.into(),
        heads.into(),
        head.into(),
        sizes.scale().into(),
    ];
    for gradient in ["queries", "keys"] {
        let kernel = format!("{gradient}_{}", kind(qkv.dtype()));
        cuda.launch(ATTENTION_ANY, &kernel, sizes.plain(), &arguments)?;
    }
    Ok(())
}
