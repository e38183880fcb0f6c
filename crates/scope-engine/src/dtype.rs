//! The kinds of number a tensor can hold.

use std::fmt;

/// The kind of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// Single precision: parameters, sums, losses, and all of training on the CPU.
    F32,
    /// The upper half of single precision: weights and activations of fast inference.
    Bf16,
    /// Double precision, for checking gradients against finite differences.
    F64,
}

impl Dtype {
    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Dtype::Bf16 => 2,
            Dtype::F32 => 4,
            Dtype::F64 => 8,
        }
    }

    /// The kind that sums, losses and residual streams keep while products run in `self`.
    pub fn wide(self) -> Self {
        match self {
            Dtype::Bf16 | Dtype::F32 => Dtype::F32,
            Dtype::F64 => Dtype::F64,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Dtype::F32 => "f32",
            Dtype::Bf16 => "bf16",
            Dtype::F64 => "f64",
        })
    }
}

/// A Rust type that is some [`Dtype`].
pub trait Element: bytemuck::Pod + Send + Sync {
    /// The precision of such numbers.
    const DTYPE: Dtype;
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
}

impl Element for crate::bfloat16::bf16 {
    const DTYPE: Dtype = Dtype::Bf16;
}

impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;
}
