//! The exponential moving average (EMA) of parameters.

use super::StepScalars;
use crate::{device::kernel, error::EngineError, params::Params, tensor::Tensor};

impl Params {
    /// One step of this average: self = momentum self + (1 - momentum) online, over the parameters that self has;
    /// online may have more behind them. Nothing happens if `guard`, the norm of the step's gradients, is not finite.
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
        kernel!(&self.device().clone(), optim::update_ema(self, online, scalars, guard))
    }
}
