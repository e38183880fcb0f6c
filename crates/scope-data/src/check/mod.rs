//! Is a set what it claims to be? Statistics against what is known of the distribution, and laws that each
//! record must obey.

mod laws;
mod reference;
mod statistics;

pub use laws::LawReport;
pub use reference::{Reference, Source};
use serde::Serialize;
pub use statistics::{ChannelReport, Estimate};

use crate::{Channel, dataset::Dataset, error::DataError, significant};

/// With fewer records there are no statistics: the spread between them, which standard errors come from, is hardly
/// known.
const MIN_RECORDS: usize = 10;

/// A deviation of more than this many standard errors is no accident; none is told of fewer than ten records.
///
/// 4, and more for few records: their spread is itself uncertain, and small where the deviation came out small. In
/// 100,000 sets of each number of records, drawn from 20,000 or more of each problem, the 999th of a thousand had a
/// largest |z| of 8.9 with 10 records, 5.8 with 20, 4.8 with 40, 4.2 with 100 and 3.9 with 150 (the cylinder; other
/// problems had less). So fewer than one right set in a thousand is called wrong.
pub fn z_limit(records: usize) -> Option<f64> {
    (records >= MIN_RECORDS).then(|| 4.0 + 50.0 / records as f64)
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// The statistics of a, then u, of fields that there are.
    pub channels: Vec<ChannelReport>,
    /// The largest |z| that is no fault; none if there are too few records for statistics.
    pub z_limit: Option<f64>,
    /// The laws of the problem.
    pub laws: Vec<LawReport>,
    /// What is worth knowing and no fault.
    pub notes: Vec<String>,
    /// What is wrong, in sentences; empty when nothing is.
    pub faults: Vec<String>,
}

impl CheckReport {
    /// Whether anything but bytes is compared: of a problem of one's own nothing is known that its records should have.
    pub fn compares(&self) -> bool {
        let known = |estimate: &Estimate| estimate.reference.is_some();
        !self.laws.is_empty()
            || self.channels.iter().any(|channel| known(&channel.mean) || known(&channel.deviation))
    }
}

/// Checks every byte against its hash, then statistics and laws. Faults are in the report; an error means
/// that the set could not be checked.
pub fn check(set: &Dataset) -> Result<CheckReport, DataError> {
    if set.is_empty() {
        return Err(DataError::Empty(set.folder().to_owned()));
    }
    set.verify()?;
    let expected = reference::expected(set.meta());
    let measure = |channel| statistics::measure(set, channel, &expected[channel]);
    let present = set.meta().pde.present();
    let channels = Channel::BOTH.into_iter().filter(|channel| present[*channel]).map(measure);
    let channels = channels.collect::<Result<Vec<ChannelReport>, DataError>>()?;
    let laws = laws::test(set)?;
    let z_limit = z_limit(set.len());
    let mut faults = z_limit.map_or(Vec::new(), |limit| far_off(&channels, limit));
    for law in laws.iter().filter(|law| !law.holds()) {
        faults.push(format!(
            "{}: {} at worst, the limit is {}",
            law.name,
            significant(law.worst, 3),
            significant(law.limit, 1)
        ));
    }
    let mut notes = laws::notes(set)?;
    if z_limit.is_none() {
        let checked = if laws.is_empty() { "" } else { "; only the laws were checked" };
        notes.push(format!(
            "too few records for statistics: {}, at least {MIN_RECORDS} are needed{checked}",
            set.len()
        ));
    }
    Ok(CheckReport { channels, z_limit, laws, notes, faults })
}

/// The figures that are no accident.
fn far_off(channels: &[ChannelReport], limit: f64) -> Vec<String> {
    let figures = channels.iter().flat_map(|channel| {
        [("mean", channel, &channel.mean), ("rms deviation", channel, &channel.deviation)]
    });
    let fault = |(figure, channel, estimate): (&str, &ChannelReport, &Estimate)| {
        let z = estimate.z.filter(|z| z.is_nan() || z.abs() > limit)?;
        Some(format!(
            "the {figure} of {} is {}, {z:+.1} standard errors from what is expected, the limit is {limit:.1}",
            channel.channel,
            significant(estimate.value, 7)
        ))
    };
    figures.filter_map(fault).collect()
}
