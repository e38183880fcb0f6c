//! A region where both fields are always known.

use serde::{Deserialize, Serialize};

/// Where both fields are known before anything is measured, and what they are there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownSpec {
    /// Where, if that is the same in every record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<MaskSpec>,
    /// Whether each record has a mask of its own, which comes with the records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_record: bool,
    /// What both fields are there, unless `a` or `u` says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// What a is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<f64>,
    /// What u is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub u: Option<f64>,
}

/// The points of a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the name of a .npy file, as in mask = \"land.npy\"")]
pub enum MaskSpec {
    /// A .npy file of the grid's shape that is not zero there. Only a file that someone has written has it so.
    File(String),
    /// Lengths of runs, row after row: points that are not known, points that are, and so on in turn.
    Runs(Vec<u32>),
}

impl MaskSpec {
    /// The runs of points.
    pub fn of_points(known: impl IntoIterator<Item = bool>) -> Self {
        let mut runs = vec![0];
        let mut inside = false;
        for point in known {
            if point != inside {
                runs.push(0);
                inside = point;
            }
            if let Some(last) = runs.last_mut() {
                *last += 1;
            }
        }
        Self::Runs(runs)
    }
}

/// The points in the second, fourth, ... of runs.
pub(crate) fn points_of_runs(runs: &[u32]) -> impl Iterator<Item = usize> {
    let mut begin = 0_usize;
    runs.iter().enumerate().flat_map(move |(k, run)| {
        let all = begin..begin + *run as usize;
        begin = all.end;
        all.filter(move |_| k % 2 == 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_give_back_their_points() {
        for known in [[false, true, true, false, true], [true, true, false, false, false]] {
            let MaskSpec::Runs(runs) = MaskSpec::of_points(known) else { panic!("a mask in runs") };
            let points: Vec<usize> = points_of_runs(&runs).collect();
            assert_eq!(points, (0..5).filter(|point| known[*point]).collect::<Vec<_>>());
        }
        assert_eq!(MaskSpec::of_points([true, false]), MaskSpec::Runs(vec![0, 1, 1]));
    }
}
