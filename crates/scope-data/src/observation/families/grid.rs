//! A Cartesian product of evenly spread rows and columns.

use scope_pde::GridShape;

use super::{FamilyDescriptor, POINT_BUDGETS, POINT_TRAINING_BUDGETS};
use crate::{draw::Draw, observation::mask::Mask};

/// A regular Cartesian grid. Its shapes exist for the paper's budgets only.
pub(in crate::observation) static GRID: FamilyDescriptor = FamilyDescriptor {
    name: "grid",
    construction: || {
        let shapes = SHAPES.map(|[rows, columns]| format!("{rows} x {columns}")).join(", ");
        format!("evenly spread rows and columns with random phases, the axes exchanged at random: {shapes}")
    },
    budgets: &POINT_BUDGETS,
    training_budgets: &POINT_TRAINING_BUDGETS,
    any_budget: false,
    takes_few: false,
    points: |budget, grid| shape(budget, grid).iter().product(),
    sample: |mask, budget, stream| sample(mask, shape(budget.named, mask.shape()), stream),
};

/// The regular grids with as many points as the budgets name.
const SHAPES: [[usize; 2]; 7] = [[20, 25], [32, 32], [32, 64], [64, 64], [64, 128], [96, 128], [128, 128]];

/// The shape of a regular grid of a budget on a grid of points: the named one, each side scaled by the points of its
/// axis and rounded, the longer one along the longer axis. Conditions admit no budget without a shape.
fn shape(budget: usize, grid: GridShape) -> [usize; 2] {
    let named = SHAPES.into_iter().find(|[rows, columns]| rows * columns == budget);
    let [short, long] = named.unwrap_or([0, 0]);
    let along = if grid.rows > grid.columns { [long, short] } else { [short, long] };
    [0, 1].map(|axis| (along[axis] * grid.lengths()[axis] + 64) / 128)
}

/// Rows floor((r + phase) S / rows) for r below `rows` on S points along the axis, columns alike, each axis with a
/// random phase in [0, 1); on a square a coin decides whether rows and columns are exchanged.
fn sample(mask: &mut Mask, shape: [usize; 2], stream: &mut impl Draw) {
    let grid = mask.shape();
    let [rows, columns] = if stream.coin() && grid.side().is_some() { [shape[1], shape[0]] } else { shape };
    let rows = lines(rows, grid.rows, stream);
    let columns = lines(columns, grid.columns, stream);
    for i in &rows {
        for j in &columns {
            mask.insert(grid.point(*i, *j));
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
    use scope_pde::random::Coordinates;

    use super::*;

    #[test]
    fn grids_on_rectangles_have_as_many_points_as_stated() {
        for grid in [GridShape { rows: 96, columns: 160 }, GridShape { rows: 64, columns: 32 }] {
            for (record, budget) in POINT_BUDGETS.into_iter().enumerate() {
                let mut mask = Mask::empty(grid);
                let mut stream = Coordinates::new("grids").number(record as u64).stream();
                sample(&mut mask, shape(budget, grid), &mut stream);
                assert_eq!(mask.count(), (GRID.points)(budget, grid), "{budget} on {grid}");
            }
            assert_eq!((GRID.points)(16384, grid), grid.points());
        }
    }

    #[test]
    fn grids_have_the_stated_shapes() {
        for (budget, [rows, columns]) in POINT_BUDGETS.into_iter().zip(SHAPES) {
            assert_eq!(rows * columns, budget);
            assert_eq!((GRID.points)(budget, 128.into()), budget);
        }
    }
}
