//! Means and deviations with their standard errors.
//!
//! Pixels of a record are correlated, records are not: every error comes from the spread of per-record
//! figures.

use rayon::prelude::*;
use serde::Serialize;

use super::{
    MIN_RECORDS,
    reference::{ChannelReference, Reference},
};
use crate::{Channel, Scaling, dataset::Dataset, error::DataError};

/// A figure of the set beside what it should be.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The set's own value.
    pub value: f64,
    /// The standard error of the difference to the reference, or of the value where there is none; not told of too few
    /// records.
    pub standard_error: Option<f64>,
    /// What it should be, where that is known.
    pub reference: Option<Reference>,
    /// (value - reference) in combined standard errors.
    pub z: Option<f64>,
}

/// The statistics of one channel, physical units.
#[derive(Clone, Debug, Serialize)]
pub struct ChannelReport {
    /// "a" or "u".
    pub channel: &'static str,
    /// The mean over all pixels and records.
    pub mean: Estimate,
    /// The standard deviation about the reference mean, or about the mean where there is none.
    pub deviation: Estimate,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub greatest: f64,
    /// The released records' least and greatest values.
    pub released_extremes: Option<[f64; 2]>,
    /// How many records are zero everywhere.
    pub zero_records: usize,
}

/// Per-record sums about a centre.
struct RecordFigures {
    mean: f64,
    mean_square: f64,
    least: f64,
    greatest: f64,
}

/// Measures a channel.
pub(super) fn measure(
    set: &Dataset,
    channel: Channel,
    expected: &ChannelReference,
) -> Result<ChannelReport, DataError> {
    let meta = set.meta().channel(channel);
    let scaling = meta.scaling();
    // Centring on the constants first keeps the sums free of cancellation.
    let figures = |index: usize| Ok(of_record(set.pair(index)?.field(channel), scaling));
    let figures =
        (0..set.len()).into_par_iter().map(figures).collect::<Result<Vec<RecordFigures>, DataError>>()?;
    let means: Vec<f64> = figures.iter().map(|figure| figure.mean).collect();
    let mean = average(&means);
    let centre = expected.mean.map_or(mean, |reference| reference.value - scaling.mean);
    // E (x - c)^2 = E x^2 - 2 c E x + c^2, record by record.
    let squares: Vec<f64> =
        figures.iter().map(|f| f.mean_square - 2.0 * centre * f.mean + centre * centre).collect();
    let deviation = average(&squares).max(0.0).sqrt();
    let deviation_error =
        standard_error(&squares).map(|error| error / (2.0 * deviation.max(f64::MIN_POSITIVE)));
    Ok(ChannelReport {
        channel: channel.name(),
        mean: compare(scaling.mean + mean, standard_error(&means), expected.mean, set.len(), scaling.sigma),
        deviation: compare(deviation, deviation_error, expected.deviation, set.len(), scaling.sigma),
        least: figures.iter().fold(f64::INFINITY, |least, f| least.min(f.least)),
        greatest: figures.iter().fold(f64::NEG_INFINITY, |greatest, f| greatest.max(f.greatest)),
        released_extremes: expected.extremes,
        zero_records: meta.zero_records.len(),
    })
}

/// Figures of x - mean, with extremes of x.
fn of_record(stored: &[f32], scaling: Scaling) -> RecordFigures {
    let mut sum = 0.0;
    let mut squares = 0.0;
    let mut least = f32::INFINITY;
    let mut greatest = f32::NEG_INFINITY;
    for &x in stored {
        let centred = 2.0 * scaling.sigma * f64::from(x);
        sum += centred;
        squares += centred * centred;
        least = least.min(x);
        greatest = greatest.max(x);
    }
    let n = stored.len() as f64;
    RecordFigures {
        mean: sum / n,
        mean_square: squares / n,
        least: scaling.physical(least),
        greatest: scaling.physical(greatest),
    }
}

/// Rounding to single precision moves a figure by about this share of sigma; less is no difference.
const ROUNDING: f64 = 1e-6;

fn compare(
    value: f64,
    error: Option<f64>,
    reference: Option<Reference>,
    count: usize,
    sigma: f64,
) -> Estimate {
    let (Some(known), Some(error)) = (reference, error) else {
        return Estimate { value, standard_error: error, reference, z: None };
    };
    // The reference has the same spread per record, over its own number of records.
    let shared = known.records.map_or(0.0, |records| count as f64 / records as f64);
    let standard_error = error * (1.0 + shared).sqrt();
    let difference = value - known.value;
    let z = if difference.abs() <= ROUNDING * sigma { 0.0 } else { difference / standard_error };
    Estimate { value, standard_error: Some(standard_error), reference, z: Some(z) }
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The standard error of the mean of independent values; too few do not tell it.
fn standard_error(values: &[f64]) -> Option<f64> {
    let mean = average(values);
    let n = values.len() as f64;
    let squares = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    (values.len() >= MIN_RECORDS).then(|| (squares / (n - 1.0) / n).sqrt())
}
