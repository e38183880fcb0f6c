//! What can go wrong in a solver.

use thiserror::Error;

use crate::{grid_shape::GridShape, problem_spec::ProblemSpecError, registry::RegistryError};

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
        /// The name of the solver.
        solver: &'static str,
        /// The number of iterations done.
        iterations: usize,
        /// The relative residual reached.
        residual: f64,
        /// The relative residual wanted.
        tolerance: f64,
    },
    /// A time integration left the range of numbers.
    #[error("{solver} produced a value that is not finite at time {time:.4}")]
    BlowUp {
        /// The name of the solver.
        solver: &'static str,
        /// The simulated time.
        time: f64,
    },
    /// A grid that a problem's fields do not have.
    #[error("a grid of {got}, and {name} has one of {expected}: they must be the same")]
    OtherGrid {
        /// The problem.
        name: &'static str,
        /// The only grid of the problem.
        expected: GridShape,
        /// The grid that was given.
        got: GridShape,
    },
    /// A rectangle where solvers make squares.
    #[error("a grid of {0}, and a problem with a solver has a square one")]
    NotSquare(GridShape),
    /// A problem of which there are records only.
    #[error("{0} has no solver, so no fresh records can be made: records of one's own are imported")]
    NoSolver(&'static str),
    /// What a file states cannot be a problem.
    #[error("{0}")]
    Spec(#[from] ProblemSpecError),
    /// Two problems of one name.
    #[error(
        "there is another problem called '{0}': give this one a name of its own, or make both the same in every word"
    )]
    SameName(String),
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
