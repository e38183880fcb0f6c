//! The units that an auxiliary operator counts in, fitted to the first records of its training set.

use rayon::prelude::*;
use scope_data::{DataError, Dataset, PerChannel};
use scope_model::operators::ChannelUnits;

/// The most records that the paper fits units to: all of the cylinder's, and 49,000 of the other problems' 50,000.
const RECORDS: usize = 49_000;

/// Mean and standard deviation of each channel in stored coordinates, over all pixels of the first records.
pub(super) fn fit(data: &Dataset) -> Result<PerChannel<ChannelUnits>, DataError> {
    let meta = data.meta();
    let released = meta.pde.descriptor().distribution.released().map_or(RECORDS, |released| released.records);
    let records = released.min(RECORDS).min(data.len());
    let sums = (0..records).into_par_iter().map(|record| {
        let pair = data.pair(record)?;
        Ok(pair.fields().map(|field| {
            let sum = |power: i32| field.iter().map(|x| f64::from(*x).powi(power)).sum::<f64>();
            [sum(1), sum(2)]
        }))
    });
    let sums = sums.collect::<Result<Vec<PerChannel<[f64; 2]>>, DataError>>()?;
    let count = (records * meta.resolution.points()) as f64;
    Ok(PerChannel::from_fn(|channel| {
        let total = |power: usize| sums.iter().map(|record| record[channel][power]).sum::<f64>();
        let mean = total(0) / count;
        let variance = total(1) / count - mean * mean;
        ChannelUnits { mean, deviation: variance.max(0.0).sqrt() }
    }))
}
