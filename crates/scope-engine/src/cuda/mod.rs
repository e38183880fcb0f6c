//! Kernels for NVIDIA GPUs, under the names of the operations they serve.
//!
//! Everything runs on one stream, in order; what nothing later waits for may run on a side stream. Matrix products go
//! through cuBLASLt, convolutions through cuDNN, and the rest through kernels of our own, which NVRTC compiles for the
//! GPU at hand. None of these is needed to build: they are looked for when a GPU is opened, and what is missing is
//! said.
//!
//! In a bf16 tape, products read and write bf16; the residual stream, statistics, losses and parameter gradients
//! are f32; gradients of activations travel in bf16.

#![cfg_attr(target_arch = "wasm32", allow(dead_code))] // what only `runtime/` reads

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod batch_norm;
pub(crate) mod channels_last;
mod column_sums;
pub(crate) mod conv3x3;
mod conv_narrow;
mod convolution;
pub(crate) mod elementwise;
pub(crate) mod expansion;
mod fused_product;
mod fusion;
mod gemm;
pub(crate) mod heads;
pub(crate) mod im2col;
mod kernels;
pub(crate) mod layer_norm;
pub(crate) mod layout;
pub(crate) mod linear;
pub(crate) mod local_fit;
pub(crate) mod losses;
pub(crate) mod map_axis;
pub(crate) mod mix_modes;
pub(crate) mod muon;
pub(crate) mod optim;
mod peak;
pub(crate) mod per_channel;
#[cfg(not(target_arch = "wasm32"))]
mod runtime;
#[cfg(target_arch = "wasm32")]
#[path = "runtime_absent.rs"]
mod runtime;
pub(crate) mod slices;
pub(crate) mod slices_fused;
pub(crate) mod table;
pub(crate) mod unaligned;

use crate::dtype::Dtype;

pub(crate) use fusion::Fusion;
pub(crate) use runtime::Memory;
pub use runtime::{Cuda, Graph, NCCL_ID, Nccl};

/// How a kind of number is called in kernels' names.
fn kind(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bf16 => "bf16",
        _ => "f32",
    }
}
