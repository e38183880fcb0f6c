//! Our own rows: the evaluations of one model on one data set.

use std::collections::BTreeSet;

use scope_data::Channel;
use scope_data::observation::{Condition, Family, NAMED_POINTS, Task, TestNoise};
use scope_model::{Budget, Measure, MethodKind, Provenance};
use scope_pde::Pde;

use super::{endpoint::Endpoint, published::Channels};
use crate::{evaluate::PerRecord, protocol::Protocol, results::Record, summary::Summary};

/// All that was evaluated.
#[derive(Clone, Debug)]
pub struct Runs {
    /// What tables have rows of: of each training the model that has seen the most draws.
    pub latest: Vec<Run>,
    /// The same trainings after fewer draws, on the same records: points of learning curves.
    pub earlier: Vec<Run>,
}

impl Runs {
    /// Puts evaluations together that belong to one model and one data set, in the order they come.
    pub fn gather(records: Vec<Record>) -> Self {
        let runs = Run::gather(records);
        let surpassed: Vec<bool> =
            runs.iter().map(|run| runs.iter().any(|other| run.precedes(other))).collect();
        let (earlier, latest): (Vec<_>, Vec<_>) =
            runs.into_iter().zip(surpassed).partition(|(_, surpassed)| *surpassed);
        let alone = |runs: Vec<(Run, bool)>| runs.into_iter().map(|(run, _)| run).collect();
        Self { latest: alone(latest), earlier: alone(earlier) }
    }
}

/// The evaluations of one model on one data set, with masks of one seed and computed in one way, under any number of
/// protocols.
#[derive(Clone, Debug)]
pub struct Run {
    pub(super) records: Vec<Record>,
    /// What its label says of masks and computation, where the same model was tested on the same data in another way
    /// too.
    apart: String,
}

