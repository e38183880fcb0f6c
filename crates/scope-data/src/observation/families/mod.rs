//! The families of layouts: one a file, with its descriptor and its sampler.

pub(super) mod bernoulli;
pub(super) mod block;
pub(super) mod cluster;
pub(super) mod grid;
pub(super) mod lines;
pub(super) mod uniform;

use scope_pde::{GridShape, Named, Registry, random::Stream};

use super::{condition::NAMED_POINTS, family::FAMILIES, mask::Mask};

/// Everything that is known of a family of layouts.
#[derive(Clone, Copy)]
pub struct FamilyDescriptor {
    /// The name on the command line, in files, in conditions and in the coordinates of random streams.
    pub name: &'static str,
    /// How its points are chosen, in words.
    pub construction: fn() -> String,
    /// The protocol's budgets, each once: points of a 128 x 128 grid.
    pub budgets: &'static [usize],
    /// The budgets that training visits in shuffled cycles: one that stands there twice is met twice as often.
    pub training_budgets: &'static [usize],
    /// Whether other numbers than `budgets`, from 1 to all points, are budgets too.
    pub any_budget: bool,
    /// Whether a handful of points is a layout of this family as any other number is: scattered sensors.
    pub takes_few: bool,
    /// How many points of a grid a budget observes, at least one: a function of the budget and of the grid.
    pub points: fn(usize, GridShape) -> usize,
    /// Fills an empty mask with exactly so many points, fewer than all, from a stream alone.
    pub sample: fn(&mut Mask, Budget, &mut Stream),
}

/// How many points a mask gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The number in the condition's name: points of a 128 x 128 grid.
    pub named: usize,
    /// Points of the mask's own grid.
    pub points: usize,
}

impl Named for FamilyDescriptor {
    fn name(&self) -> &'static str {
        self.name
    }

    fn registry() -> &'static Registry<Self> {
        &FAMILIES
    }
}

/// The points of a grid in the proportion that a budget has to 128 x 128, rounded, at least one.
pub fn scaled_points(budget: usize, shape: GridShape) -> usize {
    ((budget * shape.points() + NAMED_POINTS / 2) / NAMED_POINTS).max(1)
}

/// Budgets of the families that thin out points.
const POINT_BUDGETS: [usize; 7] = [500, 1024, 2048, 4096, 8192, 12288, 16384];
/// Training visits 500 twice as often as any other.
const POINT_TRAINING_BUDGETS: [usize; 8] = [500, 500, 1024, 2048, 4096, 8192, 12288, 16384];
/// 30% and 60% of the grid, rounded.
const AREA_BUDGETS: [usize; 2] = [4915, 9830];
