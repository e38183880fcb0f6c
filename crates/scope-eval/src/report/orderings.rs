//! The paper's orderings of methods, and whether our runs have them.

use std::collections::BTreeMap;

use scope_pde::Pde;

use super::{
    choice::TableName,
    comparisons::{COMPARISONS, Compared, Comparison},
    endpoint::Endpoint,
    published::Published,
    runs::{Run, problems},
    table::{Cell, Section, Table},
};
use crate::paired::Paired;

/// The heads of the columns; the paper's figures come before ours.
const COLUMNS: [&str; 12] = [
    "problem",
    "paper: forward",
    "inverse",
    "first better in",
    "ours: forward",
    "t",
    "records, %",
    "inverse",
    "t",
    "records, %",
    "first better in",
    "training of the first",
];
/// How many of them are ours.
const OURS: usize = 8;

/// A section for each comparison, and a row for each problem: the paper's differences of means, and ours, paired record
/// by record.
pub(super) fn orderings(published: &Published, runs: &[Run]) -> Table {
    let problems = problems(runs.iter());
    let mut has_ours = false;
    let mut section = |comparison: &Comparison| {
        let mut rows = Vec::new();
        for &pde in &problems {
            let paper = published_cells(published, comparison, pde);
            let pairs: Vec<Pair<'_>> = (comparison.pairs(runs).into_iter())
                .filter_map(|(first, second)| Pair::of(first, second))
                .filter(|pair| pair.first.is(pde))
                .collect();
            let mut ours: Vec<Vec<Cell>> = pairs.iter().map(Pair::cells).collect();
            ours.extend(over_seeds(&pairs));
            has_ours |= !ours.is_empty();
            if ours.is_empty() && paper.is_some() {
                ours.push(vec![Cell::Missing; OURS]);
            }
            let paper = paper.unwrap_or_else(|| vec![Cell::Missing; 3]);
            rows.extend(
                ours.into_iter().map(|ours| [vec![Cell::text(pde.title())], paper.clone(), ours].concat()),
            );
        }
        Section { title: format!("{}: {}", comparison.name(), comparison.of), rows }
    };
    let sections = COMPARISONS.iter().map(&mut section).collect();
    Table {
        name: TableName::Orderings,
        title: "The paper's orderings".to_owned(),
        columns: COLUMNS.map(str::to_owned).into(),
        has_ours,
        sections,
        notes: vec![
            "Differences first - second of mean errors at uniform/500, in percentage points: negative ones favour the first. Forward \
             evaluates u, inverse a (Darcy: its bit error rate). Ours are paired on the same records and masks, with the share of \
             records on which the first is better. They are of one training each: t says how sure a difference is for these two \
             models, not for training them anew. In rows over seeds deviations and t are over trainings, and the share is of seeds."
                .to_owned(),
        ],
    }
}

/// The paper's differences of means, where it has both, and what they favour.
fn published_cells(published: &Published, comparison: &Comparison, pde: Pde) -> Option<Vec<Cell>> {
    let first = published.of(pde, comparison.first)?;
    let second = published.of(pde, comparison.second)?;
    let forward = first.forward_u? - second.forward_u?;
    let inverse = first.inverse_a? - second.inverse_a?;
    let differences = [forward, inverse].map(|difference| Cell::number(Some(difference), 4));
    Some([differences.to_vec(), vec![Cell::text(favoured(forward, inverse))]].concat())
}

/// Two runs of ours on the same records and masks.
struct Pair<'a> {
    first: &'a Run,
    /// Forward and inverse.
    differences: [Paired; 2],
}

impl<'a> Pair<'a> {
    /// Two runs, if they can be compared.
    fn of(first: &'a Run, second: &Run) -> Option<Self> {
        let [forward, inverse] =
            Endpoint::ALL.map(|endpoint| Compared::of(endpoint, first.pde()).paired(first, second));
        Some(Self { first, differences: [forward?, inverse?] })
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for paired in &self.differences {
            cells.push(Cell::number(Some(paired.difference), 4));
            cells.extend([paired.t, paired.improved].map(|value| Cell::number(Some(value), 1)));
        }
        let [forward, inverse] = &self.differences;
        cells.push(Cell::text(favoured(forward.difference, inverse.difference)));
        cells.push(Cell::text(self.training()));
        cells
    }

    /// The size of the network and what its training cost.
    fn training(&self) -> String {
        let size = self.first.identity().method.model.as_deref().unwrap_or("own size");
        format!("{size}, {}", self.first.training())
    }
}

/// A row for each kind of training that has pairs from several seeds: means and deviations of their differences over
/// seeds.
fn over_seeds(pairs: &[Pair<'_>]) -> Vec<Vec<Cell>> {
    let mut kinds: BTreeMap<String, BTreeMap<Option<u64>, &Pair<'_>>> = BTreeMap::new();
    for pair in pairs {
        let seed = pair.first.identity().method.training.as_ref().and_then(|training| training.seed);
        kinds.entry(pair.training()).or_default().entry(seed).or_insert(pair);
    }
    let row = |(training, seeds): (String, BTreeMap<Option<u64>, &Pair<'_>>)| {
        let mut cells = Vec::new();
        let mut means = [0.0; 2];
        for (task, mean) in means.iter_mut().enumerate() {
            let differences: Vec<f64> =
                seeds.values().map(|pair| pair.differences[task].difference).collect();
            let count = differences.len() as f64;
            *mean = differences.iter().sum::<f64>() / count;
            let squares: f64 = differences.iter().map(|difference| (difference - *mean).powi(2)).sum();
            let sd = (squares / (count - 1.0)).sqrt();
            let t = (sd > 0.0).then(|| *mean / (sd / count.sqrt()));
            let better = differences.iter().filter(|difference| **difference < 0.0).count() as f64;
            cells.push(Cell::with_sd(Some(*mean), Some(sd), 4));
            cells.extend([Cell::number(t, 1), Cell::number(Some(100.0 * better / count), 1)]);
        }
        cells.push(Cell::text(favoured(means[0], means[1])));
        cells.push(Cell::text(format!("{training}, over {} seeds", seeds.len())));
        cells
    };
    kinds.into_iter().filter(|(_, seeds)| seeds.len() > 1).map(row).collect()
}

/// The tasks in which the first has the smaller error.
fn favoured(forward: f64, inverse: f64) -> &'static str {
    match (forward < 0.0, inverse < 0.0) {
        (true, true) => "both",
        (true, false) => "forward",
        (false, true) => "inverse",
        (false, false) => "neither",
    }
}
