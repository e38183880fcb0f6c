//! The paper's tables from evaluations of ours, beside the paper's own figures.

mod bands;
mod chart_file;
mod charts;
mod choice;
mod comparisons;
mod endpoint;
mod endpoints;
mod figures;
mod learning;
mod orderings;
mod paired;
mod parameters;
mod published;
mod render;
mod runs;
mod settings;
mod table;

pub use chart_file::{CHART_FILE, read_chart, write_chart};
pub use charts::{card_budget_charts, comparison_chart, published_chart, run_budget_charts};
pub use choice::{Choice, TableName};
pub use endpoint::Endpoint;
pub use learning::learning_charts;
pub use published::Published;
pub use render::{Format, csv_cell};
pub use runs::{Run, Runs, grouped};
pub use table::Table;

use crate::error::EvalError;
use runs::are_all_own;

/// The tables of a choice, each with the paper's rows of all problems and ours.
pub fn tables(choice: &Choice, published: &Published, runs: &Runs) -> Result<Vec<Table>, EvalError> {
    let names: &[TableName] = match choice {
        Choice::Named(names) => names,
        Choice::WithOurs | Choice::All => &TableName::ALL,
    };
    let mut tables = Vec::new();
    for name in names {
        let table = table(*name, published, runs)?;
        let shown = match choice {
            // The paper's model says nothing beside problems of someone's own.
            Choice::WithOurs => table.has_ours || *name == TableName::Parameters && !all_own(runs),
            Choice::All => table.has_rows(),
            Choice::Named(_) => true,
        };
        tables.extend(shown.then_some(table));
    }
    Ok(tables)
}

/// A table. Models that a later moment of their training surpasses are in the table of runs only.
fn table(name: TableName, published: &Published, all: &Runs) -> Result<Table, EvalError> {
    let runs = all.latest.as_slice();
    let mut table = match name {
        TableName::Main => endpoints::main(published, runs),
        TableName::Recipes => endpoints::recipes(published, runs),
        TableName::Adaptation => endpoints::adaptation(published, runs),
        TableName::Channels => figures::channels(published, runs),
        TableName::Capacity => figures::capacity(published, runs),
        TableName::Cylinder => figures::cylinder(published, runs),
        TableName::ForwardSd => figures::dispersion(published, runs, Endpoint::Forward),
        TableName::InverseSd => figures::dispersion(published, runs, Endpoint::Inverse),
        TableName::DarcyBer => figures::darcy(published, runs),
        TableName::Paired => paired::paired(published, runs),
        TableName::Orderings => orderings::orderings(published, runs),
        TableName::Bands => bands::bands(runs),
        TableName::Training => settings::training()?,
        TableName::Data => settings::data()?,
        TableName::Normalisation => settings::normalisation(),
        TableName::Masks => settings::masks(),
        TableName::Operators => settings::operators()?,
        TableName::Parameters => parameters::parameters()?,
        TableName::AuxiliaryParameters => settings::auxiliary_parameters()?,
        TableName::Runs => parameters::provenance(all),
    };
    let by_problem = [
        TableName::Main,
        TableName::Recipes,
        TableName::Adaptation,
        TableName::ForwardSd,
        TableName::InverseSd,
    ];
    if by_problem.contains(&name) && all_own(all) {
        table.drop_empty_rows();
    }
    if table.has_ours && !all.earlier.is_empty() && name != TableName::Runs {
        table.notes.push(
            "Of each training the model with the most draws is shown; those of earlier moments are in the table of runs."
                .to_owned(),
        );
    }
    Ok(table)
}

/// Whether all runs are of problems of someone's own.
fn all_own(runs: &Runs) -> bool {
    are_all_own(&runs.latest.iter().map(Run::pde).collect())
}
