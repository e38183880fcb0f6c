//! The best linear estimate of fields from sensors, learned from records: gappy POD with a Gaussian posterior, or
//! kriging with a covariance that is measured instead of assumed.
//!
//! A [`LinearFit`] holds what records of any problem have in common: their mean m, the r directions in which they vary
//! most (POD modes, the principal components of both fields together) and, for every pixel, the standard deviation d of
//! what these leave out. As a
//! [`LinearPrior`] it is a Gaussian distribution of both fields,
//!
//! ```text
//! x = m + B z + d e,    x = [a, u],  B [2 H W, r] modes times their standard deviations,  z and e standard normal
//! ```
//!
//! which any sensors of either field, on pixels or between them, with any noise, turn into a posterior:
//! [`scope_exact::Posterior`] has its mean, standard deviations, samples, tests of the readings and placement.

mod calibration_records;
mod equal_fields;
mod error;
mod fit;
mod fit_file;
mod fresh_records;
mod many_sensors;
mod observation_model;
mod orthonormal;
mod prior;
mod product;
mod records;
mod sensor_rows;
mod subspace;

pub use error::LinearError;
pub use fit::{FitOptions, FitProgress, FitStage, LinearFit, fit, fit_records};
pub use fit_file::{About, FORMAT_VERSION, MOST_MODES, Source};
pub use fresh_records::FreshRecords;
pub use prior::LinearPrior;
pub use records::{RecordArray, Records};
