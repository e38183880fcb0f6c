//! `scope evaluate`, `scope compare` and `scope report`.

mod claim;
mod compare;
mod conditions;
mod destination;
mod evaluate;
mod posterior;
mod report;
mod seen;

use std::path::{Path, PathBuf};

pub(crate) use compare::CompareCommand;
pub(crate) use evaluate::EvaluateCommand;
pub(crate) use report::ReportCommand;
use scope_eval::report::CHART_FILE;
use scope_model::RUN_EVALUATIONS;

/// The evaluations of a run folder, which may have none, or the file itself.
fn evaluations(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    anyhow::ensure!(
        path.exists(),
        "{} does not exist: name a run folder, its eval folder or a .json file",
        path.display()
    );
    let of_run = path.join(RUN_EVALUATIONS);
    let folder = if of_run.is_dir() { of_run } else { path.to_owned() };
    let entries = std::fs::read_dir(&folder);
    let mut files: Vec<PathBuf> = entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // A folder of figures has the data of charts, which tell of evaluations and are none.
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.ends_with(CHART_FILE)
    });
    files.sort();
    Ok(files)
}

/// What is said of a path without any.
fn without_evaluation(path: &Path) -> String {
    format!(
        "{} holds no evaluation: name a run folder, its eval folder or a .json file, and run `scope evaluate` first",
        path.display()
    )
}
