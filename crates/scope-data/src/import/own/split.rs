//! Which records are held out.

use std::{collections::BTreeMap, path::Path};

use scope_pde::random::Coordinates;

use crate::{draw::Draw, error::DataError, npy::MappedArray};

/// Reads the group of every record: an array \[N\] of numbers.
pub(super) fn read_groups(path: &Path, count: usize) -> Result<Vec<u64>, DataError> {
    let array = MappedArray::open(path)?;
    let malformed = |problem: String| DataError::malformed(path, "array of groups", problem);
    if array.header().shape != [count] {
        let got = &array.header().shape;
        return Err(malformed(format!(
            "its shape is {got:?}, expected [{count}]: the group of every record"
        )));
    }
    let group = |record: usize| {
        let value = array.value(record);
        let whole = value.is_finite() && value.fract() == 0.0;
        whole.then_some(value.to_bits()).ok_or_else(|| {
            malformed(format!("the group of record {record} is {value}: expected whole numbers"))
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

/// The shares of records that are held out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub(super) test: f64,
    pub(super) calibration: Option<f64>,
}

impl Shares {
    /// Refuses shares that leave nothing for training or take nothing.
    fn check(&self) -> Result<(), DataError> {
        let positive = |share: f64| share > 0.0 && share < 1.0;
        if !positive(self.test) {
            let share = self.test;
            return Err(DataError::Request(format!(
                "a test fraction of {share}: expected one between 0 and 1"
            )));
        }
        match self.calibration {
            Some(share) if !positive(share) || share + self.test >= 1.0 => Err(DataError::Request(format!(
                "a calibration fraction of {share} beside a test fraction of {}: expected both above 0 and below 1 together",
                self.test
            ))),
            _ => Ok(()),
        }
    }
}

/// What each record is for: about the stated shares are held out, at least one record for each, and not all. Records of a group stay
/// together. The choice depends on the problem's name and the numbers of records or groups alone.
pub(super) fn choose(
    name: &str,
    count: usize,
    shares: Shares,
    groups: Option<&[u64]>,
) -> Result<Vec<Part>, DataError> {
    shares.check()?;
    let mut members: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for record in 0..count {
        members.entry(groups.map_or(record as u64, |groups| groups[record])).or_default().push(record);
    }
    let wanted: Vec<(Part, f64)> = [(Part::Test, Some(shares.test)), (Part::Calibration, shares.calibration)]
        .into_iter()
        .filter_map(|(part, share)| Some((part, share?)))
        .collect();
    if members.len() < 1 + wanted.len() {
        let what = if groups.is_some() { "group" } else { "record" };
        return Err(DataError::Request(format!(
            "there is one {what} only, or too few of them: {} parts need at least one each",
            1 + wanted.len()
        )));
    }
    let mut order: Vec<(u32, u64)> = members
        .keys()
        .map(|unit| (Coordinates::new("own-split").text(name).number(*unit).stream().word(), *unit))
        .collect();
    order.sort_unstable();
    let mut parts = vec![Part::Train; count];
    // One unit is left for every part that follows, whatever the shares.
    let mut units = order.iter().map(|(_, unit)| &members[unit]).peekable();
    for (place, (part, share)) in wanted.iter().enumerate() {
        let most = units.len() - (wanted.len() - place);
        let wanted = (share * count as f64).round();
        let mut taken = 0;
        for number in 0..most {
            let fits =
                |records: &&Vec<usize>| number == 0 || taken as f64 + 0.5 * records.len() as f64 <= wanted;
            let Some(records) = units.next_if(fits) else { break };
            records.iter().for_each(|record| parts[*record] = *part);
            taken += records.len();
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn test_only(test: f64) -> Shares {
        Shares { test, calibration: None }
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
        let shares = Shares { test: 0.2, calibration: Some(0.3) };
        let parts = choose("x", 100, shares, None).unwrap();
        let counts = [Part::Train, Part::Test, Part::Calibration].map(|part| count_of(&parts, part));
        assert_eq!(counts, [50, 20, 30]);
        let tested = choose("x", 100, test_only(0.2), None).unwrap();
        let alike = |(one, other): (&Part, &Part)| (*one == Part::Test) == (*other == Part::Test);
        assert!(parts.iter().zip(&tested).all(alike), "the test set stays what it is");
        assert!(choose("x", 2, shares, None).is_err());
        assert!(choose("x", 100, Shares { test: 0.5, calibration: Some(0.5) }, None).is_err());
    }

    #[test]
    fn groups_stay_together() {
        let groups: Vec<u64> = (0..120).map(|record| record / 12).collect();
        let parts = choose("x", 120, test_only(0.2), Some(&groups)).unwrap();
        assert_eq!(count_of(&parts, Part::Test), 24);
        assert!(parts.chunks(12).all(|group| group.iter().all(|part| *part == group[0])));
        assert!(choose("x", 120, test_only(0.2), Some(&[3; 120])).is_err());
    }
}
