//! The schedule that training and every baseline share.
//!
//! Records: draw number p belongs to epoch p / N and is the p mod N-th record of that epoch's permutation;
//! a batch of B takes the draws n B .. (n + 1) B and may cross an epoch boundary.
//!
//! Conditions: one a batch. As many batches as there are families hold each family once, in a shuffled order. Of every
//! five occurrences of a family two are forward, two inverse and one joint, shuffled; its budget slots (eight,
//! or two) are visited in shuffled cycles. Each shuffle has a stream of its own, so batch 1,000,000 costs
//! what batch 0 costs.
//!
//! A [`SensorMix`] gives some batches a small budget or the condition of the benchmark in the place of theirs, and some
//! draws noise; everything else stays.

use std::{
    collections::HashSet,
    ops::Range,
    sync::{Arc, Mutex},
};

use scope_pde::{
    Pde,
    random::{Coordinates, Stream},
};

use super::sensor_mix::SensorMix;
use crate::{
    draw::Draw,
    observation::{Condition, Family, Task},
};

/// The tasks of five occurrences of a family.
pub const TASK_CYCLE: [Task; 5] = [Task::Forward, Task::Forward, Task::Inverse, Task::Inverse, Task::Joint];
/// The sensors of the paper's main comparison.
const SPARSE_BUDGET: usize = 500;
/// Permutations kept in memory: a batch needs the current epoch's and perhaps the next one's.
const CACHED_PERMUTATIONS: usize = 2;

/// What a batch draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchPlan {
    /// The observation condition of the whole batch.
    pub condition: Condition,
    /// The records, each with the number of times it was drawn before.
    pub draws: Vec<(usize, u64)>,
}

/// Batches of a training set of N records.
#[derive(Debug)]
pub struct Schedule {
    seed: u64,
    records: usize,
    batch: usize,
    /// The rows of each batch that are drawn.
    rows: Range<usize>,
    /// The families of the mixture, each once in a cycle.
    families: Vec<Family>,
    /// The tasks of so many occurrences of a family.
    tasks: Vec<Task>,
    /// Conditions that batches take in turn; the mixture of families where there are none.
    in_turn: Vec<Condition>,
    /// Few and noisy sensors, if there are any.
    mix: Option<SensorMix>,
    /// Permutations of recent epochs.
    permutations: Mutex<Vec<(u64, Arc<[u32]>)>>,
}

impl Schedule {
    /// Batches of `batch` records out of `records`; both must be positive.
    pub fn new(seed: u64, records: usize, batch: usize) -> Self {
        assert!(
            (1..=u32::MAX as usize).contains(&records) && batch > 0,
            "records to draw, and room for them"
        );
        let families = Family::ALL.to_vec();
        let permutations = Mutex::new(Vec::new());
        let tasks = TASK_CYCLE.to_vec();
        let rows = 0..batch;
        Self { seed, records, batch, rows, families, tasks, in_turn: Vec::new(), mix: None, permutations }
    }

    /// The same batches, of which these rows alone are drawn: the share of one of several processes.
    #[must_use]
    pub fn of_rows(self, rows: Range<usize>) -> Self {
        assert!(rows.start < rows.end && rows.end <= self.batch, "rows of the batch, at least one");
        Self { rows, ..self }
    }

    /// The same records under a mixture of other families than the protocol's, at least one and each once.
    #[must_use]
    pub fn of_families(self, families: Vec<Family>) -> Self {
        let distinct = families.iter().collect::<HashSet<_>>().len();
        assert!(distinct == families.len() && distinct > 0, "families to draw, each once");
        Self { families, ..self }
    }

    /// The same records for the tasks of a problem, which may have one only.
    #[must_use]
    pub fn of_problem(self, pde: Pde) -> Self {
        let possible = Task::of(pde);
        let tasks = TASK_CYCLE.into_iter().filter(|task| possible.contains(task)).collect();
        Self { tasks, ..self }
    }

    /// The same records under other conditions: batches take these in turn.
    #[must_use]
    pub fn taking_in_turn(self, conditions: Vec<Condition>) -> Self {
        Self { in_turn: conditions, ..self }
    }

    /// The same with few and noisy sensors among the others.
    #[must_use]
    pub fn mixing(self, mix: Option<SensorMix>) -> Self {
        Self { mix, ..self }
    }

