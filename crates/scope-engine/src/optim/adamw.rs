//! AdamW with gradient clipping (`max_norm`), over all parameters at once.

use std::ops::Range;

use crate::{device::Device, error::EngineError, params::Params, tensor::Tensor};

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

/// The running moments of all parameters.
#[derive(Debug)]
pub struct Moments {
    /// Averages of gradients, flat like the parameters; for hidden matrices under Muon, their momentum.
    pub first: Tensor,
    /// Averages of squared gradients; zero for hidden matrices under Muon.
    pub second: Tensor,
}

impl Moments {
    /// Before the first step.
    pub fn zeros(params: &Params) -> Result<Self, EngineError> {
        let device = params.device();
        let length = params.layout().len();
        let fresh = || Tensor::zeros(device, params.dtype(), &[length]);
        Ok(Self { first: fresh()?, second: fresh()? })
    }
}

/// Where each number of a [`StepScalars`] is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Rate,
    FirstCorrection,
    SecondCorrection,
    Momentum,
}

/// What changes from one step to the next, as a tensor, so that a recorded step can be replayed with it.
#[derive(Clone, Debug)]
pub struct StepScalars {
    /// \[rate, 1 - b1^t, 1 - b2^t, momentum\], by [`Slot`].
    pub(crate) numbers: Tensor,
}

impl StepScalars {
    /// The scalars of step `number` (from one): a learning rate, and the momentum of an EMA of parameters.
    pub fn new(
        device: &Device,
        settings: &AdamW,
        number: u64,
        rate: f64,
        momentum: f64,
    ) -> Result<Self, EngineError> {
        let numbers = Self::numbers(settings, number, rate, momentum);
        Ok(Self { numbers: Tensor::from_slice(device, &[numbers.len()], &numbers)? })
    }

    /// Becomes the scalars of another step, for work that was recorded with them.
    pub fn change(
        &mut self,
        settings: &AdamW,
        number: u64,
        rate: f64,
        momentum: f64,
    ) -> Result<(), EngineError> {
        self.numbers.overwrite(&Self::numbers(settings, number, rate, momentum))
    }

    fn numbers(settings: &AdamW, number: u64, rate: f64, momentum: f64) -> [f32; 4] {
        let correction = |beta: f64| 1.0 - beta.powf(number as f64);
        let [first, second] = settings.betas.map(correction);
        [rate, first, second, momentum].map(|x| x as f32)
    }
}

/// What an update applies to, and how far it may go.
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// The step's learning rate and corrections.
    pub scalars: &'a StepScalars,
    /// Gradient clipping: the largest norm of all gradients; longer ones are scaled down to it.
    pub max_norm: f64,
    /// The paths that are trained; what lies elsewhere is not touched, not even by decay.
    pub paths: &'a [&'a str],
    /// The hidden matrices that Muon takes here, as [`Layout::hidden_shares`](crate::Layout::hidden_shares) shares them
    /// out; all of them if none. Whoever else has the same gradients takes the others, which keep their values here
    /// while their momentum goes on.
    pub share: Option<&'a [Range<usize>]>,
}
