//! The Gaussian prior of a problem, for the exact posterior.

use crate::{
    channel::{Channel, PerChannel},
    elliptic::Elliptic,
    navier_stokes::NavierStokes,
};

/// The Gaussian random field that a problem starts from and how u follows from it, planned on S x S points.
#[derive(Clone, Copy, Debug)]
pub enum GaussianPrior {
    /// a is the field, but for its edge, and u a linear function of it: sensors of both have an exact posterior.
    Linear {
        /// Plans the solver on S x S points.
        plan: fn(usize) -> Elliptic,
        /// What the exact posterior has been measured to have.
        errors: &'static [ExactErrors],
    },
    /// a is the field, and u is what it is carried to: sensors of a have an exact posterior.
    InitialState(fn(usize) -> NavierStokes),
    /// There is none, and why: "its flow is not linear".
    None(&'static str),
}

/// Mean relative L2 errors of the exact posterior on fresh records under one condition, exact readings on 128 x 128
/// points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactErrors {
    /// The name of the condition; its layout is uniform.
    pub condition: &'static str,
    /// How many records there were.
    pub records: usize,
    /// Mean errors of a and u, in percent.
    pub percent: PerChannel<f64>,
}

impl ExactErrors {
    /// Errors of a and u under a condition.
    pub const fn of(condition: &'static str, records: usize, a: f64, u: f64) -> Self {
        Self { condition, records, percent: PerChannel { a, u } }
    }
}

impl GaussianPrior {
    /// Whether u is linear in a, so that both are Gaussian and any multiple of a solution is one.
    pub fn is_linear(self) -> bool {
        matches!(self, GaussianPrior::Linear { .. })
    }

    /// Whether a field is Gaussian, so that its readings can be compared with it.
    pub fn covers(self, channel: Channel) -> bool {
        match self {
            GaussianPrior::Linear { .. } => true,
            GaussianPrior::InitialState(_) => channel == Channel::A,
            GaussianPrior::None(_) => false,
        }
    }

    /// What the exact posterior has been measured to have, where it has.
    pub fn errors(self) -> &'static [ExactErrors] {
        match self {
            GaussianPrior::Linear { errors, .. } => errors,
            GaussianPrior::InitialState(_) | GaussianPrior::None(_) => &[],
        }
    }
}
