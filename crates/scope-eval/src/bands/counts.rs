//! How often errors of each size occurred, and the size that holds a share of them.

use std::ops::Range;

/// Buckets of |error| for each doubling: a quantile is right to within 0.3%, on the wide side.
const BUCKETS_PER_DOUBLING: f64 = 256.0;
/// Doublings that are told apart.
const DOUBLINGS: Range<f64> = -40.0..24.0;

/// Counts sizes of errors, record by record. Counting is exact: the order of records does not matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    records: u64,
    total: u64,
    buckets: Vec<u64>,
}

impl Counts {
    /// The counts of one record's errors. Records of one count must have equally many.
    pub(crate) fn of_record(errors: impl IntoIterator<Item = f64>) -> Self {
        let mut counts = Self { records: 1, ..Self::default() };
        for error in errors {
            let bucket = bucket(error.abs());
            if counts.buckets.len() <= bucket {
                counts.buckets.resize(bucket + 1, 0);
            }
            counts.buckets[bucket] += 1;
            counts.total += 1;
        }
        counts
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.total += other.total;
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(own, other)| *own += other);
    }

    /// The half-width that holds a share `level` of a fresh record's errors, on average over which of n + 1
    /// exchangeable records is the fresh one. For this it must hold a share of level (n + 1) / n of the n records'
    /// errors, as if all errors of the fresh one were larger. None with so few records that no width is wide enough.
    ///
    /// (Conformal risk control. Let the width be w' if the fresh record is counted too: over all n + 1 it then holds a
    /// share of at least `level`. Without it, and with its errors taken for larger, it is no narrower than w'.)
    pub(crate) fn half_width(&self, level: f64) -> Option<f64> {
        let wanted = (level * (self.records + 1) as f64 / self.records as f64 * self.total as f64).ceil();
        let mut reached = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            reached += count;
            if reached as f64 >= wanted {
                return Some(upper_end(bucket));
            }
        }
        None
    }
}

/// Bucket 0 holds what is smaller than anything told apart, zero included.
fn bucket(error: f64) -> usize {
    let doubling = error.log2().clamp(DOUBLINGS.start, DOUBLINGS.end);
    ((doubling - DOUBLINGS.start) * BUCKETS_PER_DOUBLING).ceil() as usize
}

fn upper_end(bucket: usize) -> f64 {
    (bucket as f64 / BUCKETS_PER_DOUBLING + DOUBLINGS.start).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn widths_are_quantiles_of_the_errors() {
        let mut counts = Counts::default();
        (0..100)
            .for_each(|n| counts.merge(&Counts::of_record((1..=100).map(|k| f64::from(n * 100 + k) / 1e6))));
        for level in [0.1, 0.5, 0.95] {
            let ratio = counts.half_width(level).unwrap() / (level * 1.01e-2);
            assert!((0.999..1.004).contains(&ratio), "{ratio}");
        }
        assert_eq!(counts.half_width(0.995), None, "a hundred records cannot tell");
    }

    /// Errors of records whose sizes differ as wildly as they like.
    fn records() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (2..30_usize, 1..12_usize).prop_flat_map(|(records, pixels)| {
            let size = prop_oneof![Just(0.0), 1e-3..1.0, 1.0..1e4];
            prop::collection::vec(prop::collection::vec(size, pixels), records)
        })
    }

    proptest! {
        /// The finite-sample guarantee, for any errors at all: leave out each of n + 1 records in turn, and the widths
        /// of the other n hold at least the stated share of what was left out, on average.
        #[test]
        fn records_left_out_are_covered_as_stated(records in records(), level in 0.05..0.95_f64) {
            let counts: Vec<Counts> =
                records.iter().map(|errors| Counts::of_record(errors.iter().copied())).collect();
            let pixels = records[0].len() as f64;
            let mut covered = 0.0;
            for (left_out, errors) in records.iter().enumerate() {
                let mut others = Counts::default();
                counts.iter().enumerate().filter(|(k, _)| *k != left_out).for_each(|(_, c)| others.merge(c));
                let width = others.half_width(level).unwrap_or(f64::INFINITY);
                covered += errors.iter().filter(|error| **error <= width).count() as f64 / pixels;
            }
            let share = covered / records.len() as f64;
            prop_assert!(share >= level - 1e-12, "{share} of {level}");
        }
    }
}