    /// Few and noisy sensors, if there are any.
    pub(crate) fn mix(&self) -> Option<&SensorMix> {
        self.mix.as_ref()
    }

    /// The plan of a batch, numbered from 0.
    pub fn plan(&self, number: u64) -> BatchPlan {
        let first = u128::from(number) * self.batch as u128;
        let mut draws = Vec::with_capacity(self.rows.len());
        let mut current = None;
        for draw in first + self.rows.start as u128..first + self.rows.end as u128 {
            let epoch = (draw / self.records as u128) as u64;
            let permutation = match current.take() {
                Some((known, permutation)) if known == epoch => permutation,
                _ => self.permutation(epoch),
            };
            draws.push((permutation[(draw % self.records as u128) as usize] as usize, epoch));
            current = Some((epoch, permutation));
        }
        BatchPlan { condition: self.condition(number), draws }
    }

    /// The condition of a batch.
    pub fn condition(&self, number: u64) -> Condition {
        match self.mix {
            Some(mix) if self.in_turn.is_empty() && mix.is_sparse(self.seed, number) => {
                in_turn(&self.sparse_conditions(), number)
            }
            Some(mix) => mix.thin_out(self.usual_condition(number), self.seed, number),
            None => self.usual_condition(number),
        }
    }

    /// 500 uniform points of each field alone: the conditions of the paper's main comparison, and those it adapts
    /// decoders to.
    pub fn sparse_conditions(&self) -> Vec<Condition> {
        self.tasks_of_one_field()
            .map(|task| Condition::of_family(task, Family::UNIFORM, SPARSE_BUDGET))
            .collect()
    }

    /// 3% of the pixels of each field alone: the conditions of the auxiliary operator study.
    pub fn bernoulli_conditions(&self) -> Vec<Condition> {
        self.tasks_of_one_field().filter_map(Condition::bernoulli).collect()
    }

    /// The tasks that observe one field, forward before inverse.
    fn tasks_of_one_field(&self) -> impl Iterator<Item = Task> {
        [Task::Forward, Task::Inverse].into_iter().filter(|task| self.tasks.contains(task))
    }

    /// The condition that a batch has unless its sensors are few or sparse.
    fn usual_condition(&self, number: u64) -> Condition {
        if !self.in_turn.is_empty() {
            return in_turn(&self.in_turn, number);
        }
        let count = self.families.len() as u64;
        let cycle = number / count;
        let place = (number % count) as usize;
        let family = self.shuffled("family", None, cycle, &self.families)[place];
        // A family occurs once in every cycle, so the cycle numbers its occurrences.
        let task = self.pick("task", family, cycle, &self.tasks);
        let budget = self.pick("budget", family, cycle, family.budget_slots());
        Condition::of_family(task, family, budget)
    }

    /// The element that a family's occurrence meets in shuffled cycles over `items`.
    fn pick<T: Copy>(&self, what: &str, family: Family, occurrence: u64, items: &[T]) -> T {
        let length = items.len() as u64;
        self.shuffled(what, Some(family), occurrence / length, items)[(occurrence % length) as usize]
    }

    fn shuffled<T: Copy>(&self, what: &str, family: Option<Family>, cycle: u64, items: &[T]) -> Vec<T> {
        let mut items = items.to_vec();
        self.stream(what, family.map_or("", Family::name), cycle).shuffle(&mut items);
        items
    }

    /// The order of the records in an epoch.
    fn permutation(&self, epoch: u64) -> Arc<[u32]> {
        let mut remembered = self.permutations.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((_, permutation)) = remembered.iter().find(|(known, _)| *known == epoch) {
            return Arc::clone(permutation);
        }
        let mut records: Vec<u32> = (0..self.records as u32).collect();
        self.stream("records", "", epoch).shuffle(&mut records);
        let permutation: Arc<[u32]> = records.into();
        remembered.insert(0, (epoch, Arc::clone(&permutation)));
        remembered.truncate(CACHED_PERMUTATIONS);
        permutation
    }

    fn stream(&self, what: &str, family: &str, cycle: u64) -> Stream {
        Coordinates::new("schedule").text(what).number(self.seed).text(family).number(cycle).stream()
    }
}

/// The condition of a batch where batches take conditions in turn.
fn in_turn(conditions: &[Condition], number: u64) -> Condition {
    conditions[(number % conditions.len() as u64) as usize]
}
