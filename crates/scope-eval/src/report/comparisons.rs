//! The pairs of methods that the paper compares, and those of our runs that are such pairs.

use scope_data::observation::Task;
use scope_model::Measure;
use scope_pde::Pde;

use super::{
    endpoint::Endpoint,
    runs::{Run, grouped},
    table::Cell,
};
use crate::{
    paired::{Paired, compare, matching},
    protocol::Protocol,
};

/// Two methods by their names in the paper, the one that the paper finds better first.
pub(super) struct Comparison {
    pub(super) first: &'static str,
    pub(super) second: &'static str,
    /// What the two differ in.
    pub(super) of: &'static str,
}

/// The paper's tables of pairs have the first five; its text compares the decoders of one size.
pub(super) const COMPARISONS: [Comparison; 8] = [
    Comparison { first: "SP-5M", second: "Full", of: ADAPTATION },
    Comparison { first: "SP-10M", second: "Full", of: ADAPTATION },
    Comparison { first: "SP-15M", second: "Full", of: ADAPTATION },
    Comparison { first: "Full", second: "FO", of: "the whole objective" },
    Comparison { first: "Full", second: "FJV", of: "grounding" },
    Comparison { first: "SP-5M", second: "DP-5M", of: VIEW },
    Comparison { first: "SP-10M", second: "DP-10M", of: VIEW },
    Comparison { first: "SP-15M", second: "DP-15M", of: VIEW },
];

const ADAPTATION: &str = "a new decoder on sparse contexts";
const VIEW: &str = "what the decoder is fitted on";

impl Comparison {
    /// `SP-5M - Full`.
    pub(super) fn name(&self) -> String {
        format!("{} - {}", self.first, self.second)
    }

    /// Those pairs of our runs: one problem, one size of network and one seed.
    pub(super) fn pairs<'a>(&self, runs: &'a [Run]) -> Vec<(&'a Run, &'a Run)> {
        let of = |name: &'static str| runs.iter().filter(move |run| method(run).as_deref() == Some(name));
        let alike = |a: &Run, b: &Run| {
            let key = |run: &Run| {
                let method = &run.identity().method;
                (run.pde(), method.model.clone(), method.training.as_ref().and_then(|training| training.seed))
            };
            key(a) == key(b)
        };
        of(self.first)
            .flat_map(|a| of(self.second).filter(move |b| alike(a, b)).map(move |b| (a, b)))
            .collect()
    }
}

/// What the paper calls a run's method: a recipe with its own decoder, or a decoder on the Full backbone.
fn method(run: &Run) -> Option<String> {
    let method = &run.identity().method;
    match method.replaced_decoder() {
        Some(decoder) => method.is_full().then(|| decoder.to_uppercase()),
        None if method.has_native_decoder() && method.is_full() => Some("Full".to_owned()),
        None if method.has_native_decoder() => method.recipe.as_ref().map(|recipe| recipe.to_uppercase()),
        None => None,
    }
}

/// What is compared at 500 uniform points.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    /// Its name among the published pairs.
    pub(super) name: &'static str,
    task: Task,
    measure: Measure,
}

/// All that is compared. Darcy's inverse is a classification, and has its continuous error beside.
pub(super) const COMPARED: [Compared; 4] = [
    Compared { name: "forward u", task: Task::Forward, measure: Measure::U },
    Compared { name: "inverse a", task: Task::Inverse, measure: Measure::A },
    Compared { name: "inverse a (BER)", task: Task::Inverse, measure: Measure::BitErrorRate },
    Compared { name: "inverse a, continuous", task: Task::Inverse, measure: Measure::A },
];

impl Compared {
    /// The one that is a task's own error of a problem.
    pub(super) fn of(endpoint: Endpoint, pde: Pde) -> Self {
        match endpoint {
            Endpoint::Forward => COMPARED[0],
            Endpoint::Inverse if endpoint.is_classification(pde) => COMPARED[2],
            Endpoint::Inverse => COMPARED[1],
        }
    }

    /// Whether a problem has it.
    fn is_of(&self, pde: Pde) -> bool {
        let classified = Endpoint::Inverse.is_classification(pde);
        match self.name {
            "inverse a" => !classified,
            "inverse a (BER)" | "inverse a, continuous" => classified,
            _ => true,
        }
    }

    /// The comparison of two runs, if they have one, on the most records that both were evaluated on: other records or
    /// masks are no pair.
    pub(super) fn paired(&self, first: &Run, second: &Run) -> Option<Paired> {
        let pde = first.pde();
        let condition = Protocol::Uniform500.condition(pde, self.task).filter(|_| self.is_of(pde))?;
        let (a, b) = matching(&first.records, &second.records, condition).ok()?;
        compare(a, b, condition, self.measure).ok()
    }
}

/// A pair's row after its label: records, difference with its interval, deviation, t and the share of records improved.
pub(super) fn paired_cells(label: String, paired: &Paired) -> Vec<Cell> {
    let mut row = vec![Cell::text(label), Cell::text(grouped(paired.count))];
    row.extend(
        [paired.difference, paired.interval[0], paired.interval[1], paired.sd]
            .map(|value| Cell::number(Some(value), 4)),
    );
    row.extend([paired.t, paired.improved].map(|value| Cell::number(Some(value), 1)));
    row
}
