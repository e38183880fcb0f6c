//! A Cartesian product of evenly spread rows and columns.

use super::{FamilyDescriptor, POINT_BUDGETS, POINT_TRAINING_BUDGETS};
use crate::{draw::Draw, observation::mask::Mask};

/// A regular Cartesian grid. Its shapes exist for the paper's budgets only.
pub(in crate::observation) static GRID: FamilyDescriptor = FamilyDescriptor {
    name: "grid",
    budgets: &POINT_BUDGETS,
    training_budgets: &POINT_TRAINING_BUDGETS,
    any_budget: false,
    takes_few: false,
    points: |budget, size| shape(budget, size).iter().product(),
    sample: |mask, budget, stream| sample(mask, shape(budget.named, mask.size()), stream),
};

/// The regular grids with as many points as the budgets name.
const SHAPES: [[usize; 2]; 7] = [[20, 25], [32, 32], [32, 64], [64, 64], [64, 128], [96, 128], [128, 128]];

/// The shape of a regular grid of a budget on S x S points: the named one, each side scaled and rounded.
/// Conditions admit no budget without a shape.
fn shape(budget: usize, size: usize) -> [usize; 2] {
    let named = SHAPES.into_iter().find(|[rows, columns]| rows * columns == budget);
    named.unwrap_or([0, 0]).map(|side| (side * size + 64) / 128)
}

/// Rows floor((r + phase) S / rows) for r below `rows`, columns alike, each axis with a random phase in [0,
/// 1); a coin decides whether rows and columns are exchanged.
fn sample(mask: &mut Mask, shape: [usize; 2], stream: &mut impl Draw) {
    let size = mask.size();
    let [rows, columns] = if stream.coin() { [shape[1], shape[0]] } else { shape };
    let rows = lines(rows, size, stream);
    let columns = lines(columns, size, stream);
    for i in &rows {
        for j in &columns {
            mask.insert(i * size + j);
        }
    }
}

fn lines(count: usize, size: usize, stream: &mut impl Draw) -> Vec<usize> {
    let phase = stream.unit();
    let step = size as f64 / count as f64;
    // The last line is at most floor(size - tiny); the minimum guards against rounding up.
    (0..count).map(|k| (((k as f64 + phase) * step) as usize).min(size - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_the_stated_shapes() {
        for (budget, [rows, columns]) in POINT_BUDGETS.into_iter().zip(SHAPES) {
            assert_eq!(rows * columns, budget);
            assert_eq!((GRID.points)(budget, 128), budget);
        }
    }
}
