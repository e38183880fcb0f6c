//! Linear fits.

use std::path::PathBuf;

use pyo3::prelude::*;
use scope::{
    data::DataError,
    linear::{FitOptions, FitProgress, FitStage, LinearError, MOST_MODES, fit},
};

use crate::{
    data::Dataset,
    error::{invalid, json, refused},
    work::{stopped, work},
};

/// Fits modes to the records of a set and writes the file that `scope fit linear` writes: what is said of it, as JSON.
#[pyfunction]
pub(crate) fn fit_linear(
    py: Python<'_>,
    data: PyRef<'_, Dataset>,
    modes: usize,
    out: PathBuf,
) -> PyResult<String> {
    if !(1..=MOST_MODES).contains(&modes) {
        return Err(invalid(format!("modes is {modes}: expected 1 to {MOST_MODES}")));
    }
    let set = &data.set;
    work(py, None, |watch| {
        scope::data::require_writable(&out).map_err(refused)?;
        let step = |_: FitStage, _: usize, _: usize| watch.go_on();
        let fitted = fit(set, FitOptions { modes }, &FitProgress(&step)).map_err(|error| match error {
            LinearError::Data(DataError::Interrupted) => stopped(),
            other => refused(other),
        })?;
        fitted.write(&out).map_err(refused)?;
        json(&fitted.about)
    })
}
