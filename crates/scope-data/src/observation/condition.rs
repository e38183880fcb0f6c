//! What is observed, by name: task, layout and budget.

use std::{cmp::Ordering, fmt, str::FromStr};

use scope_pde::{Channel, Pde, PerChannel};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use super::family::Family;

/// Which channels are observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// a is observed, u is evaluated.
    Forward,
    /// u is observed, a is evaluated.
    Inverse,
    /// Both are observed and evaluated.
    Joint,
}

impl Task {
    /// The three tasks.
    pub const ALL: [Task; 3] = [Task::Forward, Task::Inverse, Task::Joint];

    /// The tasks of a problem: all of them, or the one that measures the only field.
    pub fn of(pde: Pde) -> Vec<Task> {
        let present = pde.present();
        let measurable = |task: &Task| {
            task.observes().zip(present).into_iter().all(|(observed, present)| present || !observed)
        };
        Task::ALL.into_iter().filter(measurable).collect()
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Task::Forward => "forward",
            Task::Inverse => "inverse",
            Task::Joint => "joint",
        }
    }

    /// The one channel that is not observed, if there is one.
    pub fn hidden(self) -> Option<Channel> {
        match self {
            Task::Forward => Some(Channel::U),
            Task::Inverse => Some(Channel::A),
            Task::Joint => None,
        }
    }

    /// Whether a and u are observed.
    pub fn observes(self) -> PerChannel<bool> {
        PerChannel { a: self != Task::Inverse, u: self != Task::Forward }
    }
}

/// How the observed points lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layout {
    /// A family with its budget: points of a 128 x 128 grid.
    Family(Family, usize),
    /// The cylinder benchmark: each fluid pixel with probability 1/100. Its number, 100, means basis
    /// points.
    BenchmarkUniform,
    /// The auxiliary operator study: each pixel with probability 3/100, the same pixels whichever field is observed,
    /// and nothing that is known besides. Its number, 300, means basis points.
    Bernoulli,
    /// Every point.
    Full,
}

/// An observation condition; prints and parses as `forward/uniform/500`, and has the order of these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Condition {
    task: Task,
    layout: Layout,
}

/// Points of the grid that budgets are named for.
pub const NAMED_POINTS: usize = 128 * 128;

const BENCHMARK_BASIS_POINTS: usize = 100;
const BERNOULLI_BASIS_POINTS: usize = 300;

impl Condition {
    /// A condition of one of the five families. Grids exist for the paper's budgets only; other families
    /// take any number of points.
    pub fn new(task: Task, family: Family, budget: usize) -> Result<Self, ConditionError> {
        let text = || format!("{}/{}/{budget}", task.name(), family.name());
        family.require_budget(budget).map_err(|problem| ConditionError { text: text(), problem })?;
        Ok(Self { task, layout: Layout::Family(family, budget) })
    }

    /// A condition whose budget is known to be one of the family's.
    pub(crate) fn of_family(task: Task, family: Family, budget: usize) -> Self {
        debug_assert!(family.require_budget(budget).is_ok());
        Self { task, layout: Layout::Family(family, budget) }
    }

    /// The condition of the auxiliary operator study for a task; observing both fields is none of its conditions.
    pub fn bernoulli(task: Task) -> Option<Self> {
        task.hidden().map(|_| Self { task, layout: Layout::Bernoulli })
    }

    /// Which channels are observed.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The layout of the measured points.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The paper's conditions: 75, and two more where the problem has a benchmark; 25 of a problem that has one field.
    pub fn all(pde: Pde) -> Vec<Condition> {
        let families = |task| {
            let budgets = move |family: Family| {
                family.budgets().iter().map(move |k| Condition::of_family(task, family, *k))
            };
            Family::ALL.into_iter().flat_map(budgets)
        };
        let mut all: Vec<Condition> = Task::of(pde).into_iter().flat_map(families).collect();
        if pde.descriptor().benchmark {
            let benchmark = |task| Condition { task, layout: Layout::BenchmarkUniform };
            all.extend([benchmark(Task::Forward), benchmark(Task::Inverse)]);
        }
        all
    }

    /// Whether a problem can be observed so: its fields can be measured, and it has the benchmark if that is asked for.
    /// Both channels wholly visible are what any problem has.
    pub fn is_of(&self, pde: Pde) -> bool {
        let measurable = || Task::of(pde).contains(&self.task);
        match self.layout {
            Layout::Family(..) => measurable(),
            Layout::BenchmarkUniform => measurable() && pde.descriptor().benchmark,
            // One field is the answer to the other.
            Layout::Bernoulli => Task::of(pde) == Task::ALL,
            Layout::Full => true,
        }
    }

    /// Both channels wholly visible, through the context path.
    pub fn full_observation() -> Self {
        Self { task: Task::Joint, layout: Layout::Full }
    }

