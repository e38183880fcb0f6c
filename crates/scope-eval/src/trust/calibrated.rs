//! What fresh records say of one set of sensors.

use scope_data::PerChannel;
use serde::Serialize;

/// What was measured on fresh records of the problem's own solver, seen by someone's very sensors with their noise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// The number of fresh records.
    pub records: usize,
    /// The mean relative L2 errors of a and u, in percent; none where no record has any.
    pub error_percent: PerChannel<Option<f64>>,
    /// The largest distance of a recovery from its measurements among them, in percent, of each measured channel.
    #[serde(skip)]
    pub largest_misfit_percent: PerChannel<Option<f64>>,
    /// The largest noise that their readings looked like, in physical units, of each measured channel.
    #[serde(skip)]
    pub largest_noise: PerChannel<Option<f64>>,
}
