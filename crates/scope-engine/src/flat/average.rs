//! A running average of parameters: the teacher.

use super::Pace;
use crate::{cpu, cuda, device::Device, error::EngineError, params::Params, tensor::Tensor};

impl Params {
    /// self = momentum self + (1 - momentum) online, over the parameters that self has; online may have more
    /// behind them. Nothing happens if `guard`, the norm of the step's gradients, is not finite.
    pub fn follow(&mut self, online: &Params, pace: &Pace, guard: &Tensor) -> Result<(), EngineError> {
        let expected = self.layout().len();
        let got = online.layout().len();
        if expected > got {
            return Err(EngineError::Layout { expected, got });
        }
        match self.device().clone() {
            Device::Cpu(cpu) => cpu::flat::follow(&cpu, self, online, pace, guard),
            Device::Cuda(cuda) => cuda::flat::follow(&cuda, self, online, pace, guard),
        }
    }
}
