//! Where tensors live.

use crate::{
    cpu::{Cpu, Memory},
    cuda::{self, Cuda},
    error::EngineError,
    tensor::Tensor,
};

/// A device: something that holds tensors and computes with them.
#[derive(Clone, Debug)]
pub enum Device {
    /// The CPU.
    Cpu(Cpu),
    /// An NVIDIA GPU.
    Cuda(Cuda),
}

impl Device {
    /// The CPU with a number of threads.
    pub fn cpu(threads: usize) -> Self {
        Device::Cpu(Cpu::new(threads))
    }

    /// The CPU with all its threads.
    pub fn all_threads() -> Self {
        Device::Cpu(Cpu::all_threads())
    }

    /// Makes what is asked from now on wait for all work on the side stream.
    pub(crate) fn join(&self) -> Result<(), EngineError> {
        match self {
            Device::Cpu(_) => Ok(()),
            Device::Cuda(cuda) => cuda.join_streams(),
        }
    }

    /// Does work whose result is wanted later; a GPU does it on its side stream, beside what it is asked for until
    /// then.
    pub fn on_side_stream<T>(
        &self,
        reads: &[&Tensor],
        work: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<Pending<T>, EngineError> {
        let value = match self {
            Device::Cpu(_) => work()?,
            Device::Cuda(cuda) => cuda.on_side_stream(reads, work)?,
        };
        Ok(Pending { value, device: self.clone() })
    }

    /// An NVIDIA GPU, counted from zero.
    pub fn cuda(ordinal: usize) -> Result<Self, EngineError> {
        Cuda::open(ordinal).map(Device::Cuda)
    }
}

/// The result of work that may still be going on.
#[derive(Debug)]
#[must_use = "the device must wait for it before it is used"]
pub struct Pending<T> {
    value: T,
    device: Device,
}

impl<T> Pending<T> {
    /// The result, for what the device is asked from now on.
    pub fn wait(self) -> Result<T, EngineError> {
        self.device.join()?;
        Ok(self.value)
    }
}

/// Runs a kernel of a device. Kernels of all devices have the same names, modules and arguments: `kernel!(device,
/// attention::forward(qkv, heads, shape))` is `cpu::attention::forward` or `cuda::attention::forward`, which get their
/// device first.
macro_rules! kernel {
    ($device:expr, $module:ident::$name:ident($($argument:expr),* $(,)?)) => {
        match $device {
            $crate::device::Device::Cpu(cpu) => $crate::cpu::$module::$name(cpu, $($argument),*),
            $crate::device::Device::Cuda(cuda) => $crate::cuda::$module::$name(cuda, $($argument),*),
        }
    };
}
pub(crate) use kernel;

/// The memory of a tensor, on its device.
#[derive(Debug)]
pub(crate) enum Buffer {
    /// The memory is main memory.
    Cpu(Memory),
    /// The memory is a GPU's.
    Cuda(cuda::Memory),
}
