//! How many pixels lie within the bands that methods state.

use std::collections::BTreeMap;

use scope_data::{Channel, observation::Condition};
use scope_model::Measure;

use super::{
    choice::TableName,
    runs::{Run, grouped},
    table::{Cell, Section, Table},
};
use crate::{bands::LEVELS, summary::Summary};

/// A section a run, a row for each task and layout: the least and the largest mean share over numbers of sensors.
pub(super) fn bands(runs: &[Run]) -> Table {
    let sections: Vec<Section> = runs.iter().filter_map(section).collect();
    let mut columns = vec!["sensors as in".to_owned(), "numbers of them".to_owned(), "records".to_owned()];
    for channel in Channel::BOTH.map(Channel::name) {
        columns.extend(LEVELS.map(|level| format!("{channel} within {:.0}% band", 100.0 * level)));
    }
    Table {
        name: TableName::Bands,
        title: "Pixels within error bands".to_owned(),
        columns,
        has_ours: !sections.is_empty(),
        sections,
        notes: vec![
            "Percent of pixels, means over records; where there are several numbers of sensors, the least and the largest mean. Pixels \
             whose value is known count for nothing; records: the fewest that have bands."
                .to_owned(),
        ],
    }
}

fn section(run: &Run) -> Option<Section> {
    let measures: Vec<Measure> = Channel::BOTH
        .into_iter()
        .flat_map(|channel| LEVELS.map(|level| Measure::within(channel, level)))
        .collect();
    let mut layouts: BTreeMap<String, Vec<Condition>> = BTreeMap::new();
    for condition in run.conditions() {
        if run.summary(condition, measures[0]).is_some() {
            let layout = format!("{}/{}", condition.task().name(), condition.layout_name());
            layouts.entry(layout).or_default().push(condition);
        }
    }
    let rows = layouts.into_iter().map(|(layout, conditions)| {
        let of = |measure: Measure| -> Vec<&Summary> {
            conditions.iter().filter_map(|condition| run.summary(*condition, measure)).collect()
        };
        let records = of(measures[0]).iter().map(|summary| summary.count).min().unwrap_or(0);
        let mut cells =
            vec![Cell::text(layout), Cell::text(grouped(conditions.len())), Cell::text(grouped(records))];
        cells.extend(measures.iter().map(|measure| {
            let means: Vec<f64> = of(*measure).iter().filter_map(|summary| summary.mean).collect();
            range(&means)
        }));
        cells
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    (!rows.is_empty()).then(|| Section { title: format!("{}: {}", run.pde(), run.label()), rows })
}

/// One figure, or the least and the largest.
fn range(means: &[f64]) -> Cell {
    let low = means.iter().copied().reduce(f64::min);
    let high = means.iter().copied().reduce(f64::max);
    match low.zip(high) {
        None => Cell::Missing,
        Some((low, high)) if low == high => Cell::number(Some(low), 1),
        Some((low, high)) => Cell::text(format!("{low:.1} to {high:.1}")),
    }
}
