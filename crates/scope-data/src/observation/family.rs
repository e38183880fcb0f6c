//! Families of layouts, by name.

use std::str::FromStr;

use scope_pde::{GridShape, Handle, Registry, RegistryError};

use super::{
    condition::NAMED_POINTS,
    families::{
        FamilyDescriptor, block::BLOCK, cluster::CLUSTER, grid::GRID, lines::LINES, uniform::UNIFORM,
    },
};

/// The families that names are looked up among: those of the protocol, then declared ones.
pub(super) static FAMILIES: Registry<FamilyDescriptor> =
    Registry::new(&[&UNIFORM, &GRID, &CLUSTER, &LINES, &BLOCK]);

/// A family of layouts: a handle on its [`FamilyDescriptor`]. Two are equal when their names are; the protocol's come
/// before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Family(Handle<FamilyDescriptor>);

impl Family {
    /// A uniform subset.
    pub const UNIFORM: Family = Family(Handle::new(&UNIFORM));
    /// A regular Cartesian grid.
    pub const GRID: Family = Family(Handle::new(&GRID));
    /// A few Gaussian clusters.
    pub const CLUSTER: Family = Family(Handle::new(&CLUSTER));
    /// Whole rows or columns.
    pub const LINES: Family = Family(Handle::new(&LINES));
    /// A rectangle.
    pub const BLOCK: Family = Family(Handle::new(&BLOCK));

    /// The protocol's five. Training takes them in shuffled turns and tests have a condition for each of their budgets,
    /// so another one among them would be another protocol.
    pub const ALL: [Family; 5] =
        [Family::UNIFORM, Family::GRID, Family::CLUSTER, Family::LINES, Family::BLOCK];

    /// Makes a family of one's own known for as long as the program runs, so that conditions can name it. Another
    /// family of the same name is refused.
    pub fn declare(descriptor: &'static FamilyDescriptor) -> Result<Self, RegistryError> {
        if ["benchmark_uniform", "full"].contains(&descriptor.name) {
            return Err(RegistryError::Taken(descriptor.name));
        }
        Handle::declare(descriptor).map(Self)
    }

    /// Everything that is known of the family.
    pub fn descriptor(self) -> &'static FamilyDescriptor {
        self.0.descriptor()
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The protocol's budgets, each once.
    pub fn budgets(self) -> &'static [usize] {
        self.descriptor().budgets
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
}

/// Names for a sentence: "x, y or z".
fn either(mut names: Vec<String>) -> String {
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = |known: Vec<&str>| {
            format!(
                "'{name}' is no family: expected {}",
                either(known.into_iter().map(str::to_owned).collect())
            )
        };
        Handle::find(name).map(Family).map_err(unknown)
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
