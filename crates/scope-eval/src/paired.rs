//! Two methods on the same records and masks.

use std::cmp::Reverse;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use scope_data::observation::Condition;
use scope_model::Measure;
use serde::Serialize;

use crate::{
    error::EvalError,
    results::Record,
    summary::{deviation, mean},
};

/// Resamples of a bootstrap interval, and the share of them that it holds.
const RESAMPLES: usize = 10_000;
const COVERAGE: f64 = 0.95;

/// Differences d = e(A) - e(B), record by record; negative ones favour A.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// Records that both have a value for.
    pub count: usize,
    /// Records left out, as a zero target has no relative error.
    pub undefined: usize,
    /// The mean of d, in percentage points.
    pub difference: f64,
    /// The standard deviation of d.
    pub sd: f64,
    /// The mean over its standard error. It describes fixed models on these records, not training anew.
    pub t: f64,
    /// The share of records with d < 0, in percent.
    pub improved: f64,
    /// A 95% percentile interval of the mean from 10,000 resamples of the records.
    pub interval: [f64; 2],
}

impl Paired {
    /// The statistics of two values a record.
    pub fn of(a: &[Option<f64>], b: &[Option<f64>]) -> Option<Self> {
        let differences: Vec<f64> = a.iter().zip(b).filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
        let count = differences.len();
        let difference = mean(&differences)?;
        if count < 2 {
            return None;
        }
        let sd = deviation(&differences, difference);
        let better = differences.iter().filter(|d| **d < 0.0).count();
        Some(Self {
            count,
            undefined: a.len() - count,
            difference,
            sd,
            t: if sd > 0.0 { difference / (sd / (count as f64).sqrt()) } else { 0.0 },
            improved: 100.0 * better as f64 / count as f64,
            interval: bootstrap(&differences),
        })
    }
}

/// The percentile interval of the mean. The stream is always the same: an interval is a function of the differences.
fn bootstrap(differences: &[f64]) -> [f64; 2] {
    let mut stream = ChaCha8Rng::seed_from_u64(differences.len() as u64);
    let count = differences.len() as u64;
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            // The high half of a 64 by 64 bit product is uniform below the count to within 2^-32.
            let pick = |word: u32| ((u64::from(word) * count) >> 32) as usize;
            let sum: f64 = (0..count).map(|_| differences[pick(stream.next_u32())]).sum();
            sum / count as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - COVERAGE) / 2.0;
    [tail, 1.0 - tail].map(|share| means[(share * (RESAMPLES - 1) as f64).round() as usize])
}

/// Compares two evaluations under one condition, for one measure. Only what was measured on the same records under the
/// same masks can be compared.
pub fn compare(a: &Record, b: &Record, condition: Condition, measure: Measure) -> Result<Paired, EvalError> {
    require_match(a, b, condition)?;
    let values = |record: &Record, which: &str| {
        let found = record.values.get(&condition).and_then(|measures| measures.get(&measure)).cloned();
        found.ok_or_else(|| {
            EvalError::Mismatch(format!("the {which} evaluation has no \"{measure}\" under {condition}"))
        })
    };
    Paired::of(&values(a, "first")?, &values(b, "second")?).ok_or_else(|| {
        EvalError::Mismatch("fewer than two records have a value in both evaluations".to_owned())
    })
}

/// Of the evaluations of two methods the pair that can be compared under a condition, the one with the most records; if
/// there is none, why the largest two cannot.
pub fn matching<'a>(
    first: &'a [Record],
    second: &'a [Record],
    condition: Condition,
) -> Result<(&'a Record, &'a Record), EvalError> {
    let covering = |records: &'a [Record]| {
        let has = |record: &&Record| record.results.conditions.contains_key(&condition);
        let mut found: Vec<&Record> = records.iter().filter(has).collect();
        // Noisy readings are compared where there are no exact ones.
        found.sort_by_key(|record| {
            let identity = &record.results.identity;
            (identity.masks.noise.is_some(), Reverse(identity.records))
        });
        found
    };
    let first = covering(first);
    let second = covering(second);
    let mut refusal = None;
    // A pair has the same number of records on both sides, so the first that matches is the largest.
    for (a, b) in first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b))) {
        match require_match(a, b, condition) {
            Ok(()) => return Ok((a, b)),
            Err(why) => _ = refusal.get_or_insert(why),
        }
    }
    let uncovered = || EvalError::Mismatch(format!("{condition} is not covered by both evaluations"));
    Err(refusal.unwrap_or_else(uncovered))
}

