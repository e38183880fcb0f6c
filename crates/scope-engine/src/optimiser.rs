//! AdamW over the flat buffer of parameters.

use crate::{
    cpu,
    device::Device,
    error::EngineError,
    params::{Gradients, Params},
    tensor::Tensor,
};

/// The settings of AdamW (Loshchilov and Hutter, 2019).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Decay rates of the two moments.
    pub betas: [f64; 2],
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Weight decay, for parameters that decay.
    pub decay: f64,
}

impl Default for AdamW {
    fn default() -> Self {
        Self { betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.05 }
    }
}

/// The running moments of all parameters, and how many steps made them.
#[derive(Debug)]
pub struct Moments {
    /// Of gradients, flat like the parameters.
    pub first: Tensor,
    /// Of squared gradients.
    pub second: Tensor,
    /// Steps taken.
    pub steps: u64,
}

impl Moments {
    /// Before the first step.
    pub fn zeros(params: &Params) -> Result<Self, EngineError> {
        let zeros = vec![0.0_f32; params.layout().len()];
        let fresh = || Tensor::from_slice(params.device(), &[zeros.len()], &zeros);
        Ok(Self { first: fresh()?, second: fresh()?, steps: 0 })
    }
}

/// What one step applies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) settings: AdamW,
    pub(crate) rate: f64,
    /// Multiplies every gradient: clipping.
    pub(crate) factor: f64,
    /// The step's number, from one.
    pub(crate) number: u64,
}

impl AdamW {
    /// One step with gradients times `factor`, in one pass over all buffers:
    ///
    /// p *= 1 - rate decay; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
    /// p -= rate / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + epsilon)
    pub fn step(
        &self,
        params: &mut Params,
        gradients: &Gradients,
        moments: &mut Moments,
        rate: f64,
        factor: f64,
    ) -> Result<(), EngineError> {
        let (expected, got) = (params.layout().len(), gradients.layout().len());
        if expected != got {
            return Err(EngineError::Layout { expected, got });
        }
        moments.steps += 1;
        let step = Step { settings: *self, rate, factor, number: moments.steps };
        match params.device().clone() {
            Device::Cpu(cpu) => cpu::flat::adamw(&cpu, params, gradients, moments, step),
        }
    }
}

impl Gradients {
    /// The Euclidean norm over the parameters under a path (`""` for all).
    pub fn norm(&self, path: &str) -> f64 {
        let range = self.layout().range(path);
        match self.flat().device() {
            Device::Cpu(cpu) => cpu::flat::norm(cpu, self.flat(), range),
        }
    }
}
