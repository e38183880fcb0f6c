//! What can go wrong in a solver.

use thiserror::Error;

use crate::registry::RegistryError;

/// An error of this crate.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PdeError {
    /// The grid is too small, too large or of odd size.
    #[error(
        "resolution {0} is not supported: expected an even number from {min} to {max}",
        min = crate::MIN_RESOLUTION,
        max = crate::MAX_RESOLUTION
    )]
    Resolution(usize),
    /// A linear solve stopped short of its tolerance.
    #[error(
        "{solver} stopped after {iterations} iterations at relative residual {residual:.1e}, expected {tolerance:.0e}"
    )]
    NotConverged {
        /// Which solver.
        solver: &'static str,
        /// Iterations done.
        iterations: usize,
        /// The relative residual reached.
        residual: f64,
        /// The relative residual wanted.
        tolerance: f64,
    },
    /// A time integration left the range of numbers.
    #[error("{solver} produced a value that is not finite at time {time:.4}")]
    BlowUp {
        /// Which solver.
        solver: &'static str,
        /// The simulated time.
        time: f64,
    },
    /// A problem cannot be declared.
    #[error("the problem cannot be declared: {0}")]
    Declaration(#[from] RegistryError),
    /// A name that is no PDE or split.
    #[error("unknown {kind} '{name}': expected one of {expected}")]
    UnknownName {
        /// What was being named.
        kind: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        expected: String,
    },
}
