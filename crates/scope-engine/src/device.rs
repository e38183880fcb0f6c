//! Where tensors live.

use crate::cpu::{Cpu, Memory};

/// A device: something that holds tensors and computes with them.
#[derive(Clone, Debug)]
pub enum Device {
    /// The processor.
    Cpu(Cpu),
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
}

/// The memory of a tensor, on its device.
#[derive(Debug)]
pub(crate) enum Buffer {
    /// In main memory.
    Cpu(Memory),
}
