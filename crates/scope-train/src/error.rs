//! What can go wrong in training.

use std::path::{Path, PathBuf};

use scope_data::DataError;
use scope_engine::EngineError;
use scope_model::{ModelError, RUN_CONFIG};
use scope_parallel::ParallelError;
use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A recipe or a setting that cannot be used.
    #[error("{0}")]
    Recipe(String),
    /// A request that makes no sense.
    #[error("{0}")]
    Request(String),
    /// A folder that already holds a run.
    #[error("{} already holds a run: resume it, or name another folder", .0.display())]
    Occupied(PathBuf),
    /// A folder whose content no run has written.
    #[error("{} holds something that is no run (it has no {}): name another folder", .0.display(), RUN_CONFIG)]
    Foreign(PathBuf),
    /// Another process trains in the same folder.
    #[error("{} is being trained by process {pid}: wait for it, or name another folder", folder.display())]
    Busy {
        /// The run folder.
        folder: PathBuf,
        /// The number of the other process.
        pid: String,
    },
    /// A run that cannot be continued as asked.
    #[error(
        "{} was begun with {key} = {before}, and cannot be continued with {key} = {now}: give the same, or begin \
         another run in another folder",
        folder.display()
    )]
    Changed {
        /// The run folder.
        folder: PathBuf,
        /// The setting that differs.
        key: String,
        /// How the run began.
        before: String,
        /// What was asked for now.
        now: String,
    },
    /// A file of a run that is not what it should be.
    #[error("{} cannot be used: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A loss or gradient that is not finite.
    #[error(
        "{what} is {value} at step {step} (after {draws} draws) on records {records:?}: the state before this step is \
         kept; check the data, or lower peak_rate"
    )]
    NotFinite {
        /// The name of the number that is not finite.
        what: String,
        /// The value of that number.
        value: f64,
        /// The step of the stage, from one.
        step: u64,
        /// Draws before it.
        draws: u64,
        /// The records of its batch.
        records: Vec<usize>,
    },
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Another rank that was lost in the middle of a run.
    #[error(
        "training stopped, and can be resumed with any number of processes from {}, the state after {draws} draws: \
         {source}",
        checkpoint.display()
    )]
    RankLost {
        /// What happened to it.
        source: ParallelError,
        /// Draws before the step that was not finished.
        draws: u64,
        /// The folder of the state before that step.
        checkpoint: PathBuf,
    },
    /// Ranks that no longer have one state.
    #[error(
        "after {draws} draws rank {rank} of {size} has other parameters than rank 0, so the processes no longer train \
         one model: this state is not kept, and the run can go on from the newest checkpoint before it; should it \
         happen again, one of the machines computes wrongly"
    )]
    Diverged {
        /// The first rank that differs.
        rank: usize,
        /// How many ranks there are.
        size: usize,
        /// Draws so far.
        draws: u64,
    },
    /// Records that could no longer be read in the middle of a run.
    #[error(
        "training stopped, and can be resumed from {}, the state after {draws} draws, once the data are as they were: \
         {source}",
        checkpoint.display()
    )]
    DataLost {
        /// What is wrong with the data.
        source: DataError,
        /// Draws before the step that lacked its records.
        draws: u64,
        /// The folder of the state before that step.
        checkpoint: PathBuf,
    },
    /// Ranks that were lost, or do not fit together.
    #[error(transparent)]
    Parallel(#[from] ParallelError),
    /// A fault of the data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A fault in the computation.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A fault of a model.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl TrainError {
    /// Wraps an I/O error with what was being done, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// A state without one of its buffers.
    pub(crate) fn lacking(name: &str) -> Self {
        Self::Request(format!("the saved state lacks \"{name}\": it belongs to another kind of run"))
    }

    /// A file that is not what it should be.
    pub(crate) fn malformed(path: &Path, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), problem: problem.into() }
    }
}
