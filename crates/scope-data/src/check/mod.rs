//! Is a set what it claims to be? Statistics against what is known of the distribution, and laws that each
//! record must obey.

mod laws;
mod reference;
mod statistics;

pub use laws::Law;
pub use reference::{Reference, Source};
use serde::Serialize;
pub use statistics::{ChannelReport, Estimate};

use crate::{dataset::Dataset, error::DataError, pair::Channel};

/// A deviation of more than this many standard errors is no accident.
pub const Z_LIMIT: f64 = 4.0;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The statistics of a, then u.
    pub channels: Vec<ChannelReport>,
    /// The laws of the problem.
    pub laws: Vec<Law>,
    /// What is worth knowing and no fault.
    pub notes: Vec<String>,
    /// What is wrong, in sentences; empty when nothing is.
    pub faults: Vec<String>,
}

/// Checks every byte against its hash, then statistics and laws. Faults are in the report; an error means
/// that the set could not be checked.
pub fn check(set: &Dataset) -> Result<CheckReport, DataError> {
    if set.is_empty() {
        return Err(DataError::malformed(set.folder(), "dataset", "it has no records to check"));
    }
    set.verify()?;
    let expected = reference::expected(set.meta());
    let measure = |(channel, expected)| statistics::measure(set, channel, expected);
    let channels: Vec<ChannelReport> = Channel::BOTH.into_iter().zip(&expected).map(measure).collect();
    let laws = laws::test(set);
    let mut faults = Vec::new();
    for channel in &channels {
        for (figure, estimate) in [("mean", &channel.mean), ("standard deviation", &channel.deviation)] {
            if estimate.z.is_some_and(|z| z.is_nan() || z.abs() > Z_LIMIT) {
                faults.push(format!(
                    "the {figure} of {} is {:.6e}, {:+.1} standard errors from what is expected",
                    channel.channel,
                    estimate.value,
                    estimate.z.unwrap_or(f64::NAN)
                ));
            }
        }
    }
    for law in laws.iter().filter(|law| !law.holds()) {
        faults.push(format!("{}: {:.2e} at worst, the limit is {:.0e}", law.name, law.worst, law.limit));
    }
    Ok(CheckReport { channels, laws, notes: laws::notes(set), faults })
}
