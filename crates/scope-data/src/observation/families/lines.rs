//! Whole rows or columns, and at most one part of a line.

use super::{AREA_BUDGETS, FamilyDescriptor, scaled_points};
use crate::{draw::Draw, observation::mask::Mask};

/// Whole rows or columns. A few points of a line would lie side by side, which nobody's sensors do.
pub(in crate::observation) static LINES: FamilyDescriptor = FamilyDescriptor {
    name: "lines",
    construction: || "whole rows or columns in random order, and at most one part of a line".to_owned(),
    budgets: &AREA_BUDGETS,
    training_budgets: &AREA_BUDGETS,
    any_budget: true,
    takes_few: false,
    points: scaled_points,
    sample: |mask, budget, stream| sample(mask, budget.points, stream),
};

/// A coin chooses rows or columns; lines are taken in random order. What is left of the budget is one run
/// of neighbouring points somewhere on the next line.
fn sample(mask: &mut Mask, points: usize, stream: &mut impl Draw) {
    let grid = mask.shape();
    let columns = stream.coin();
    let [lines, length] = if columns { [grid.columns, grid.rows] } else { grid.lengths() };
    let point =
        |line: usize, along: usize| if columns { grid.point(along, line) } else { grid.point(line, along) };
    let mut order: Vec<usize> = (0..lines).collect();
    stream.shuffle(&mut order);
    let whole = points / length;
    let rest = points % length;
    for line in &order[..whole] {
        (0..length).for_each(|along| {
            mask.insert(point(*line, along));
        });
    }
    if rest > 0 {
        let start = stream.below(length - rest + 1);
        (start..start + rest).for_each(|along| {
            mask.insert(point(order[whole], along));
        });
    }
}
