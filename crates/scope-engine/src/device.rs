//! Where tensors live.

use crate::{
    cpu::{Cpu, Memory},
    cuda::{self, Cuda},
    dtype::Dtype,
    error::EngineError,
    tensor::Tensor,
};

/// A device: something that holds tensors and computes with them.
#[derive(Clone, Debug)]
pub enum Device {
    /// The processor.
    Cpu(Cpu),
    /// An NVIDIA card.
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
            Device::Cuda(_) => Dtype::Bf16,
        }
    }

    /// Does work whose result is wanted later; a card does it beside what it is asked for until then.
    pub fn begin<T>(
        &self,
        reads: &[&Tensor],
        work: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<Later<T>, EngineError> {
        let value = match self {
            Device::Cpu(_) => work()?,
            Device::Cuda(cuda) => cuda.on_side_stream(reads, work)?,
        };
        Ok(Later { value, device: self.clone() })
    }

    /// An NVIDIA card, counted from zero.
    pub fn cuda(ordinal: usize) -> Result<Self, EngineError> {
        Cuda::open(ordinal).map(Device::Cuda)
    }
}

/// The result of work that may still be going on.
#[derive(Debug)]
#[must_use = "the device must wait for it before it is used"]
pub struct Later<T> {
    value: T,
    device: Device,
}

impl<T> Later<T> {
    /// The result, for what the device is asked from now on.
    pub fn wait(self) -> Result<T, EngineError> {
        match &self.device {
            Device::Cpu(_) => {}
            Device::Cuda(cuda) => cuda.join_streams()?,
        }
        Ok(self.value)
    }
}

/// The memory of a tensor, on its device.
#[derive(Debug)]
pub(crate) enum Buffer {
    /// In main memory.
    Cpu(Memory),
    /// On a card.
    Cuda(cuda::Memory),
}
