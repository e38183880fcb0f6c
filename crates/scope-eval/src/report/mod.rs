//! The paper's tables from evaluations of ours, beside the paper's own figures.

mod bands;
mod charts;
mod endpoints;
mod figures;
mod learning;
mod paired;
mod parameters;
mod published;
mod render;
mod runs;
mod table;

pub use charts::{budget_chart, comparison_chart};
pub use learning::draws_charts;
pub use published::Published;
pub use render::Format;
pub use runs::{Run, Runs, grouped};
pub use table::Table;

use crate::error::EvalError;

/// The tables by name, in the order of the paper; the last three are ours.
pub const TABLES: [&str; 13] = [
    "main",
    "recipes",
    "adaptation",
    "channels",
    "capacity",
    "cylinder",
    "forward-sd",
    "inverse-sd",
    "darcy-ber",
    "paired",
    "bands",
    "parameters",
    "runs",
];

/// A table by its name. One that none of the runs has a row in is left out, unless `always`. Models that a later moment of their
/// training surpasses are in the table of runs only.
pub fn table(
    name: &str,
    published: &Published,
    all: &Runs,
    always: bool,
) -> Result<Option<Table>, EvalError> {
    let runs = all.latest.as_slice();
    let mut table = match name {
        "main" => endpoints::main(published, runs),
        "recipes" => endpoints::recipes(published, runs),
        "adaptation" => endpoints::adaptation(published, runs),
        "channels" => figures::channels(published, runs),
        "capacity" => figures::capacity(published, runs),
        "cylinder" => figures::cylinder(published, runs),
        "forward-sd" => figures::dispersion(published, runs, figures::Endpoint::Forward),
        "inverse-sd" => figures::dispersion(published, runs, figures::Endpoint::Inverse),
        "darcy-ber" => figures::darcy(published, runs),
        "paired" => paired::paired(published, runs)?,
        "bands" => bands::bands(runs),
        "parameters" => parameters::parameters()?,
        "runs" => parameters::provenance(all),
        other => {
            return Err(EvalError::Mismatch(format!(
                "no table is called \"{other}\"; there are {}",
                TABLES.join(", ")
            )));
        }
    };
    if table.has_ours && !all.earlier.is_empty() && name != "runs" {
        table.notes.push(
            "Of each training the model with the most draws is shown; those of earlier moments are in the table of runs."
                .to_owned(),
        );
    }
    Ok((always || table.has_ours || name == "parameters").then_some(table))
}
