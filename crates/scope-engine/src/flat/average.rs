//! A running average of parameters: the teacher.

use super::Pace;
use crate::{cpu, device::Device, error::EngineError, params::Params};
#[cfg(not(target_arch = "wasm32"))]
use crate::cuda;

impl Params {
    /// self = momentum self + (1 - momentum) online, over the parameters that self has; online may have more
    /// behind them.
    pub fn follow(&mut self, online: &Params, pace: &Pace) -> Result<(), EngineError> {
        let (expected, got) = (self.layout().len(), online.layout().len());
        if expected > got {
            return Err(EngineError::Layout { expected, got });
        }
        match self.device().clone() {
            Device::Cpu(cpu) => cpu::flat::follow(&cpu, self, online, pace),
            #[cfg(not(target_arch = "wasm32"))]
            Device::Cuda(cuda) => cuda::flat::follow(&cuda, self, online, pace),
        }
    }
}
