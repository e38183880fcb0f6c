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

/// Whether each record is held out: about a share of them, at least one, and not all. Records of a group stay together. The choice
/// depends on the problem's name and the numbers of records or groups alone.
pub(super) fn choose(
    name: &str,
    count: usize,
    share: f64,
    groups: Option<&[u64]>,
) -> Result<Vec<bool>, DataError> {
    if !(share > 0.0 && share < 1.0) {
        return Err(DataError::Request(format!("a test fraction of {share}: expected one between 0 and 1")));
    }
    let mut members: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for record in 0..count {
        members.entry(groups.map_or(record as u64, |groups| groups[record])).or_default().push(record);
    }
    if members.len() < 2 {
        let what = if groups.is_some() { "group" } else { "record" };
        return Err(DataError::Request(format!(
            "there is one {what} only: training and testing need at least one each"
        )));
    }
    let mut order: Vec<(u32, u64)> = members
        .keys()
        .map(|unit| (Coordinates::new("own-split").text(name).number(*unit).stream().word(), *unit))
        .collect();
    order.sort_unstable();
    let wanted = (share * count as f64).round().clamp(1.0, (count - 1) as f64);
    let mut is_test = vec![false; count];
    let mut taken = 0;
    // One unit is left for training whatever the share.
    for (place, (_, unit)) in order.iter().take(members.len() - 1).enumerate() {
        let size = members[unit].len();
        if place > 0 && taken as f64 + 0.5 * size as f64 > wanted {
            break;
        }
        members[unit].iter().for_each(|record| is_test[*record] = true);
        taken += size;
    }
    Ok(is_test)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_out(is_test: &[bool]) -> usize {
        is_test.iter().filter(|held_out| **held_out).count()
    }

    #[test]
    fn a_share_of_the_records_is_held_out_the_same_each_time() {
        for (count, share, expected) in [(100, 0.1, 10), (2, 0.9, 1), (7, 0.01, 1), (1000, 0.25, 250)] {
            let is_test = choose("x", count, share, None).unwrap();
            assert_eq!(held_out(&is_test), expected, "{share} of {count}");
            assert_eq!(choose("x", count, share, None).unwrap(), is_test);
        }
        assert_ne!(choose("x", 100, 0.1, None).unwrap(), choose("y", 100, 0.1, None).unwrap());
        for share in [0.0, 1.0, -1.0, f64::NAN] {
            assert!(choose("x", 100, share, None).is_err(), "{share}");
        }
        assert!(choose("x", 1, 0.5, None).is_err());
    }

    #[test]
    fn groups_stay_together() {
        let groups: Vec<u64> = (0..120).map(|record| record / 12).collect();
        let is_test = choose("x", 120, 0.2, Some(&groups)).unwrap();
        assert_eq!(held_out(&is_test), 24);
        assert!(is_test.chunks(12).all(|group| group.iter().all(|held_out| *held_out == group[0])));
        assert!(choose("x", 120, 0.2, Some(&[3; 120])).is_err());
    }
}
