//! What can go wrong with models.

use std::path::{Path, PathBuf};

use scope_data::{DataError, GridShape};
use scope_engine::EngineError;
use thiserror::Error;

use crate::names::UnknownName;

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Sizes that make no model.
    #[error("{0}")]
    Config(String),
    /// A name that no model, head, operator or precision has.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
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
    /// A model card that cannot be used.
    #[error("{} is not a usable model card: {problem}", path.display())]
    Card {
        /// The card.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// An evaluation that cannot be used.
    #[error("{} is not a usable evaluation: {problem}", path.display())]
    Evaluation {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A weight file that is not the one its card is about.
    #[error(
        "{} has BLAKE3 {got}, its card says {expected}: restore the file, or write its card again",
        path.display()
    )]
    Changed {
        /// The weight file.
        path: PathBuf,
        /// The card's hash.
        expected: String,
        /// The hash found.
        got: String,
    },
    /// A card where a model is wanted.
    #[error(
        "{} is the card of {name}, not its weights: give {} beside it, or the name {name}",
        path.display(),
        weights.display()
    )]
    IsCard {
        /// The card.
        path: PathBuf,
        /// The model's name.
        name: String,
        /// Where its weights should be.
        weights: PathBuf,
    },
    /// A run that has not come to its first checkpoint.
    #[error(
        "{} is a run folder, but it has no model yet: its first checkpoint writes one, after five minutes of training \
         unless another time was set, or when the run ends or is interrupted",
        .0.display()
    )]
    NoModelYet(PathBuf),
    /// A name that no model has.
    #[error("{}", unknown(name, meant.as_deref(), names, folders))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        meant: Option<String>,
        /// The models there are.
        names: Vec<String>,
        /// Where they were looked for.
        folders: Vec<PathBuf>,
    },
    /// A context that does not fit the model.
    #[error("a context has {got} numbers, but this model reads {channels} x {grid}")]
    Context {
        /// Numbers given.
        got: usize,
        /// Channels expected.
        channels: usize,
        /// The grid expected.
        grid: GridShape,
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
        /// Its place along axis 0.
        row: usize,
        /// Its place along axis 1.
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

/// What a name that no model has is answered with.
fn unknown(name: &str, meant: Option<&str>, names: &[String], folders: &[PathBuf]) -> String {
    let hint = meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
    let known =
        if names.is_empty() { "none were found".to_owned() } else { format!("known: {}", names.join(", ")) };
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let searched = if folders.is_empty() { String::new() } else { format!(" in {}", folders.join(", ")) };
    format!(
        "\"{name}\" is neither a run folder, nor a weight file, nor the name of a model{hint}; {known}{searched}"
    )
}
