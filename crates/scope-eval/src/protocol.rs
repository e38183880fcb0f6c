//! Under which conditions a model is evaluated.

use std::str::FromStr;

use scope_data::observation::{Condition, Family, Layout, Task};
use scope_model::{UnknownName, named};
use scope_pde::Pde;

/// A named set of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Forward and inverse from 500 uniform points: the paper's primary rows.
    Uniform500,
    /// All tasks from 500 uniform points.
    Quick,
    /// The cylinder's known disk with 1% of the fluid.
    Benchmark,
    /// All 75 conditions, 77 for the cylinder.
    All,
    /// All tasks from 5 to 100 uniform points.
    Few,
    /// Both fields wholly seen, through the context path.
    FullObservation,
    /// The auxiliary operator study: the hidden field from 3% of the other one, five masks a record.
    Auxiliary,
}

/// The budgets of few sensors.
const FEW: [usize; 5] = [5, 10, 20, 50, 100];

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 7] = [
        Protocol::Uniform500,
        Protocol::Quick,
        Protocol::Benchmark,
        Protocol::All,
        Protocol::Few,
        Protocol::FullObservation,
        Protocol::Auxiliary,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Uniform500 => "uniform500",
            Protocol::Quick => "quick",
            Protocol::Benchmark => "benchmark",
            Protocol::All => "all",
            Protocol::Few => "few",
            Protocol::FullObservation => "full-observation",
            Protocol::Auxiliary => "auxiliary",
        }
    }

    /// Its conditions for a problem; the benchmark has none but for the cylinder, and the auxiliary study none of one
    /// field.
    pub fn conditions(self, pde: Pde) -> Vec<Condition> {
        let quick = |condition: &Condition| condition.layout() == Layout::Family(Family::UNIFORM, 500);
        let primary = |condition: &Condition| quick(condition) && condition.task() != Task::Joint;
        let benchmark = |condition: &Condition| matches!(condition.layout(), Layout::BenchmarkUniform);
        let few = |task| FEW.into_iter().filter_map(move |k| Condition::new(task, Family::UNIFORM, k).ok());
        match self {
            Protocol::Uniform500 => Condition::all(pde).into_iter().filter(primary).collect(),
            Protocol::Quick => Condition::all(pde).into_iter().filter(quick).collect(),
            Protocol::Benchmark => Condition::all(pde).into_iter().filter(benchmark).collect(),
            Protocol::All => Condition::all(pde),
            Protocol::Few => Task::of(pde).into_iter().flat_map(few).collect(),
            Protocol::FullObservation => vec![Condition::full_observation()],
            Protocol::Auxiliary => {
                let each_task = Task::ALL.into_iter().filter_map(Condition::bernoulli);
                each_task.filter(|condition| condition.is_of(pde)).collect()
            }
        }
    }

    /// Its first condition of a task for a problem, if it has one: the only one of [`Protocol::Uniform500`] and
    /// [`Protocol::Benchmark`].
    pub fn condition(self, pde: Pde, task: Task) -> Option<Condition> {
        self.conditions(pde).into_iter().find(|condition| condition.task() == task)
    }
}

impl FromStr for Protocol {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("protocol", Self::ALL, Self::name, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_have_their_conditions() {
        let names = |protocol: Protocol, pde| -> Vec<String> {
            protocol.conditions(pde).iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(Protocol::Uniform500, Pde::DARCY), ["forward/uniform/500", "inverse/uniform/500"]);
        assert_eq!(
            names(Protocol::Quick, Pde::DARCY),
            ["forward/uniform/500", "inverse/uniform/500", "joint/uniform/500"]
        );
        assert_eq!(names(Protocol::All, Pde::DARCY).len(), 75);
        assert_eq!(names(Protocol::All, Pde::CYLINDER).len(), 77);
        assert_eq!(
            names(Protocol::Benchmark, Pde::CYLINDER),
            ["forward/benchmark_uniform/100", "inverse/benchmark_uniform/100"]
        );
        let few = names(Protocol::Few, Pde::DARCY);
        assert_eq!(
            (few.len(), few[0].as_str(), few[14].as_str()),
            (15, "forward/uniform/5", "joint/uniform/100")
        );
        assert!(names(Protocol::Benchmark, Pde::POISSON).is_empty());
        assert_eq!(names(Protocol::FullObservation, Pde::POISSON), ["joint/full/16384"]);
        assert_eq!(
            names(Protocol::Auxiliary, Pde::CYLINDER),
            ["forward/bernoulli/300", "inverse/bernoulli/300"]
        );
    }
}
