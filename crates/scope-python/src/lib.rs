//! The native half of the Python package `fieldscope`: arrays in, calls of the library [`scope`], arrays out.
//!
//! It is private to the package. What users see, with its types and its documentation, is Python: `python/fieldscope`.
//! Options come as dictionaries that the package has filled in, what is said of results goes out as JSON, and
//! everything that computes releases Python's lock (see `work.rs`).

mod arrays;
mod data;
mod error;
mod evaluation;
mod fit;
mod method;
mod options;
mod placement;
mod recovered;
mod sensors;
mod training;
mod work;

use pyo3::prelude::*;

/// `fieldscope._native`.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::{
        data::{Dataset, generate, generate_folder, import_own, mask, write_folder},
        evaluation::evaluate,
        fit::fit_linear,
        method::{Method, models},
        placement::{Placement, place},
        recovered::{Recovered, save},
        sensors::Sensors,
        training::train,
    };

    use super::*;

    /// The version of the library.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
