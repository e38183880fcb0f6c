//! Who has how many parameters, and where each row comes from.

use scope_model::{Accounting, Head, Preset};

use super::{
    choice::TableName,
    runs::{Run, Runs, grouped},
    table::{Cell, Section, Table},
};
use crate::error::EvalError;

/// The paper's accounting, with the share of a deployed model that a head is.
pub(super) fn parameters() -> Result<Table, EvalError> {
    let refuse = |error: scope_model::ModelError| EvalError::Mismatch(error.to_string());
    let config = Preset::Base.config(128);
    let count = |n: usize| Cell::text(grouped(n));
    let native = Accounting::of(&config, None).map_err(refuse)?;
    let mut rows: Vec<Vec<Cell>> = native
        .components()
        .iter()
        .map(|part| vec![Cell::text(&part.name), count(part.parameters), Cell::Missing])
        .collect();
    for head in [Head::M5, Head::M10, Head::M15] {
        let accounting = Accounting::of(&config, Some(head)).map_err(refuse)?;
        let own = accounting.head.map_or(0, |(_, parameters)| parameters);
        let total = accounting.backbone() + own;
        let name = head.name().to_uppercase();
        rows.push(vec![Cell::text(format!("SP-{name} decoder")), count(own), Cell::Missing]);
        let share = Cell::number(Some(100.0 * own as f64 / total as f64), 2);
        rows.push(vec![Cell::text(format!("SP-{name} deployment total")), count(total), share]);
    }
    Ok(Table {
        name: TableName::Parameters,
        title: "Parameter accounting of the paper's model".to_owned(),
        columns: ["component", "parameters", "head's share, %"].map(str::to_owned).into(),
        sections: vec![Section { title: String::new(), rows }],
        notes: vec![
            "Deployment leaves the teacher out; adaptation trains the replacement head only.".to_owned(),
        ],
        has_ours: false,
    })
}

/// Every run with all that tells it from another.
pub(super) fn provenance(runs: &Runs) -> Table {
    let section = |title: &str, runs: &[Run]| Section {
        title: title.to_owned(),
        rows: runs.iter().map(origin).collect(),
    };
    let mut sections = vec![section("", &runs.latest)];
    if !runs.earlier.is_empty() {
        sections.push(section("Earlier moments of the same trainings: in no other table", &runs.earlier));
    }
    let columns = [
        "run",
        "problem",
        "parameters",
        "training",
        "seed",
        "model",
        "records",
        "n",
        "data",
        "mask seed",
        "computed",
    ];
    Table {
        name: TableName::Runs,
        title: "Where our rows come from".to_owned(),
        columns: columns.map(str::to_owned).into(),
        has_ours: !runs.latest.is_empty(),
        sections,
        notes: vec!["Model and data: the first letters of their BLAKE3.".to_owned()],
    }
}

/// The row of a run: what was trained how, and tested on what.
fn origin(run: &Run) -> Vec<Cell> {
    let short = |hash: &str| hash.get(..12).unwrap_or(hash).to_owned();
    let identity = run.identity();
    let method = &identity.method;
    let seed = method.training.as_ref().and_then(|training| training.seed);
    [
        run.label(),
        identity.pde.to_string(),
        grouped(method.parameters),
        run.training(),
        seed.map_or("—".to_owned(), |seed| seed.to_string()),
        method.blake3.as_deref().map_or("—".to_owned(), short),
        format!("{} ({})", identity.data.origin, identity.data.split),
        run.counts(),
        short(&identity.data.blake3),
        identity.masks.seed.to_string(),
        identity.computed.clone(),
    ]
    .map(Cell::text)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::Number;

    #[test]
    fn the_heads_are_the_shares_that_the_paper_states() {
        let table = parameters().unwrap();
        let of = |name: &str| {
            let row = table.sections[0].rows.iter().find(|row| row[0] == Cell::text(name)).unwrap();
            let share = match row[2] {
                Cell::Number(Number { value, .. }) => format!("{value:.2}"),
                _ => String::new(),
            };
            (row[1].clone(), share)
        };
        assert_eq!(of("SP-5M deployment total"), (Cell::text("44,872,994"), "11.15".to_owned()));
        assert_eq!(of("SP-10M deployment total"), (Cell::text("49,880,482"), "20.07".to_owned()));
        assert_eq!(of("SP-15M deployment total"), (Cell::text("54,888,042"), "27.36".to_owned()));
        assert_eq!(of("stored state without decoder").0, Cell::text("78,027,776"));
    }
}
