//! What can go wrong with data, said so that a user knows what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

use scope_pde::PdeError;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done, as in "cannot {action} FILE".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{} is not a usable {kind}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it was read as.
        kind: &'static str,
        /// What is wrong with it, expected and got.
        problem: String,
    },
    /// Something else where a regular file is wanted.
    #[error("{} is {what}, and a regular file is wanted: name one, or copy it into one", path.display())]
    NotAFile {
        /// Where it is.
        path: PathBuf,
        /// What it is, as in "a pipe".
        what: &'static str,
    },
    /// A file that is longer than any of its kind.
    #[error(
        "{} is longer than {limit} bytes, and no file of its kind is: is it the one you mean?",
        path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most bytes that it may have.
        limit: u64,
    },
    /// A data set that is not there.
    #[error("{} does not exist: name the folder of a data set, or generate one", .0.display())]
    Missing(PathBuf),
    /// A value that is NaN or infinite.
    #[error(
        "record {record}, channel {channel}, row {row}, column {column} is {value}: every value must be finite"
    )]
    NotFinite {
        /// The record's index in the set being written.
        record: usize,
        /// "a" or "u".
        channel: &'static str,
        /// Its place along axis 0.
        row: usize,
        /// Its place along axis 1.
        column: usize,
        /// The value found there.
        value: f64,
    },
    /// The destination already holds something.
    #[error("{} already exists and is not empty: name another folder, or remove it first", .0.display())]
    Occupied(PathBuf),
    /// The destination is a file.
    #[error("{} is a file, and a folder is to be written there: name another", .0.display())]
    IsFile(PathBuf),
    /// A link where only a file or folder of our own may be.
    #[error("{} is a link, and what it leads to is not ours to write: remove the link, or write elsewhere", .0.display())]
    IsLink(PathBuf),
    /// The file of a lock holds something else.
    #[error(
        "{} should hold the number of the process that is at work, and holds something else: move it away, or write elsewhere",
        .0.display()
    )]
    NoLock(PathBuf),
    /// The place of a folder under construction holds what we have not made.
    #[error(
        "{} is where the folder is written until it is complete, and it holds {found}, which is not ours to remove: move it away, or write elsewhere",
        partial.display()
    )]
    NotOurs {
        /// The folder under construction.
        partial: PathBuf,
        /// A name in it.
        found: String,
    },
    /// Disks of a cylinder that are missing, or given for another problem.
    #[error("{0}")]
    Geometry(String),
    /// The destination is an empty folder that cannot make way for the finished one.
    #[error(
        "{0} is an empty folder that cannot be replaced, as a mount point cannot; name a folder inside it, such as {0}/set: {source}",
        path.display()
    )]
    Irreplaceable {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Another process is writing the same destination.
    #[error("another process is writing {}: wait for it, or name another folder", .0.display())]
    Busy(PathBuf),
    /// A file's content is not what was recorded when it was written.
    #[error(
        "{} has changed since it was written: BLAKE3 is {got}, meta.json says {expected}; restore it from a copy or make the set again",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// The recorded hash.
        expected: String,
        /// The hash found.
        got: String,
    },
    /// A file was written to, or cut short, while it was open.
    #[error(
        "{} has changed while it was being read: {difference}; restore it from a copy or make the set again",
        path.display()
    )]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
        /// How it differs from what it was.
        difference: String,
    },
    /// A set that nothing can be learnt from or measured on.
    #[error("{} holds 0 records: name a set that has some", .0.display())]
    Empty(PathBuf),
    /// Shards that do not make one set.
    #[error("{} does not fit the other shards: {problem}", path.display())]
    Shard {
        /// The shard's folder.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// A request that makes no sense.
    #[error("{0}")]
    Request(String),
    /// A solver failed on a record.
    #[error("record {index} could not be made: {source}")]
    Solver {
        /// The record.
        index: u64,
        /// Why the solver failed.
        source: PdeError,
    },
    /// The user stopped the work.
    #[error("interrupted: nothing was written")]
    Interrupted,
}

impl DataError {
    /// Wraps an I/O error with what was being done, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// A file that is not what it should be.
    pub(crate) fn malformed(path: &Path, kind: &'static str, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), kind, problem: problem.into() }
    }
}

/// The most names of what a file holds that a message gives.
const MAX_NAMES: usize = 10;

/// The names of what a file holds, for a message: a hostile file may have thousands.
pub(crate) fn some_of(names: &[String]) -> String {
    let first = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "nothing".to_owned(),
        many if many > MAX_NAMES => format!("{first} and {} more", many - MAX_NAMES),
        _ => first,
    }
}
