//! A step of all parameters: gradient clipping, then Muon for hidden matrices and AdamW for the rest.

use super::{AdamW, Moments, Muon, Update};
use crate::{
    device::kernel,
    error::EngineError,
    params::{Gradients, Params},
    tensor::Tensor,
};

/// How parameters follow their gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Optimizer {
    /// The rule of every parameter that Muon does not take; its weight decay is Muon's too.
    pub adamw: AdamW,
    /// The rule of the parameters that the layout marks as hidden matrices; without it they are AdamW's.
    pub muon: Option<Muon>,
}

impl Optimizer {
    /// One step, with t its number and c = min(1, max_norm / (|g| + 1e-6)): g *= c, then hidden matrices go as [`Muon`]
    /// says, if there is one, and everything else by
    ///
    /// p *= 1 - rate decay; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
    /// p -= rate / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon).
    ///
    /// Gives back |g| over all parameters before it is shortened, \[1\]. If that is not finite, nothing else happens:
    /// the state stays as it was.
    pub fn step(
        &self,
        params: &mut Params,
        gradients: &Gradients,
        moments: &mut Moments,
        update: Update<'_>,
    ) -> Result<Tensor, EngineError> {
        let expected = params.layout().len();
        let got = gradients.layout().len();
        if expected != got {
            return Err(EngineError::Layout { expected, got });
        }
        for (what, tensor) in [("the gradients", gradients.flat()), ("the moments", &moments.first)] {
            if tensor.dtype() != params.dtype() {
                return Err(EngineError::dtype("a step", what, params.dtype(), tensor.dtype()));
            }
        }
        kernel!(&params.device().clone(), optim::step(self, params, gradients, moments, update))
    }
}
