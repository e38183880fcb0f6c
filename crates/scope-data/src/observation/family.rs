//! Families of layouts, by name.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use scope_pde::{GridShape, Registry, RegistryError};

use super::{
    condition::NAMED_POINTS,
    families::{
        FamilyDescriptor, block::BLOCK, cluster::CLUSTER, grid::GRID, lines::LINES, uniform::UNIFORM,
    },
};

/// The families that names are looked up among: those of the protocol, then declared ones.
static FAMILIES: Registry<FamilyDescriptor> = Registry::new(&[&UNIFORM, &GRID, &CLUSTER, &LINES, &BLOCK]);

/// A family of layouts: a handle on its [`FamilyDescriptor`]. Two are equal when their names are; the protocol's come before others.
#[derive(Clone, Copy)]
pub struct Family(&'static FamilyDescriptor);

impl Family {
    /// A uniform subset.
    pub const UNIFORM: Family = Family(&UNIFORM);
    /// A regular Cartesian grid.
    pub const GRID: Family = Family(&GRID);
    /// A few Gaussian clusters.
    pub const CLUSTER: Family = Family(&CLUSTER);
    /// Whole rows or columns.
    pub const LINES: Family = Family(&LINES);
    /// A rectangle.
    pub const BLOCK: Family = Family(&BLOCK);

    /// The protocol's five. Training takes them in shuffled turns and tests have a condition for each of their budgets, so another
    /// one among them would be another protocol.
    pub const ALL: [Family; 5] =
        [Family::UNIFORM, Family::GRID, Family::CLUSTER, Family::LINES, Family::BLOCK];

    /// Makes a family of one's own known for as long as the program runs, so that conditions can name it. Another family of the
    /// same name is refused.
    pub fn declare(descriptor: &'static FamilyDescriptor) -> Result<Self, RegistryError> {
        if ["benchmark_uniform", "full"].contains(&descriptor.name) {
            return Err(RegistryError::Taken(descriptor.name));
        }
        FAMILIES.declare(descriptor)?;
        Ok(Self(descriptor))
    }

    /// Everything that is known of the family.
    pub fn descriptor(self) -> &'static FamilyDescriptor {
        self.0
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The protocol's budgets, each once.
    pub fn budgets(self) -> &'static [usize] {
        self.0.budgets
    }

    /// The slots that training visits in shuffled cycles.
    pub fn budget_slots(self) -> &'static [usize] {
        self.0.training_budgets
    }

    /// Whether a handful of points is a layout of this family as any other number is: scattered sensors.
    pub fn takes_few(self) -> bool {
        self.0.takes_few
    }

    /// Refuses a budget that the family cannot have.
    pub(super) fn require_budget(self, budget: usize) -> Result<(), String> {
        if !self.0.any_budget && !self.0.budgets.contains(&budget) {
            let budgets = either(self.0.budgets.iter().map(usize::to_string).collect());
            return Err(format!("a {} has {budgets} points, not {budget}", self.name()));
        }
        if !(1..=NAMED_POINTS).contains(&budget) {
            return Err(format!("a budget is from 1 to {NAMED_POINTS}, not {budget}"));
        }
        Ok(())
    }

    /// How many points of a grid a budget observes, at least one. Budgets are named for 128 x 128.
    pub fn points(self, budget: usize, shape: impl Into<GridShape>) -> usize {
        (self.0.points)(budget, shape.into())
    }

    /// What orders families: those of the protocol as in [`Family::ALL`], then others by name.
    fn rank(self) -> (usize, &'static str) {
        (FAMILIES.rank(self.name()).unwrap_or(usize::MAX), self.name())
    }
}

/// Names for a sentence: "x, y or z".
fn either(mut names: Vec<String>) -> String {
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Family {}

impl Hash for Family {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl Ord for Family {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Family {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Family").field(&self.name()).finish()
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || {
            let known = FAMILIES.all().iter().map(|family| family.name.to_owned()).collect();
            format!("'{name}' is no family: expected {}", either(known))
        };
        FAMILIES.find(name).map(Family).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The protocol's figures at 32 x 32.
    #[test]
    fn budgets_scale_with_the_area() {
        let at_32 =
            |family: Family| family.budgets().iter().map(|k| family.points(*k, 32)).collect::<Vec<_>>();
        assert_eq!(at_32(Family::UNIFORM), [31, 64, 128, 256, 512, 768, 1024]);
        assert_eq!(at_32(Family::LINES), [307, 614]);
        assert_eq!(at_32(Family::GRID), [30, 64, 128, 256, 512, 768, 1024]);
    }
}
