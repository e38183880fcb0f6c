//! What can go wrong with models.

use std::path::{Path, PathBuf};

use scope_data::DataError;
use scope_engine::EngineError;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
pub enum ModelError {
    /// Sizes that make no model.
    #[error("{0}")]
    Config(String),
    /// A weight file that cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A weight file that is not what it should be.
    #[error("{} is not a usable weight file: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, expected and got.
        problem: String,
    },
    /// A context that does not fit the model.
    #[error("a context has {got} numbers, but this model reads {channels} x {size} x {size}")]
    Context {
        /// Numbers given.
        got: usize,
        /// Channels expected.
        channels: usize,
        /// Side of the grid expected.
        size: usize,
    },
    /// A context with a value that is NaN or infinite.
    #[error(
        "context {context} has a value that is not finite in channel {channel}, row {row}, column {column}"
    )]
    NotFinite {
        /// Which context, from 0.
        context: usize,
        /// Which channel.
        channel: usize,
        /// Axis 0.
        row: usize,
        /// Axis 1.
        column: usize,
    },
    /// A file that could not be written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A fault in the computation.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl ModelError {
    /// A weight file that is not what it should be.
    pub(crate) fn malformed(path: &Path, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), problem: problem.into() }
    }
}
