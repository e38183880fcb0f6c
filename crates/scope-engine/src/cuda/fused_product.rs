//! Products fused with GELU, on Hopper's tensor cores; taken where they are faster than the library's product and a
//! kernel after it.

use super::{
    Cuda,
    kernels::{Arg, FUSED_PRODUCT, Grid},
    runtime::boxes,
};
use crate::{dtype::Dtype, error::EngineError, tensor::Tensor};

/// Slices of both factors on their way.
const STAGES: usize = 4;
const TILE: usize = 128;
/// Rows over which a block of the backward product adds up columns.
const ROWS: usize = 64;
/// Bytes of shared memory: stages, boxes of results, barriers, sums.
const SHARED: usize = STAGES * 2 * TILE * 64 * 2 + 8 * ROWS * 64 * 2 + 256 + 16 * TILE * 4;

/// A product \[m, n\] = x \[m, k\] w that may be fused with GELU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fused {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) with: FusedWith,
}

/// What is fused with a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FusedWith {
    /// GELU of x w^T + b.
    Gelu,
    /// GELU of the product, and its slope.
    GeluAndSlope,
    /// Times slopes, with the sums of columns.
    TimesSlope,
}

impl Fused {
    /// Whether the kernel takes it.
    pub(super) fn possible(self, cuda: &Cuda, dtype: Dtype) -> bool {
        let whole = |length: usize| length > 0 && length.is_multiple_of(8);
        cuda.is_hopper() && dtype == Dtype::Bf16 && self.m > 0 && whole(self.n) && whole(self.k)
    }

    /// Whether the fused product is to be taken: the faster one, timed when first asked for and kept on disk.
    pub(super) fn wanted(
        self,
        cuda: &Cuda,
        fused: impl FnMut() -> Result<(), EngineError>,
        apart: impl FnMut() -> Result<(), EngineError>,
    ) -> Result<bool, EngineError> {
        if cuda.is_always_fused() {
            return Ok(true);
        }
        let Self { m, n, k, with } = self;
        cuda.faster(&format!("{with:?} {m} {n} {k}"), fused, apart)
    }

    /// y = gelu(x w^T + b), and its slope if asked for.
    pub(super) fn gelu(
        self,
        cuda: &Cuda,
        [x, weight, bias]: [u64; 3],
        y: &Tensor,
        slope: Option<&Tensor>,
    ) -> Result<(), EngineError> {
        let Self { m, n, k, .. } = self;
        let slope = slope.unwrap_or(y);
        let arguments = [
            boxes(x, [m, k], TILE as u32)?.into(),
            boxes(weight, [n, k], TILE as u32)?.into(),
            boxes(y.address(), [m, n], ROWS as u32)?.into(),
            boxes(slope.address(), [m, n], ROWS as u32)?.into(),
            bias.into(),
            0_u64.into(),
            0_u64.into(),
            0_u64.into(),
            m.into(),
            n.into(),
            k.into(),
        ];
        self.launch(cuda, &arguments)
    }

    /// out = x w slope for w \[k, n\], and in `partial` \[blocks of rows, n\] sums of its columns.
    pub(super) fn times_slope(
        self,
        cuda: &Cuda,
        [x, weight]: [u64; 2],
        slope: &Tensor,
        out: &Tensor,
        partial: &Tensor,
    ) -> Result<(), EngineError> {
        let Self { m, n, k, .. } = self;
        let unused = boxes(out.address(), [m, n], ROWS as u32)?;
        let arguments = [
            boxes(x, [m, k], TILE as u32)?.into(),
            boxes(weight, [k, n], 64)?.into(),
            unused.into(),
            unused.into(),
            0_u64.into(),
            slope.into(),
            out.into(),
            partial.into(),
            m.into(),
            n.into(),
            k.into(),
        ];
        self.launch(cuda, &arguments)
    }

    /// How many sums of each column `times_slope` leaves.
    pub(super) fn pieces(self) -> usize {
        self.m.div_ceil(ROWS)
    }

    fn launch(self, cuda: &Cuda, arguments: &[Arg]) -> Result<(), EngineError> {
        let (turned, follow) = match self.with {
            FusedWith::Gelu => (0, 0),
            FusedWith::GeluAndSlope => (0, 1),
            FusedWith::TimesSlope => (1, 2),
        };
        let tiles = self.m.div_ceil(TILE) * self.n.div_ceil(TILE);
        let grid = Grid { shared: SHARED, ..Grid::of(tiles.min(cuda.multiprocessors()), 640) }.early();
        let constants = format!("TURNED={turned} FOLLOW={follow} STAGES={STAGES}");
        cuda.launch_with(FUSED_PRODUCT, &constants, "fused_product", grid, arguments)
    }
}
