//! The paper's orderings of methods, and whether our runs have them.

use scope_pde::Pde;

use super::{
    choice::TableName,
    comparisons::{COMPARISONS, Compared, Comparison},
    endpoint::Endpoint,
    published::Published,
    runs::{Run, problems},
    table::{Cell, Section, Table},
};

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

/// A section for each comparison, and a row for each problem: the paper's differences of means, and ours, paired record by record.
pub(super) fn orderings(published: &Published, runs: &[Run]) -> Table {
    let problems = problems(runs.iter());
    let mut has_ours = false;
    let mut section = |comparison: &Comparison| {
        let mut rows = Vec::new();
        for &pde in &problems {
            let paper = published_cells(published, comparison, pde);
            let pairs = comparison.pairs(runs).into_iter().filter(|(first, _)| first.is(pde));
            let mut ours: Vec<Vec<Cell>> =
                pairs.filter_map(|(first, second)| our_cells(first, second)).collect();
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
             models, not for training them anew."
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

/// Two runs of ours, if they can be compared.
fn our_cells(first: &Run, second: &Run) -> Option<Vec<Cell>> {
    let [forward, inverse] =
        Endpoint::ALL.map(|endpoint| Compared::of(endpoint, first.pde()).paired(first, second));
    let (forward, inverse) = forward.zip(inverse)?;
    let mut cells = Vec::new();
    for paired in [&forward, &inverse] {
        cells.push(Cell::number(Some(paired.difference), 4));
        cells.extend([paired.t, paired.improved].map(|value| Cell::number(Some(value), 1)));
    }
    cells.push(Cell::text(favoured(forward.difference, inverse.difference)));
    let size = first.identity().method.model.as_deref().unwrap_or("own size");
    cells.push(Cell::text(format!("{size}, {}", first.training())));
    Some(cells)
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
