//! Why fields could not be recovered, or not be written.

use std::io;

use scope_data::{DataError, frame::FrameError, observation::SensorError, sensors::SensorFileError};
use scope_eval::{EvalError, figure::FigureError};
use scope_exact::PosteriorError;
use scope_model::ModelError;
use scope_pde::{GridShape, Pde};
use thiserror::Error;

/// An error of recovering fields. Sensors are numbered from 0, in the order given.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// A network that does not recover both fields.
    #[error(
        "{0} is an operator of the auxiliary study: it predicts the hidden field from 3% of the other one, and recovers no fields \
         from sensors; name a scope model, fno, deeponet, cno or transolver"
    )]
    HiddenFieldOnly(String),
    /// Something about a network.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Sensors or a prior that have no posterior, exact or of a linear fit.
    #[error(transparent)]
    Posterior(PosteriorError),
    /// Sensors that cannot be put on the grid.
    #[error(transparent)]
    Sensors(#[from] SensorError),
    /// A value that overflows once it is scaled as fields are.
    #[error("sensor {sensor}: {}", too_large(channel, *value, *sigma))]
    TooLarge {
        /// Which sensor.
        sensor: usize,
        /// "a" or "u".
        channel: &'static str,
        /// What it measured.
        value: f64,
        /// The standard deviation of the channel.
        sigma: f64,
    },
    /// A disk for a problem without one.
    #[error("{0} has no geometry")]
    NoGeometry(Pde),
    /// Coordinates or units that cannot be.
    #[error(transparent)]
    Frame(FrameError),
    /// No sensors at all.
    #[error("there are no measurements: give at least one")]
    NothingMeasured,
    /// Error bands that could not be measured.
    #[error(transparent)]
    Bands(#[from] EvalError),
    /// Something about files, or work that was stopped.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A picture that could not be made.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// A table of places that cannot be read.
    #[error(transparent)]
    Places(#[from] SensorFileError),
    /// Sensors or fields to be placed for that the problem has not.
    #[error("{0} has no field {1}: place sensors of the other one, and for it")]
    AbsentField(Pde, &'static str),
    /// A file of places that cannot be used.
    #[error("{file}: {problem}")]
    Candidates {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A mask of places on another grid.
    #[error("the mask of places is {got} and the grid {expected}: they must be the same")]
    CandidateGrid {
        /// The mask's points along each axis.
        got: GridShape,
        /// The grid's.
        expected: GridShape,
    },
    /// A file that could not be written.
    #[error("cannot write {file}: {source}")]
    Write {
        /// The name of the file.
        file: String,
        /// Why the system refused.
        source: io::Error,
    },
}

impl From<PosteriorError> for RecoveryError {
    /// Work that was stopped is the same whatever was at work.
    fn from(error: PosteriorError) -> Self {
        match error {
            PosteriorError::Interrupted => RecoveryError::Data(DataError::Interrupted),
            other => RecoveryError::Posterior(other),
        }
    }
}

impl RecoveryError {
    /// The error in words, with names for the sensors.
    pub fn describe(&self, name: impl Fn(usize) -> String) -> String {
        match self {
            RecoveryError::Sensors(error) => error.describe(name),
            RecoveryError::TooLarge { sensor, channel, value, sigma } => {
                format!("{}: {}", name(*sensor), too_large(channel, *value, *sigma))
            }
            other => other.to_string(),
        }
    }
}

fn too_large(channel: &str, value: f64, sigma: f64) -> String {
    format!(
        "{channel} is {value:e}, too large for single precision beside the field's standard deviation of {sigma}; are the units \
         right?"
    )
}
