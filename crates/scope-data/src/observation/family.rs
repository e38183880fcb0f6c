//! The five families of layouts and their budgets.

use std::str::FromStr;

use super::condition::NAMED_POINTS;

/// A family of layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// A uniform subset.
    Uniform,
    /// A regular Cartesian grid.
    Grid,
    /// A few Gaussian clusters.
    Cluster,
    /// Whole rows or columns.
    Lines,
    /// A rectangle.
    Block,
}

/// Budgets of the families that thin out points.
const POINT_BUDGETS: [usize; 7] = [500, 1024, 2048, 4096, 8192, 12288, 16384];
/// The regular grids with as many points.
const GRID_SHAPES: [[usize; 2]; 7] =
    [[20, 25], [32, 32], [32, 64], [64, 64], [64, 128], [96, 128], [128, 128]];
/// Training visits 500 twice as often as any other.
const POINT_SLOTS: [usize; 8] = [500, 500, 1024, 2048, 4096, 8192, 12288, 16384];
/// 30% and 60% of the grid, rounded.
const AREA_BUDGETS: [usize; 2] = [4915, 9830];

impl Family {
    /// All five.
    pub const ALL: [Family; 5] =
        [Family::Uniform, Family::Grid, Family::Cluster, Family::Lines, Family::Block];

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Family::Uniform => "uniform",
            Family::Grid => "grid",
            Family::Cluster => "cluster",
            Family::Lines => "lines",
            Family::Block => "block",
        }
    }

    /// The paper's budgets, each once.
    pub fn budgets(self) -> &'static [usize] {
        match self {
            Family::Uniform | Family::Grid | Family::Cluster => &POINT_BUDGETS,
            Family::Lines | Family::Block => &AREA_BUDGETS,
        }
    }

    /// The slots that training visits in shuffled cycles.
    pub fn budget_slots(self) -> &'static [usize] {
        match self {
            Family::Uniform | Family::Grid | Family::Cluster => &POINT_SLOTS,
            Family::Lines | Family::Block => &AREA_BUDGETS,
        }
    }

    /// Whether a handful of points is a layout of this family as any other number is: scattered sensors. Grids exist for
    /// some numbers only, and a few points of a line or a block would lie side by side, which nobody's sensors do.
    pub fn takes_few(self) -> bool {
        matches!(self, Family::Uniform | Family::Cluster)
    }

    /// Refuses a budget that the family cannot have.
    pub(super) fn require_budget(self, budget: usize) -> Result<(), String> {
        match self {
            Family::Grid if !POINT_BUDGETS.contains(&budget) => {
                Err(format!("a grid has 500, 1024, 2048, 4096, 8192, 12288 or 16384 points, not {budget}"))
            }
            _ if !(1..=NAMED_POINTS).contains(&budget) => {
                Err(format!("a budget is from 1 to {NAMED_POINTS}, not {budget}"))
            }
            _ => Ok(()),
        }
    }

    /// How many points of an S x S grid a budget observes, at least one. Budgets are named for 128 x 128.
    pub fn points(self, budget: usize, size: usize) -> usize {
        match self {
            Family::Grid => grid_shape(budget, size).iter().product(),
            _ => ((budget * size * size + NAMED_POINTS / 2) / NAMED_POINTS).max(1),
        }
    }
}

/// The shape of a regular grid of a budget on S x S points: the named one, each side scaled and rounded.
/// Conditions admit no budget without a shape.
pub(super) fn grid_shape(budget: usize, size: usize) -> [usize; 2] {
    let named = GRID_SHAPES.into_iter().find(|[rows, columns]| rows * columns == budget);
    named.unwrap_or([0, 0]).map(|side| (side * size + 64) / 128)
}

impl FromStr for Family {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Family::ALL.into_iter().find(|family| family.name() == name);
        found.ok_or_else(|| format!("'{name}' is no family: expected uniform, grid, cluster, lines or block"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_the_stated_shapes() {
        for (budget, [rows, columns]) in POINT_BUDGETS.into_iter().zip(GRID_SHAPES) {
            assert_eq!(rows * columns, budget);
            assert_eq!(Family::Grid.points(budget, 128), budget);
        }
    }

    /// The protocol's figures at 32 x 32.
    #[test]
    fn budgets_scale_with_the_area() {
        let at_32 =
            |family: Family| family.budgets().iter().map(|k| family.points(*k, 32)).collect::<Vec<_>>();
        assert_eq!(at_32(Family::Uniform), [31, 64, 128, 256, 512, 768, 1024]);
        assert_eq!(at_32(Family::Lines), [307, 614]);
        assert_eq!(at_32(Family::Grid), [30, 64, 128, 256, 512, 768, 1024]);
    }
}
