//! What can go wrong.

use std::path::{Path, PathBuf};

use scope_data::DataError;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LinearError {
    /// Something about files or data, or work that was stopped.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Too few records.
    #[error("{got} records are too few for a linear fit: expected {least} at least")]
    TooFewRecords {
        /// How many there are.
        got: usize,
        /// How many a fit takes at least.
        least: usize,
    },
    /// More modes than records or numbers.
    #[error("{modes} modes are too many: {records} of the records are fitted, and have {most} modes at most")]
    TooManyModes {
        /// How many modes were asked for.
        modes: usize,
        /// The records that modes are found in.
        records: usize,
        /// The most that they have.
        most: usize,
    },
    /// More modes than a file may hold.
    #[error("{modes} modes of {values} values each are too many: a fit may hold {most} numbers")]
    TooLarge {
        /// How many modes were asked for.
        modes: usize,
        /// The numbers of a record.
        values: usize,
        /// The most numbers of all modes together.
        most: usize,
    },
    /// Records that are all the same.
    #[error("the records are all the same: there is nothing to fit")]
    Constant,
    /// A file that is no fit.
    #[error("{} is not a usable linear fit: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl LinearError {
    pub(crate) fn malformed(path: &Path, problem: impl ToString) -> Self {
        Self::Malformed { path: path.to_owned(), problem: problem.to_string() }
    }
}
