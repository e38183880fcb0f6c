//! Which records are held out.

use std::{collections::BTreeMap, path::Path};

use scope_pde::random::Coordinates;

use crate::{draw::Draw, error::DataError, npy::MappedArray};

/// Whole numbers from here on cannot be told apart in double precision, which arrays are read in.
const MOST_GROUP: f64 = 9_007_199_254_740_992.0;

/// Reads the group of every record: an array \[N\] of numbers.
pub(super) fn read_groups(path: &Path, count: usize) -> Result<Vec<u64>, DataError> {
    let malformed = |problem: String| {
        let remedy = "number them with numpy.unique(groups, return_inverse=True)[1]";
        DataError::malformed(path, "array of groups", format!("{problem}; {remedy}"))
    };
    let array = MappedArray::open(path)?;
    if array.header().shape != [count] {
        let got = &array.header().shape;
        return Err(malformed(format!(
            "its shape is {got:?}, expected [{count}]: the group of every record"
        )));
    }
    let group = |record: usize| {
        let value = array.value(record);
        let is_number = value.fract() == 0.0 && value.abs() < MOST_GROUP;
        is_number.then_some(value.to_bits()).ok_or_else(|| {
            malformed(format!("the group of record {record} is {value:?}: expected whole numbers below 2^53"))
        })
    };
    (0..count).map(group).collect()
}

/// What a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The record is for training.
    Train,
    /// The record is for testing.
    Test,
    /// Measuring error bands, on records that neither training nor testing has seen.
    Calibration,
}

/// Which records are held out for testing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeldOut {
    /// About this share of them.
    Share(f64),
    /// One of `of` folds of about equal size, numbered from 1. Every record is in exactly one, for cross-validation.
    Fold {
        /// Which one.
        fold: usize,
        /// How many there are.
        of: usize,
    },
}

/// What is held out for testing, and the share that is for error bands besides.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitPlan {
    pub(super) test: HeldOut,
    pub(super) calibration: Option<f64>,
}

impl SplitPlan {
    /// Refuses plans that leave nothing for training or take nothing.
    fn check(&self) -> Result<(), DataError> {
        let positive = |share: f64| share > 0.0 && share < 1.0;
        let test = match self.test {
            HeldOut::Share(share) if positive(share) => share,
            HeldOut::Share(share) => {
                return Err(DataError::Request(format!(
                    "a test fraction of {share}: expected one between 0 and 1"
                )));
            }
            HeldOut::Fold { fold, of } if of >= 2 && (1..=of).contains(&fold) => 1.0 / of as f64,
            HeldOut::Fold { fold, of } => {
                return Err(DataError::Request(format!(
                    "fold {fold} of {of}: expected at least two folds, numbered from 1"
                )));
            }
        };
        match self.calibration {
            Some(share) if !positive(share) || share + test >= 1.0 => Err(DataError::Request(format!(
                "a calibration fraction of {share} beside {test} for testing: expected both above 0 and below 1 together"
            ))),
            _ => Ok(()),
        }
    }
}

/// The records that stay together: those of a group, or one alone.
type Unit = Vec<usize>;

/// What each record is for: about as many are held out as planned, at least one for each part, and not all. Records of
/// a group stay together. The choice depends on the problem's name and the numbers of records or groups alone.
pub(super) fn choose(
    name: &str,
    count: usize,
    plan: SplitPlan,
    groups: Option<&[u64]>,
) -> Result<Vec<Part>, DataError> {
    plan.check()?;
    let units = shuffled_units(name, count, groups);
    let parts_wanted = 2 + usize::from(plan.calibration.is_some());
    let what = if groups.is_some() { "groups" } else { "records" };
    if units.len() < parts_wanted {
        return Err(DataError::Request(format!(
            "the number of {what} is {}, and {} need one each at least",
            units.len(),
            if parts_wanted == 2 { "training and testing" } else { "training, testing and error bands" }
        )));
    }
    if let HeldOut::Fold { of, .. } = plan.test
        && of > units.len()
    {
        return Err(DataError::Request(format!(
            "there are {of} folds, and the number of {what} is {}: expected no more folds than that",
            units.len()
        )));
    }
    let mut parts = vec![Part::Train; count];
    let mut assign = |units: &[Unit], part| units.iter().flatten().for_each(|record| parts[*record] = part);
    let others = match plan.test {
        HeldOut::Share(share) => {
            let (test, others) = units.split_at(length_of_share(&units, share, count, parts_wanted - 1));
            assign(test, Part::Test);
            others.to_vec()
        }
        HeldOut::Fold { fold, of } => {
            let (test, others) = split_fold(units, fold, of, count);
            if test.is_empty() || others.len() < parts_wanted - 1 {
                return Err(DataError::Request(format!(
                    "fold {fold} of {of} would hold out no group, or leave none for training: expected fewer folds"
                )));
            }
            assign(&test, Part::Test);
            others
        }
    };
    if let Some(share) = plan.calibration {
        assign(&others[..length_of_share(&others, share, count, 1)], Part::Calibration);
    }
    Ok(parts)
}

/// The records or groups in an order that their numbers and the problem's name decide.
fn shuffled_units(name: &str, count: usize, groups: Option<&[u64]>) -> Vec<Unit> {
    let mut members: BTreeMap<u64, Unit> = BTreeMap::new();
    for record in 0..count {
        members.entry(groups.map_or(record as u64, |groups| groups[record])).or_default().push(record);
    }
    let word = |unit: u64| Coordinates::new("own-split").text(name).number(unit).stream().word();
    let mut order: Vec<((u32, u64), Unit)> =
        members.into_iter().map(|(unit, records)| ((word(unit), unit), records)).collect();
    order.sort_unstable_by_key(|(place, _)| *place);
    order.into_iter().map(|(_, records)| records).collect()
}