fn require_match(a: &Record, b: &Record, condition: Condition) -> Result<(), EvalError> {
    let refuse = |what: &str, a: &str, b: &str| {
        Err(EvalError::Mismatch(format!(
            "the two evaluations differ in their {what} ({a} and {b}): only the same records under the same masks can be \
             compared; evaluate both on one data set with the same seed, limit and noise"
        )))
    };
    let [first, second] = [a, b].map(|record| &record.results.identity);
    if first.pde != second.pde {
        return refuse("problem", first.pde.name(), second.pde.name());
    }
    if first.data.blake3 != second.data.blake3 {
        return refuse(
            "records",
            &first.data.blake3[..12.min(first.data.blake3.len())],
            &second.data.blake3[..12.min(second.data.blake3.len())],
        );
    }
    if first.records != second.records {
        return refuse("number of records", &first.records.to_string(), &second.records.to_string());
    }
    let noise = [first, second]
        .map(|identity| identity.masks.noise.map_or([0.0; 2], |noise| noise.levels.into_array()));
    if noise[0] != noise[1] {
        return refuse("noise", &format!("{:?}", noise[0]), &format!("{:?}", noise[1]));
    }
    let masks = [first, second].map(|identity| identity.masks.blake3.get(&condition));
    match masks {
        [Some(first), Some(second)] if first == second => Ok(()),
        [Some(_), Some(_)] => {
            refuse("masks", &format!("seed {}", first.masks.seed), &format!("seed {}", second.masks.seed))
        }
        [None, _] => Err(EvalError::Mismatch(format!("the first evaluation does not cover {condition}"))),
        [_, None] => Err(EvalError::Mismatch(format!("the second evaluation does not cover {condition}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_summed_up_as_the_paper_does() {
        let a = [Some(1.0), Some(2.0), None, Some(4.0), Some(1.5)];
        let b = [Some(2.0), Some(1.5), Some(9.0), Some(6.0), Some(2.0)];
        // d = -1, 0.5, -2, -0.5: the mean is -0.75, the squares about it 0.0625 + 1.5625 + 1.5625 + 0.0625 = 3.25.
        let paired = Paired::of(&a, &b).unwrap();
        assert_eq!((paired.count, paired.undefined, paired.difference, paired.improved), (4, 1, -0.75, 75.0));
        let sd = (3.25_f64 / 3.0).sqrt();
        assert!((paired.sd - sd).abs() < 1e-15 && (paired.t + 0.75 / (sd / 2.0)).abs() < 1e-14);
        assert!(paired.interval[0] < -0.75 && paired.interval[1] > -0.75);
    }

    #[test]
    fn swapping_the_methods_changes_the_sign() {
        let values = |seed: u64| -> Vec<Option<f64>> {
            (0..50).map(|k| Some(((k * seed + 7) % 11) as f64 / 3.0)).collect()
        };
        let a = values(3);
        let b = values(5);
        let ab = Paired::of(&a, &b).unwrap();
        let ba = Paired::of(&b, &a).unwrap();
        assert_eq!((ab.difference, ab.t), (-ba.difference, -ba.t));
        assert_eq!(ab, Paired::of(&a, &b).unwrap(), "the same every time");
        assert_eq!(Paired::of(&a[..1], &b[..1]), None);
    }

    #[test]
    fn the_interval_has_the_width_of_the_normal_one() {
        let d: Vec<Option<f64>> = (0..2000).map(|k| Some((f64::from(k) * 0.731).sin())).collect();
        let paired = Paired::of(&d, &vec![Some(0.0); 2000]).unwrap();
        let half = 1.96 * paired.sd / 2000_f64.sqrt();
        let expected = [paired.difference - half, paired.difference + half];
        assert!(paired.interval.iter().zip(expected).all(|(got, wanted)| (got - wanted).abs() < 0.05 * half));
    }
}
