//! The exponential moving average (EMA) of parameters.

use super::StepScalars;
use crate::{cpu, cuda, device::Device, error::EngineError, params::Params, tensor::Tensor};

impl Params {
    /// One step of this average: self = momentum self + (1 - momentum) online, over the parameters that self has; online may have more
    /// behind them. Nothing happens if `guard`, the norm of the step's gradients, is not finite.
    pub fn update_ema(
        &mut self,
        online: &Params,
        scalars: &StepScalars,
        guard: &Tensor,
    ) -> Result<(), EngineError> {
        let expected = self.layout().len();
        let got = online.layout().len();
        if expected > got {
            return Err(EngineError::Layout { expected, got });
        }
        match self.device().clone() {
            Device::Cpu(cpu) => cpu::flat::update_ema(&cpu, self, online, scalars, guard),
            Device::Cuda(cuda) => cuda::flat::update_ema(&cuda, self, online, scalars, guard),
        }
    }
}
