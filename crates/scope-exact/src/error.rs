//! Why a posterior could not be computed.

use scope_pde::{GridShape, Pde, PdeError};
use thiserror::Error;

/// Why a posterior of sensors, exact or under any other prior, could not be computed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PosteriorError {
    /// A problem without an exact posterior: it is not linear with a Gaussian prior.
    #[error(
        "{pde} has no exact posterior: {why}; use a trained network, or one of poisson, helmholtz and ns"
    )]
    NoPosterior {
        /// The problem.
        pde: Pde,
        /// What stands in the way.
        why: &'static str,
    },
    /// Sensors of a response that is not linear.
    #[error(
        "sensors of u have no exact posterior for {0}, whose u is not a linear function of a: give sensors of a only, \
         or use a trained network"
    )]
    NonlinearSensors(Pde),
    /// A response that is not linear is to be known well.
    #[error("sensors cannot be placed for u of {0}, which is not a linear function of a: place them for a")]
    NonlinearTarget(Pde),
    /// Too many sensors to place others beside them.
    #[error("{0} sensors are too many to place others beside them: expected 4096 at most")]
    TooManyPlaced(usize),
    /// A grid that the fields do not exist on.
    #[error("resolution {0} is not supported: expected an even number from 8 to 4096")]
    Resolution(usize),
    /// A reading that is not on the grid.
    #[error("reading {reading} lies at ({}, {}), outside the {grid} grid", at[0], at[1])]
    Outside {
        /// Which reading, from 0.
        reading: usize,
        /// Its place, in pixels along each axis.
        at: [f64; 2],
        /// Points along each axis.
        grid: GridShape,
    },
    /// A reading that is NaN or infinite.
    #[error("reading {0} has a value that is not finite")]
    NotFinite(usize),
    /// A noise that is no standard deviation.
    #[error("a noise of {0} makes no sense: expected a standard deviation, zero or positive and finite")]
    Noise(f64),
    /// Sensors whose covariance no noise floor makes definite.
    #[error("the covariance of {0} sensors could not be factored: are their values of very different size?")]
    NotDefinite(usize),
    /// Work that was stopped by who heard of its progress.
    #[error("interrupted")]
    Interrupted,
    /// The solver of Navier-Stokes failed.
    #[error(transparent)]
    Solver(#[from] PdeError),
}
