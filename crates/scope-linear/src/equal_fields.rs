//! Both fields of a problem of one's own in units of how far each is from its mean.
//!
//! Modes are of both fields together, so that what is called large decides what they hold. Stored values are in units
//! of all that a field's values differ by, over pixels too: beside a known region at zero, or a steep mean, the field
//! that matters would be nothing to the modes, the more so in kelvin than in degrees Celsius.

use std::ops::Range;

use scope_data::DataError;

use crate::{
    error::LinearError,
    fit::{FitProgress, FitStage},
    records::{Records, for_each_block},
};

/// What a field's distance from its mean is on average once it is weighted, as that of stored values is.
const DEVIATION: f64 = 0.5;

/// Records whose fields are multiplied by a weight each.
pub(crate) struct EqualFields<'a> {
    records: &'a dyn Records,
    weights: [f32; 2],
}

impl<'a> EqualFields<'a> {
    /// The records as they are.
    pub(crate) fn unweighted(records: &'a dyn Records) -> Self {
        Self { records, weights: [1.0; 2] }
    }

    /// Weights by the standard deviations of some records about a mean; a field that never differs from it has none.
    pub(crate) fn measure(
        records: &'a dyn Records,
        range: Range<usize>,
        mean: &[f32],
        progress: &FitProgress,
    ) -> Result<Self, LinearError> {
        let half = records.record_length() / 2;
        let total = range.len();
        let mut sums = [0.0_f64; 2];
        let mut take = |first: usize, block: &[f32]| {
            for (k, field) in block.chunks_exact(half).enumerate() {
                sums[k % 2] += field.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
            }
            progress.go_on(FitStage::Mean, first + block.len() / (2 * half), total)
        };
        progress.require(for_each_block(records, range, mean, &mut take)?)?;
        let weights = sums.map(|sum| {
            let deviation = (sum / (total * half) as f64).sqrt();
            if deviation > 0.0 { (DEVIATION / deviation) as f32 } else { 1.0 }
        });
        Ok(Self { records, weights })
    }

    /// Multiplies numbers of both fields, those of a before those of u, by the weights.
    pub(crate) fn weigh(&self, values: &mut [f32]) {
        scale_halves(values, self.weights);
    }

    /// Undoes that.
    pub(crate) fn unweigh(&self, values: &mut [f32]) {
        scale_halves(values, self.weights.map(f32::recip));
    }
}

fn scale_halves(values: &mut [f32], factors: [f32; 2]) {
    let half = values.len() / 2;
    for (part, factor) in values.chunks_exact_mut(half.max(1)).zip(factors) {
        if factor != 1.0 {
            part.iter_mut().for_each(|x| *x *= factor);
        }
    }
}

impl Records for EqualFields<'_> {
    fn count(&self) -> usize {
        self.records.count()
    }

    fn record_length(&self) -> usize {
        self.records.record_length()
    }

    fn read(&self, first: usize, values: &mut [f32]) -> Result<(), DataError> {
        self.records.read(first, values)?;
        values.chunks_exact_mut(self.record_length()).for_each(|record| self.weigh(record));
        Ok(())
    }
}
