//! A rectangle that grows until the budget is met.
//!
//! Points are ordered by max(|x - cx| / w, |y - cy| / h): rings of rectangles about a centre. All points of
//! a ring are equally far, so the last ring is filled by a random choice. A ring is made of whole rows and
//! columns, so it is found from the distances of rows and columns; no sorting of all points is needed.

use super::{AREA_BUDGETS, FamilyDescriptor, scaled_points};
use crate::{draw::Draw, observation::mask::Mask};

/// A rectangle. A few points of it would lie side by side, which nobody's sensors do.
pub(in crate::observation) static BLOCK: FamilyDescriptor = FamilyDescriptor {
    name: "block",
    construction: || {
        let [from, to] = CENTRES;
        format!(
            "a rectangle about a centre in [{from}, {to}]^2 with an aspect ratio of 1/{LARGEST_RATIO} to {LARGEST_RATIO}, its last \
             ring filled at random"
        )
    },
    budgets: &AREA_BUDGETS,
    training_budgets: &AREA_BUDGETS,
    any_budget: true,
    takes_few: false,
    points: scaled_points,
    sample: |mask, budget, stream| sample(mask, budget.points, stream),
};

/// Between which centres lie along each axis.
const CENTRES: [f64; 2] = [0.2, 0.8];
/// The largest aspect ratio.
const LARGEST_RATIO: f64 = 1.5;

/// The centre is uniform in [0.2, 0.8]^2; the aspect ratio w / h is r or 1 / r, r uniform in [1, 3/2].
fn sample(mask: &mut Mask, points: usize, stream: &mut impl Draw) {
    let shape = mask.shape();
    let [from, to] = CENTRES;
    let centre = [stream.between(from, to), stream.between(from, to)];
    let ratio = stream.between(1.0, LARGEST_RATIO);
    let aspect = if stream.coin() { 1.0 / ratio } else { ratio };
    let rows = distances(shape.rows, centre[0], aspect.sqrt());
    let columns = distances(shape.columns, centre[1], 1.0 / aspect.sqrt());
    let last = last_ring(&rows, &columns, points);
    let mut ring = Vec::new();
    let mut taken = 0;
    for (i, row) in rows.iter().enumerate() {
        for (j, column) in columns.iter().enumerate() {
            let distance = row.max(*column);
            if distance < last {
                mask.insert(shape.point(i, j));
                taken += 1;
            } else if distance == last {
                ring.push(shape.point(i, j));
            }
        }
    }
    stream.shuffle(&mut ring);
    ring[..points - taken].iter().for_each(|point| {
        mask.insert(*point);
    });
}

/// |x - centre| / extent of every line, x = (k + 1/2) / lines.
fn distances(lines: usize, centre: f64, extent: f64) -> Vec<f64> {
    (0..lines).map(|k| ((k as f64 + 0.5) / lines as f64 - centre).abs() / extent).collect()
}

/// The least distance within which there are at least `points` points: within d there are (rows up to d)
/// times (columns up to d).
fn last_ring(rows: &[f64], columns: &[f64], points: usize) -> f64 {
    let mut candidates: Vec<f64> = rows.iter().chain(columns).copied().collect();
    candidates.sort_by(f64::total_cmp);
    let within = |lines: &[f64], distance: f64| lines.iter().filter(|line| **line <= distance).count();
    let too_few = |distance: &f64| within(rows, *distance) * within(columns, *distance) < points;
    candidates[candidates.partition_point(too_few)]
}