    /// The layout's name.
    pub fn layout_name(&self) -> &'static str {
        match self.layout {
            Layout::Family(family, _) => family.name(),
            Layout::BenchmarkUniform => "benchmark_uniform",
            Layout::Bernoulli => "bernoulli",
            Layout::Full => "full",
        }
    }

    /// The number in the condition's name.
    pub fn budget(&self) -> usize {
        match self.layout {
            Layout::Family(_, budget) => budget,
            Layout::BenchmarkUniform => BENCHMARK_BASIS_POINTS,
            Layout::Bernoulli => BERNOULLI_BASIS_POINTS,
            Layout::Full => NAMED_POINTS,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&format!("{}/{}/{}", self.task.name(), self.layout_name(), self.budget()))
    }
}

impl Ord for Condition {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Condition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A text that is no condition.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("'{text}' is no observation condition: {problem}")]
pub struct ConditionError {
    text: String,
    problem: String,
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        parse(text).map_err(|problem| ConditionError { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Condition, String> {
    let [task, layout, budget] = text.split('/').collect::<Vec<_>>()[..] else {
        return Err("expected task/layout/budget, as in forward/uniform/500".into());
    };
    let task: Task = task.parse()?;
    let number: usize = budget.parse().map_err(|_| format!("'{budget}' is not a whole number"))?;
    let layout = match layout {
        "benchmark_uniform" | "bernoulli" if task == Task::Joint => {
            return Err(format!("{layout} is for forward and inverse only"));
        }
        "bernoulli" if number == BERNOULLI_BASIS_POINTS => Layout::Bernoulli,
        "bernoulli" => return Err("expected bernoulli/300".into()),
        "benchmark_uniform" if number == BENCHMARK_BASIS_POINTS => Layout::BenchmarkUniform,
        "full" if task == Task::Joint && number == NAMED_POINTS => Layout::Full,
        "benchmark_uniform" | "full" => {
            return Err("expected benchmark_uniform/100 or joint/full/16384".into());
        }
        family => {
            let family: Family = family.parse()?;
            family.require_budget(number)?;
            Layout::Family(family, number)
        }
    };
    Ok(Condition { task, layout })
}

impl FromStr for Task {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Task::ALL.into_iter().find(|task| task.name() == name);
        found.ok_or_else(|| format!("'{name}' is no task: expected forward, inverse or joint"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    #[test]
    fn there_are_75_conditions_and_77_for_the_cylinder() {
        for pde in Pde::ALL {
            let all = Condition::all(pde);
            let distinct: HashSet<_> = all.iter().collect();
            assert_eq!(all.len(), if pde == Pde::CYLINDER { 77 } else { 75 });
            assert_eq!(distinct.len(), all.len());
        }
    }

    #[test]
    fn names_are_read_back() {
        let mut all = Condition::all(Pde::CYLINDER);
        all.push(Condition::full_observation());
        all.extend([Task::Forward, Task::Inverse].map(|task| Condition::bernoulli(task).unwrap()));
        for condition in all {
            assert_eq!(condition.to_string().parse(), Ok(condition));
        }
        let condition = Condition::new(Task::Forward, Family::UNIFORM, 500).unwrap();
        assert_eq!(condition.to_string(), "forward/uniform/500");
        assert_eq!(Condition::full_observation().to_string(), "joint/full/16384");
        assert_eq!(Condition::bernoulli(Task::Inverse).unwrap().to_string(), "inverse/bernoulli/300");
        assert_eq!(Condition::bernoulli(Task::Joint), None);
    }

    #[test]
    fn conditions_are_written_and_ordered_as_their_names() {
        let all: BTreeMap<Condition, usize> = Condition::all(Pde::CYLINDER).into_iter().zip(0..).collect();
        let names: BTreeMap<String, usize> = all.iter().map(|(known, k)| (known.to_string(), *k)).collect();
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(json, serde_json::to_string(&names).unwrap());
        assert_eq!(serde_json::from_str::<BTreeMap<Condition, usize>>(&json).unwrap(), all);
    }

    #[test]
    fn what_is_no_condition_is_explained() {
        let refusal = |text: &str| text.parse::<Condition>().unwrap_err().to_string();
        assert!(refusal("forward/uniform").contains("task/layout/budget"));
        assert!(refusal("backward/uniform/500").contains("forward, inverse or joint"));
        assert!(refusal("forward/hexagons/500").contains("uniform, grid, cluster, lines or block"));
        assert!(refusal("forward/grid/600").contains("500, 1024"));
        assert!(refusal("forward/uniform/many").contains("whole number"));
        assert!(refusal("forward/uniform/0").contains("from 1 to 16384"));
        assert!(refusal("joint/benchmark_uniform/100").contains("forward and inverse"));
        assert!(refusal("joint/bernoulli/300").contains("forward and inverse"));
        assert!(refusal("forward/bernoulli/100").contains("bernoulli/300"));
        assert!(refusal("forward/full/16384").contains("joint/full/16384"));
    }
}
