//! Paired differences, the paper's and ours, grouped as the paper's comparisons.

use scope_data::observation::Condition;

use super::{
    choice::TableName,
    comparisons::{COMPARED, COMPARISONS, Compared, Comparison, paired_cells},
    published::{PairedRow, Published},
    runs::{Run, are_all_own, grouped},
    table::{Cell, Section, Table},
};
use crate::{paired::matching, protocol::Protocol};

/// The most other pairs of ours that are listed.
const MOST_OTHERS: usize = 12;

/// A section for each comparison of the paper and each error, with the paper's rows and ours; then other pairs of our
/// runs on the same records and masks, in the order they were given.
pub(super) fn paired(published: &Published, runs: &[Run]) -> Table {
    let mut sections = Vec::new();
    let mut has_ours = false;
    let all_own = are_all_own(&runs.iter().map(Run::pde).collect());
    for compared in COMPARED {
        for comparison in COMPARISONS {
            let ours = our_rows(&comparison, compared, runs);
            has_ours |= !ours.is_empty();
            let mut rows: Vec<Vec<Cell>> = (published.paired.iter())
                .filter(|row| !all_own && row.is_of(&comparison, compared))
                .map(published_cells)
                .collect();
            rows.extend(ours);
            sections.push(Section { title: format!("{}: {}", compared.name, comparison.name()), rows });
        }
    }
    let others = other_pairs(runs);
    let mut notes = notes(runs);
    if others.len() <= MOST_OTHERS {
        let rows: Vec<Vec<Cell>> = others.iter().flat_map(|(a, b)| rows_of_pair(a, b)).collect();
        has_ours |= !rows.is_empty();
        sections.push(Section { title: "Other pairs of ours, same records and masks".to_owned(), rows });
    } else {
        notes.push(format!(
            "{} other pairs of our runs are left out: `scope compare` or a report of fewer runs shows them.",
            others.len()
        ));
    }
    let columns = ["problem", "n", "difference", "95% from", "to", "paired SD", "t", "first better, %"];
    Table {
        name: TableName::Paired,
        title: "Paired differences at uniform/500".to_owned(),
        columns: columns.map(str::to_owned).into(),
        has_ours,
        sections,
        notes,
    }
}

impl PairedRow {
    fn is_of(&self, comparison: &Comparison, compared: Compared) -> bool {
        self.first == comparison.first && self.second == comparison.second && self.endpoint == compared.name
    }
}

fn published_cells(row: &PairedRow) -> Vec<Cell> {
    let mut cells =
        vec![Cell::text(format!("the paper: {}", row.pde.title())), Cell::text(grouped(row.count))];
    cells.extend([Some(row.difference), None, None, Some(row.sd)].map(|value| Cell::number(value, 4)));
    cells.extend([row.t, row.improved].map(|value| Cell::number(Some(value), 1)));
    cells
}

fn our_rows(comparison: &Comparison, compared: Compared, runs: &[Run]) -> Vec<Vec<Cell>> {
    let row = |(first, second): (&Run, &Run)| {
        let paired = compared.paired(first, second)?;
        let label = format!("ours: {}, {} - {}", first.pde().title(), first.label(), second.label());
        Some(paired_cells(label, &paired))
    };
    comparison.pairs(runs).into_iter().filter_map(row).collect()
}

/// The pairs on one data set that no comparison of the paper has, either way round.
fn other_pairs(runs: &[Run]) -> Vec<(&Run, &Run)> {
    let listed = |a: &Run, b: &Run| {
        COMPARISONS.iter().any(|comparison| {
            let pairs = comparison.pairs(runs);
            let is = |x: &Run, y: &Run| pairs.iter().any(|(p, q)| std::ptr::eq(*p, x) && std::ptr::eq(*q, y));
            is(a, b) || is(b, a)
        })
    };
    let mut others = Vec::new();
    for (k, first) in runs.iter().enumerate() {
        let rest = runs[k + 1..].iter().filter(|second| data(first) == data(second));
        others.extend(rest.filter(|second| !listed(first, second)).map(|second| (first, second)));
    }
    others
}

/// The rows of a pair, one an error.
fn rows_of_pair(first: &Run, second: &Run) -> Vec<Vec<Cell>> {
    let row = |compared: Compared| {
        let paired = compared.paired(first, second)?;
        let pair = format!("{} - {}", first.label(), second.label());
        Some(paired_cells(format!("{}, {}: {pair}", first.pde().title(), compared.name), &paired))
    };
    COMPARED.into_iter().filter_map(row).collect()
}

fn data(run: &Run) -> &str {
    &run.identity().data.blake3
}

fn notes(runs: &[Run]) -> Vec<String> {
    let pairs = (0..runs.len()).flat_map(|k| runs[k + 1..].iter().map(move |second| (&runs[k], second)));
    let unmatched = pairs.filter(|(first, second)| misses_a_pair(first, second)).count();
    let mut notes = vec![
        "Percentage points; negative differences favour the first. The statistics describe fixed models on these records, not \
         training anew. The interval is a bootstrap over records."
            .to_owned(),
    ];
    if unmatched > 0 {
        notes.push(format!(
            "Pairs of our runs on one data set that lack rows, as they have no evaluation of the same number of records under the same \
             masks: {unmatched}."
        ));
    }
    notes
}

/// Whether two runs have an endpoint of the same data set in common, and no evaluations of it that match.
fn misses_a_pair(first: &Run, second: &Run) -> bool {
    let missed = |condition: Condition| {
        [first, second].iter().all(|run| run.tested(condition).is_some())
            && matching(&first.records, &second.records, condition).is_err()
    };
    data(first) == data(second) && Protocol::Uniform500.conditions(first.pde()).into_iter().any(missed)
}
