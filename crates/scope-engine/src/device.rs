//! Where tensors live.

#[cfg(not(target_arch = "wasm32"))]
use crate::cuda::{self, Cuda};
#[cfg(not(target_arch = "wasm32"))]
use crate::error::EngineError;
use crate::{
    cpu::{Cpu, Memory},
    dtype::Dtype,
};

/// A device: something that holds tensors and computes with them.
#[derive(Clone, Debug)]
pub enum Device {
    /// The processor.
    Cpu(Cpu),
    /// An NVIDIA card.
    #[cfg(not(target_arch = "wasm32"))]
    Cuda(Cuda),
}

impl Device {
    /// The processor with a number of threads.
    pub fn cpu(threads: usize) -> Self {
        Device::Cpu(Cpu::new(threads))
    }

    /// The processor with all its threads.
    pub fn all_threads() -> Self {
        Device::Cpu(Cpu::all_threads())
    }

    /// The precision that it trains in: f32 on the processor, bf16 products on a card.
    pub fn training_precision(&self) -> Dtype {
        match self {
            Device::Cpu(_) => Dtype::F32,
            #[cfg(not(target_arch = "wasm32"))]
            Device::Cuda(_) => Dtype::Bf16,
        }
    }

    /// An NVIDIA card, counted from zero.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn cuda(ordinal: usize) -> Result<Self, EngineError> {
        Ok(Device::Cuda(Cuda::open(ordinal)?))
    }
}

/// The memory of a tensor, on its device.
#[derive(Debug)]
pub(crate) enum Buffer {
    /// In main memory.
    Cpu(Memory),
    /// On a card.
    #[cfg(not(target_arch = "wasm32"))]
    Cuda(cuda::Memory),
}
