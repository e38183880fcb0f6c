//! What can go wrong in an evaluation, said so that a user knows what to do.

use std::path::{Path, PathBuf};

use scope_data::DataError;
use scope_pde::PdeError;
use thiserror::Error;

use crate::method::MethodError;

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EvalError {
    /// Something about files or data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A solver gave no record.
    #[error(transparent)]
    Pde(#[from] PdeError),
    /// A method gave no fields.
    #[error("the method under test failed: {0}")]
    Method(MethodError),
    /// A recovered value or a figure that is NaN or infinite.
    #[error(
        "{what} of record {record} under {condition} is {value}, and no figure can be told: is the model's training sound?"
    )]
    NotFinite {
        /// What it is a value of.
        what: String,
        /// The record.
        record: usize,
        /// What was seen of it.
        condition: String,
        /// The value.
        value: f64,
    },
    /// Method and records do not belong together.
    #[error("{0}")]
    Mismatch(String),
    /// A file of results is not what it should be.
    #[error("{} is not a usable evaluation: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file does not hold what a chart shows.
    #[error("{} is not the data of a chart: {problem}", path.display())]
    Chart {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl EvalError {
    pub(crate) fn chart(path: &Path, problem: impl ToString) -> Self {
        Self::Chart { path: path.to_owned(), problem: problem.to_string() }
    }

    pub(crate) fn malformed(path: &Path, problem: impl ToString) -> Self {
        Self::Malformed { path: path.to_owned(), problem: problem.to_string() }
    }
}