impl Run {
    fn gather(records: Vec<Record>) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        for record in records {
            let identity = &record.results.identity;
            let own = |run: &&mut Self| run.tests_as(identity) && run.how() == how(identity);
            match runs.iter_mut().find(own) {
                Some(run) => run.records.push(record),
                None => runs.push(Self { records: vec![record], apart: String::new() }),
            }
        }
        let apart: Vec<String> = runs.iter().map(|run| run.told_apart(&runs)).collect();
        runs.iter_mut().zip(apart).for_each(|(run, apart)| run.apart = apart);
        runs
    }

    /// Whether another evaluation is of the same model on the same data.
    fn tests_as(&self, other: &Provenance) -> bool {
        let of = |identity: &Provenance| {
            (identity.method.blake3.clone(), identity.method.kind.clone(), identity.data.blake3.clone())
        };
        of(self.identity()) == of(other)
    }

    fn how(&self) -> (u64, &str, Option<TestNoise>) {
        how(self.identity())
    }

    /// What a label must add, as the same model has other runs among these.
    fn told_apart(&self, runs: &[Self]) -> String {
        let others = || runs.iter().filter(|run| run.tests_as(self.identity()));
        let (seed, computed, noise) = self.how();
        let grid = self.identity().data.resolution;
        let mut apart = String::new();
        if grid.points() != NAMED_POINTS {
            apart.push_str(&format!(", {grid} grid"));
            // Budgets are shares: a small grid's figures stand beside those of 128 x 128 points. The auxiliary study
            // has none.
            if !matches!(self.identity().method.kind, MethodKind::Auxiliary(_)) {
                let points = Family::UNIFORM.points(500, grid);
                apart.push_str(&format!(", {points} points for 500"));
            }
        }
        apart.push_str(&noise.map_or_else(String::new, |noise| format!(", {}", noise.label())));
        if others().any(|run| run.how().0 != seed) {
            apart.push_str(&format!(", mask seed {seed}"));
        }
        if others().any(|run| run.how().1 != computed) {
            apart.push_str(&format!(", {computed}"));
        }
        apart
    }

    /// Whether another is a later moment of the same training, evaluated on the same records.
    fn precedes(&self, other: &Self) -> bool {
        let own = self.identity();
        let other = other.identity();
        let on_the_same =
            |identity: &Provenance| (identity.pde, identity.data.blake3.clone(), identity.masks.noise);
        on_the_same(own) == on_the_same(other) && own.method.precedes(&other.method)
    }

    /// What all its evaluations have in common: problem, method, data, mask seed and computation. Numbers of records
    /// are each evaluation's own.
    pub(super) fn identity(&self) -> &Provenance {
        &self.records[0].results.identity
    }

    /// What its rows are called.
    pub fn label(&self) -> String {
        format!("{}{}", self.identity().method.label(), self.apart)
    }

    /// Its problem.
    pub fn pde(&self) -> Pde {
        self.identity().pde
    }

    pub(super) fn is(&self, pde: Pde) -> bool {
        self.pde() == pde
    }

    /// All conditions that it was evaluated under, each once.
    pub(super) fn conditions(&self) -> BTreeSet<Condition> {
        self.records.iter().flat_map(|record| record.results.conditions.keys()).copied().collect()
    }

    /// The evaluation that supplies a measure under a condition: the one with the most records.
    fn source(&self, condition: Condition, measure: Measure) -> Option<&Record> {
        let has = |record: &&Record| {
            record.results.conditions.get(&condition).is_some_and(|measures| measures.contains_key(&measure))
        };
        self.records.iter().filter(has).max_by_key(|record| record.results.identity.records)
    }

    /// A measure under a condition, from the evaluation with the most records.
    pub fn summary(&self, condition: Condition, measure: Measure) -> Option<&Summary> {
        self.source(condition, measure)?.results.conditions.get(&condition)?.get(&measure)
    }

    /// The values that [`Self::summary`] sums up, a record each.
    pub(super) fn values(&self, condition: Condition, measure: Measure) -> Option<&PerRecord> {
        self.source(condition, measure)?.values.get(&condition)?.get(&measure)
    }

    /// How many records the figures under a condition are of.
    pub(super) fn tested(&self, condition: Condition) -> Option<usize> {
        self.source(condition, Measure::U).map(|record| record.results.identity.records)
    }

    /// Numbers of records, with the protocol where there are several.
    pub(super) fn counts(&self) -> String {
        let mut counts: Vec<(usize, &str)> = Vec::new();
        for source in self.conditions().into_iter().filter_map(|condition| self.source(condition, Measure::U))
        {
            let identity = &source.results.identity;
            counts.push((identity.records, &identity.protocol));
        }
        counts.sort_unstable_by_key(|(records, protocol)| (std::cmp::Reverse(*records), *protocol));
        counts.dedup();
        match counts.as_slice() {
            [(first, _), rest @ ..] if rest.iter().all(|(records, _)| records == first) => grouped(*first),
            _ => {
                let named = counts.iter().map(|(n, protocol)| format!("{} ({protocol})", grouped(*n)));
                named.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Both channels of both tasks under a protocol that has one condition a task.
    pub(super) fn channels(&self, protocol: Protocol) -> Measured<'_> {
        let pde = self.pde();
        let of = |task: Task, measure: Measure| self.summary(protocol.condition(pde, task)?, measure);
        Measured {
            forward_a: of(Task::Forward, Measure::A),
            forward_u: of(Task::Forward, Endpoint::Forward.measure(pde)),
            inverse_a: of(Task::Inverse, Endpoint::Inverse.measure(pde)),
            inverse_u: of(Task::Inverse, Measure::U),
            inverse_a_l2: of(Task::Inverse, Measure::A).filter(|_| Endpoint::Inverse.is_classification(pde)),
        }
    }

    /// The hidden field of both tasks under the auxiliary study, in the paper's units: physical ones for Darcy, stored
    /// coordinates elsewhere.
    pub(super) fn auxiliary(&self) -> Measured<'_> {
        let pde = self.pde();
        let is_classified = Endpoint::Inverse.is_classification(pde);
        let of = |task: Task, channel: Channel, measure: Measure| {
            let measure = if is_classified { measure } else { Measure::Stored(channel) };
            self.summary(Protocol::Auxiliary.condition(pde, task)?, measure)
        };
        Measured {
            forward_u: of(Task::Forward, Channel::U, Measure::U),
            inverse_a: of(Task::Inverse, Channel::A, Measure::BitErrorRate),
            ..Measured::default()
        }
    }

    /// Whether a row ranks beside others: ablations of the backbone, the exact posterior and noisy readings do not.
    pub(super) fn ranked(&self) -> bool {
        let method = &self.identity().method;
        let ablation = method.kind == MethodKind::Scope && !method.is_full();
        !ablation && method.kind != MethodKind::Exact && self.identity().masks.noise.is_none()
    }

    /// What its training cost.
    pub(super) fn training(&self) -> String {
        self.identity()
            .method
            .training
            .as_ref()
            .map_or("none".to_owned(), |budget| describe(budget, self.pde()))
    }
}

/// How a model was tested: the seed of the masks, where and in which precision it was computed, and the noise of the
/// readings.
fn how(identity: &Provenance) -> (u64, &str, Option<TestNoise>) {
    (identity.masks.seed, &identity.computed, identity.masks.noise)
}

