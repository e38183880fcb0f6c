//! The Gaussian prior of a problem, for the exact posterior.

use crate::{elliptic::Elliptic, navier_stokes::NavierStokes};

/// The Gaussian random field that a problem starts from and how u follows from it, planned on S x S points.
#[derive(Clone, Copy, Debug)]
pub enum GaussianPrior {
    /// a is the field, but for its edge, and u a linear function of it: sensors of both have an exact posterior.
    Linear(fn(usize) -> Elliptic),
    /// a is the field, and u is what it is carried to: sensors of a have an exact posterior.
    InitialState(fn(usize) -> NavierStokes),
    /// There is none, and why: "its flow is not linear".
    None(&'static str),
}
