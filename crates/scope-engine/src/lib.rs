//! Tensors, operations and their gradients, on flat parameters.
//!
//! A model declares its parameters in a [`Layout`]; [`Params`] holds their values in one flat buffer on a
//! [`Device`]. A [`Tape`] runs operations (`ops/`, one a file) and, if it records, gives gradients: several
//! backward passes over one forward pass, each into [`Gradients`] of its own.
//!
//! No operation assumes where memory is: it calls the kernel of its device (`device::kernel!`), and kernels live under
//! the device's name (`cpu/`, `cuda/`).

mod bfloat16;
mod constant;
mod cpu;
mod cuda;
mod device;
mod device_choice;
mod dtype;
mod error;
mod group;
mod noise;
mod ops;
mod optim;
mod params;
mod quantised;
pub mod selftest;
mod table;
mod tape;
mod tensor;

pub use bfloat16::bf16;
pub use constant::Constant;
pub use cpu::{Cpu, Isa};
pub use cuda::{Cuda, Graph, NCCL_ID, Nccl};
pub use device::{Device, Pending};
pub use device_choice::DeviceChoice;
pub use dtype::{Dtype, Element};
pub use error::EngineError;
pub use group::DeviceGroup;
pub use noise::{RowNoise, normal};
pub use ops::{
    Activation, AxisMap, BasisFunction, BatchNorm, BatchStatistics, Epilogue, FitPoint, Linear, LocalFit,
    Norm, Sliced, SpreadOfAll,
};
pub use optim::{AdamW, Capped, Moments, Muon, Optimizer, StepScalars, Update};
pub use params::{Gradients, Layout, Param, ParamId, Params, Scope};
pub use quantised::{Activations, QuantisedRows, dequantise_int8, dequantise_int16};
pub use table::{Gathered, ImageTable, SelectedBatch, SelectedNoise, Selection};
pub use tape::{ForwardHook, Tape, Var};
pub use tensor::Tensor;
