//! Our own kernels: their sources, and what a launch of one is given.

use super::runtime::{Memory, TensorMap};
use crate::tensor::Tensor;

/// A file of kernels with what it begins with.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(super) name: &'static str,
    pub(super) parts: &'static [&'static str],
}

const PRELUDE: &str = include_str!("prelude.cu");
pub(super) const ATTENTION: Source =
    Source { name: "attention", parts: &[PRELUDE, include_str!("mma.cu"), include_str!("attention.cu")] };
pub(super) const ATTENTION_ANY: Source =
    Source { name: "attention_any", parts: &[PRELUDE, include_str!("attention_any.cu")] };
pub(super) const ATTENTION_HOPPER: Source = Source {
    name: "attention_hopper",
    parts: &[PRELUDE, include_str!("mma.cu"), include_str!("hopper.cu"), include_str!("attention_hopper.cu")],
};
pub(super) const BATCH_NORM: Source =
    Source { name: "batch_norm", parts: &[PRELUDE, include_str!("batch_norm.cu")] };
pub(super) const CONV3X3: Source = Source { name: "conv3x3", parts: &[PRELUDE, include_str!("conv3x3.cu")] };
pub(super) const CONV_NARROW: Source =
    Source { name: "conv_narrow", parts: &[PRELUDE, include_str!("mma.cu"), include_str!("conv_narrow.cu")] };
pub(super) const ELEMENTWISE: Source =
    Source { name: "elementwise", parts: &[PRELUDE, include_str!("elementwise.cu")] };
pub(super) const OPTIM: Source = Source { name: "optim", parts: &[PRELUDE, include_str!("optim.cu")] };
pub(super) const FUSED_PRODUCT: Source = Source {
    name: "fused_product",
    parts: &[PRELUDE, include_str!("mma.cu"), include_str!("hopper.cu"), include_str!("fused_product.cu")],
};
pub(super) const GEMM: Source = Source { name: "gemm", parts: &[PRELUDE, include_str!("gemm.cu")] };
pub(super) const HEADS: Source = Source { name: "heads", parts: &[PRELUDE, include_str!("heads.cu")] };
pub(super) const LAYER_NORM: Source =
    Source { name: "layer_norm", parts: &[PRELUDE, include_str!("layer_norm.cu")] };
pub(super) const LAYOUT: Source = Source { name: "layout", parts: &[PRELUDE, include_str!("layout.cu")] };
pub(super) const LINEAR: Source = Source { name: "linear", parts: &[PRELUDE, include_str!("linear.cu")] };
pub(super) const LOCAL_FIT: Source =
    Source { name: "local_fit", parts: &[PRELUDE, include_str!("local_fit.cu")] };
pub(super) const LOSSES: Source = Source { name: "losses", parts: &[PRELUDE, include_str!("losses.cu")] };
pub(super) const MIX_MODES: Source =
    Source { name: "mix_modes", parts: &[PRELUDE, include_str!("mix_modes.cu")] };
pub(super) const MUON: Source = Source { name: "muon", parts: &[PRELUDE, include_str!("muon.cu")] };
pub(super) const OPERATORS: Source =
    Source { name: "operators", parts: &[PRELUDE, include_str!("operators.cu")] };
pub(super) const SLICES: Source = Source { name: "slices", parts: &[PRELUDE, include_str!("slices.cu")] };
pub(super) const SLICES_FUSED: Source = Source {
    name: "slices_fused",
    parts: &[PRELUDE, include_str!("mma.cu"), include_str!("slices_fused.cu")],
};
pub(super) const TABLE: Source = Source { name: "table", parts: &[PRELUDE, include_str!("table.cu")] };
pub(super) const UNALIGNED: Source =
    Source { name: "unaligned", parts: &[PRELUDE, include_str!("unaligned.cu")] };
pub(super) const IM2COL: Source = Source { name: "im2col", parts: &[PRELUDE, include_str!("im2col.cu")] };

/// One argument of a kernel.
#[derive(Clone)]
pub(crate) enum Arg {
    /// An address, an integer or a float, in the first bytes of eight.
    Word(u64),
    /// The description of a matrix.
    Map(TensorMap),
    /// What the squares of a fit's coefficients cost, \[fields, coefficients\].
    Ridges(Box<[[f64; 15]; 4]>),
}

impl From<u64> for Arg {
    fn from(address: u64) -> Self {
        Self::Word(address)
    }
}
impl From<&Tensor> for Arg {
    fn from(tensor: &Tensor) -> Self {
        Self::Word(tensor.address())
    }
}
impl From<&Memory> for Arg {
    fn from(memory: &Memory) -> Self {
        Self::Word(memory.address())
    }
}
impl From<usize> for Arg {
    /// A `long long`, or an `int` that it fits in.
    fn from(count: usize) -> Self {
        Self::Word(count as u64)
    }
}
impl From<f32> for Arg {
    fn from(x: f32) -> Self {
        Self::Word(u64::from(x.to_bits()))
    }
}

impl From<TensorMap> for Arg {
    fn from(map: TensorMap) -> Self {
        Self::Map(map)
    }
}

/// How many blocks of how many threads, with how many bytes of shared memory each.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(super) blocks: [usize; 2],
    pub(super) threads: usize,
    pub(super) shared: usize,
    /// Whether blocks may begin while the kernel before them ends. Only for kernels that say `after_previous()` first.
    pub(super) early: bool,
}

impl Grid {
    pub(super) fn of(blocks: usize, threads: usize) -> Self {
        Self { blocks: [blocks.max(1), 1], threads, shared: 0, early: false }
    }

    /// The same, launched early.
    pub(super) fn early(self) -> Self {
        Self { early: true, ..self }
    }

    /// A thread for each of `count` items.
    pub(super) fn over(count: usize) -> Self {
        Self::of(count.div_ceil(256), 256)
    }
}