/// How many units, from the first, hold about a share of all records: at least one, with `left` of them left over.
fn length_of_share(units: &[Unit], share: f64, count: usize, left: usize) -> usize {
    let wanted = (share * count as f64).round();
    let mut taken = 0;
    let fits = |(number, records): &(usize, &Unit)| {
        let fits = *number == 0 || taken as f64 + 0.5 * records.len() as f64 <= wanted;
        taken += records.len();
        fits
    };
    units[..units.len() - left].iter().enumerate().take_while(fits).count()
}

/// The units of one fold and all others. A unit is in the fold that the middle of its records lies in.
fn split_fold(units: Vec<Unit>, fold: usize, of: usize, count: usize) -> (Vec<Unit>, Vec<Unit>) {
    let mut before = 0;
    units.into_iter().partition(|records| {
        let twice_the_middle = 2 * before + records.len();
        before += records.len();
        // In 128 bits, so that no number of folds is too large to be multiplied.
        let before_it = twice_the_middle as u128 * of as u128 / (2 * count as u128);
        before_it + 1 == fold as u128
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn test_only(test: f64) -> SplitPlan {
        SplitPlan { test: HeldOut::Share(test), calibration: None }
    }

    fn count_of(parts: &[Part], wanted: Part) -> usize {
        parts.iter().filter(|part| **part == wanted).count()
    }

    #[test]
    fn a_share_of_the_records_is_held_out_the_same_each_time() {
        for (count, share, expected) in [(100, 0.1, 10), (2, 0.9, 1), (7, 0.01, 1), (1000, 0.25, 250)] {
            let parts = choose("x", count, test_only(share), None).unwrap();
            assert_eq!(count_of(&parts, Part::Test), expected, "{share} of {count}");
            assert_eq!(choose("x", count, test_only(share), None).unwrap(), parts);
        }
        let of = |name: &str| choose(name, 100, test_only(0.1), None).unwrap();
        assert_ne!(of("x"), of("y"));
        for share in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(choose("x", 100, test_only(share), None).is_err(), "{share}");
        }
        assert!(choose("x", 1, test_only(0.5), None).is_err());
    }

    #[test]
    fn calibration_takes_other_records_than_testing() {
        let shares = SplitPlan { test: HeldOut::Share(0.2), calibration: Some(0.3) };
        let parts = choose("x", 100, shares, None).unwrap();
        let counts = [Part::Train, Part::Test, Part::Calibration].map(|part| count_of(&parts, part));
        assert_eq!(counts, [50, 20, 30]);
        let tested = choose("x", 100, test_only(0.2), None).unwrap();
        let alike = |(one, other): (&Part, &Part)| (*one == Part::Test) == (*other == Part::Test);
        assert!(parts.iter().zip(&tested).all(alike), "the test set stays what it is");
        assert!(choose("x", 2, shares, None).is_err());
        let nothing_left = SplitPlan { test: HeldOut::Share(0.5), calibration: Some(0.5) };
        assert!(choose("x", 100, nothing_left, None).is_err());
    }

    #[test]
    fn groups_stay_together() {
        let groups: Vec<u64> = (0..120).map(|record| record / 12).collect();
        let parts = choose("x", 120, test_only(0.2), Some(&groups)).unwrap();
        assert_eq!(count_of(&parts, Part::Test), 24);
        assert!(parts.chunks(12).all(|group| group.iter().all(|part| *part == group[0])));
        assert!(choose("x", 120, test_only(0.2), Some(&[3; 120])).is_err());
    }
    #[test]
    fn every_record_is_in_exactly_one_fold() {
        let groups: Vec<u64> = (0..103).map(|record| record / 4).collect();
        for (groups, slack) in [(None, 1), (Some(groups.as_slice()), 4)] {
            for of in [2, 5, 10] {
                let mut held_out = [0; 103];
                for fold in 1..=of {
                    let plan = SplitPlan { test: HeldOut::Fold { fold, of }, calibration: Some(0.1) };
                    let parts = choose("x", 103, plan, groups).unwrap();
                    assert!(count_of(&parts, Part::Test).abs_diff(103 / of) <= slack);
                    assert!(count_of(&parts, Part::Calibration).abs_diff(10) <= slack);
                    parts
                        .iter()
                        .zip(&mut held_out)
                        .for_each(|(part, times)| *times += u32::from(*part == Part::Test));
                }
                assert_eq!(held_out, [1; 103]);
            }
        }
        for (fold, of) in [(0, 5), (6, 5), (1, 1), (1, 0)] {
            assert!(
                choose("x", 100, SplitPlan { test: HeldOut::Fold { fold, of }, calibration: None }, None)
                    .is_err()
            );
        }
        // Ninety-eight records of one group cannot be shared out among three folds.
        let groups: Vec<u64> = (0..100).map(|record| record.min(2)).collect();
        let folds = (1..=3).map(|fold| SplitPlan { test: HeldOut::Fold { fold, of: 3 }, calibration: None });
        assert!(folds.filter(|plan| choose("x", 100, *plan, Some(&groups)).is_ok()).count() < 3);
        for of in [101, usize::MAX] {
            let plan = SplitPlan { test: HeldOut::Fold { fold: 1, of }, calibration: None };
            let refusal = choose("x", 100, plan, None).unwrap_err().to_string();
            assert!(refusal.contains("the number of records is 100: expected no more folds"), "{refusal}");
        }
    }
}
