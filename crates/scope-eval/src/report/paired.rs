//! Paired differences, the paper's and ours.

use scope_data::observation::{Condition, Task};
use scope_model::Measure;

use super::{
    choice::TableName,
    published::Published,
    runs::{Run, are_all_own, grouped},
    table::{Cell, Number, Section, Table},
};
use crate::{
    paired::{Paired, compare, matching},
    protocol::Protocol,
};

/// What is compared at 500 uniform points: a name, the task and the measure.
const ENDPOINTS: [(&str, Task, Measure); 3] = [
    ("forward u", Task::Forward, Measure::U),
    ("inverse a", Task::Inverse, Measure::A),
    ("inverse a (BER)", Task::Inverse, Measure::BitErrorRate),
];

/// All pairs of our runs on the same records and masks, in the order they were given, beside the paper's.
pub(super) fn paired(published: &Published, runs: &[Run]) -> Table {
    let mut ours = Vec::new();
    let mut unmatched = 0;
    for (k, first) in runs.iter().enumerate() {
        for second in &runs[k + 1..] {
            unmatched += usize::from(misses_a_pair(first, second));
            for (endpoint, task, measure) in ENDPOINTS {
                if let Some(paired) = matched(first, second, task, measure) {
                    let pair = format!("{} - {}", first.label(), second.label());
                    ours.push(row(&pair, endpoint, first.pde().title(), &paired));
                }
            }
        }
    }
    let all_own = are_all_own(&runs.iter().map(Run::pde).collect());
    let paper = published.paired.iter().filter(|_| !all_own).map(|line| {
        let cells = [Some(line.difference), None, None, Some(line.sd)].map(|value| Cell::number(value, 4));
        let mut row =
            vec![Cell::text(format!("{} - {}", line.first, line.second)), Cell::text(&line.endpoint)];
        row.extend([Cell::text(line.pde.title()), Cell::text(grouped(line.count))]);
        row.extend(cells);
        row.extend([Cell::number(Some(line.t), 1), Cell::number(Some(line.improved), 1)]);
        row
    });
    let columns = [
        "pair",
        "endpoint",
        "problem",
        "n",
        "difference",
        "95% from",
        "to",
        "paired SD",
        "t",
        "first better, %",
    ];
    Table {
        name: TableName::Paired,
        title: "Paired differences at uniform/500".to_owned(),
        columns: columns.map(str::to_owned).into(),
        has_ours: !ours.is_empty(),
        sections: vec![
            Section { title: "The paper".to_owned(), rows: paper.collect() },
            Section { title: "Ours, same records and masks".to_owned(), rows: ours },
        ],
        notes: notes(unmatched),
    }
}

fn notes(unmatched: usize) -> Vec<String> {
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

/// The comparison of two runs, if they have one, on the most records that both were evaluated on: other records or masks are no
/// pair.
fn matched(first: &Run, second: &Run, task: Task, measure: Measure) -> Option<Paired> {
    let condition = Protocol::Uniform500.condition(first.pde(), task)?;
    let (a, b) = matching(&first.records, &second.records, condition).ok()?;
    compare(a, b, condition, measure).ok()
}

/// Whether two runs have an endpoint of the same data set in common, and no evaluations of it that match.
fn misses_a_pair(first: &Run, second: &Run) -> bool {
    let data = |run: &Run| run.identity().data.blake3.clone();
    let missed = |condition: Condition| {
        [first, second].iter().all(|run| run.tested(condition).is_some())
            && matching(&first.records, &second.records, condition).is_err()
    };
    data(first) == data(second) && Protocol::Uniform500.conditions(first.pde()).into_iter().any(missed)
}

fn row(pair: &str, endpoint: &str, pde: &str, paired: &Paired) -> Vec<Cell> {
    let number = |value: f64, decimals: usize| {
        Cell::Number(Number { value, decimals, sd: None, mark: super::table::Mark::Plain })
    };
    let mut row =
        vec![Cell::text(pair), Cell::text(endpoint), Cell::text(pde), Cell::text(grouped(paired.count))];
    row.extend(
        [paired.difference, paired.interval[0], paired.interval[1], paired.sd].map(|value| number(value, 4)),
    );
    row.extend([number(paired.t, 1), number(paired.improved, 1)]);
    row
}