/// Whether problems, at least one, are all of someone's own: the paper's figures say nothing beside them.
pub(super) fn are_all_own(measured: &BTreeSet<Pde>) -> bool {
    !measured.is_empty() && measured.iter().all(|pde| pde.descriptor().spec.is_some())
}

/// The problems that tables and charts have a place for: the paper's, and those of other runs after them; those of
/// someone's own runs alone if there are no others.
pub(super) fn problems<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<Pde> {
    let measured: BTreeSet<Pde> = runs.map(Run::pde).collect();
    if are_all_own(&measured) {
        return measured.into_iter().collect();
    }
    let all: BTreeSet<Pde> = Pde::ALL.into_iter().chain(measured).collect();
    all.into_iter().collect()
}

/// Of problems, those whose inverse is a classification and has a bit error rate, in words; none if there are none.
pub(super) fn classified(problems: &[Pde]) -> Option<String> {
    let titles = problems.iter().filter(|pde| Endpoint::Inverse.is_classification(**pde));
    let titles: Vec<&str> = titles.map(|pde| pde.title()).collect();
    (!titles.is_empty()).then(|| titles.join(" and "))
}

/// Runs of one label on different problems together; a second run on a problem begins another group.
pub(super) fn by_label<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<(String, Vec<&'a Run>)> {
    grouped_by_label(runs.filter(|run| run.channels(Protocol::Uniform500).any()))
}

/// The same for runs that were evaluated under the auxiliary study.
pub(super) fn auxiliary_by_label<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<(String, Vec<&'a Run>)> {
    grouped_by_label(runs.filter(|run| run.auxiliary().any()))
}

fn grouped_by_label<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<(String, Vec<&'a Run>)> {
    let mut groups: Vec<(String, Vec<&Run>)> = Vec::new();
    for run in runs {
        let free = |group: &&mut (String, Vec<&Run>)| {
            group.0 == run.label() && group.1.iter().all(|other| other.pde() != run.pde())
        };
        match groups.iter_mut().find(free) {
            Some((_, members)) => members.push(run),
            None => groups.push((run.label(), vec![run])),
        }
    }
    groups
}

/// Summaries of both channels of both tasks; Darcy's inverse a is a bit error rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured<'a> {
    pub(super) forward_a: Option<&'a Summary>,
    pub(super) forward_u: Option<&'a Summary>,
    pub(super) inverse_a: Option<&'a Summary>,
    pub(super) inverse_u: Option<&'a Summary>,
    pub(super) inverse_a_l2: Option<&'a Summary>,
}

impl Measured<'_> {
    /// Whether anything was measured.
    pub(super) fn any(&self) -> bool {
        self.forward_u.is_some() || self.inverse_a.is_some()
    }

    /// The means, as the paper gives them.
    pub(super) fn means(&self) -> Channels {
        let mean = |summary: Option<&Summary>| summary.and_then(|summary| summary.mean);
        let sd = |summary: Option<&Summary>| summary.and_then(|summary| summary.sd);
        Channels {
            forward_a: mean(self.forward_a),
            forward_u: mean(self.forward_u),
            forward_u_sd: sd(self.forward_u),
            inverse_a: mean(self.inverse_a),
            inverse_a_sd: sd(self.inverse_a),
            inverse_u: mean(self.inverse_u),
            inverse_a_l2: mean(self.inverse_a_l2),
            ..Channels::default()
        }
    }

    /// Records scored, and those without a value.
    pub(super) fn counts(&self) -> String {
        let shown = |summary: Option<&Summary>| match summary {
            Some(summary) if summary.undefined > 0 => {
                format!("{} ({} undefined)", summary.count, summary.undefined)
            }
            Some(summary) => summary.count.to_string(),
            None => "—".to_owned(),
        };
        let a = shown(self.inverse_a.or(self.forward_a));
        let u = shown(self.forward_u.or(self.inverse_u));
        if a == u { a } else { format!("a {a}, u {u}") }
    }
}

fn describe(budget: &Budget, pde: Pde) -> String {
    let mut parts = vec![budget.described(millions)];
    if let Some(minutes) = budget.minutes {
        parts.push(format!("{minutes} min"));
    }
    if budget.cut_short {
        parts.push("cut short".to_owned());
    }
    if !budget.generated && pde.descriptor().spec.is_none() {
        parts.push("released data".to_owned());
    }
    parts.join(", ")
}

/// 952288 as "0.952M".
pub(super) fn millions(draws: u64) -> String {
    match draws {
        0..10_000 => draws.to_string(),
        _ => format!("{:.3}M", draws as f64 / 1e6),
    }
}

/// 50000 as "50,000".
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
