//! A run's folder, and who may write in it.

use std::{
    ffi::OsStr,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use scope_data::{DataError, Lock, NotLocked, scratch_of};
use scope_model::{RUN_CONFIG, RUN_WEIGHTS};

use crate::error::TrainError;

const LOCK: &str = ".lock";
const ALGORITHMS: &str = "algorithms.txt";
const CURVES: &str = "curves.svg";
const MODEL_SUFFIX: &str = ".safetensors";

/// What is kept of a run after so many draws is called this: names sort as their draws do.
pub(super) fn numbered(draws: u64) -> String {
    format!("{draws:015}")
}

/// The draws of which something is kept under a name; other names, however alike, are not ours.
pub(super) fn draws_of(name: &str) -> Option<u64> {
    name.parse().ok().filter(|draws| numbered(*draws) == name)
}

/// Whether a name is that of a file which a killed process was about to put in the place of one of a run's.
fn is_stray(name: &OsStr) -> bool {
    const WRITTEN: [&str; 4] = [RUN_CONFIG, RUN_WEIGHTS, ALGORITHMS, CURVES];
    let is_milestone = |file: &str| file.strip_suffix(MODEL_SUFFIX).and_then(draws_of).is_some();
    scratch_of(name).is_some_and(|file| WRITTEN.contains(&file) || is_milestone(file))
}

/// Whether a folder has more than what a run leaves that has not begun.
fn holds_something(folder: &Path) -> Result<bool, TrainError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        entries => entries.map_err(TrainError::io("read", folder))?,
    };
    for entry in entries {
        let name = entry.map_err(TrainError::io("read", folder))?.file_name();
        if name != LOCK && !is_stray(&name) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes what killed processes left half written. The run's lock is ours, so nobody else is writing here.
fn sweep(folder: &Path) -> Result<(), TrainError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry.map_err(TrainError::io("read", folder))?;
        let path = entry.path();
        if is_stray(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(&path).map_err(TrainError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// A run folder that this process alone writes in, until it is dropped. A run that has not begun by then leaves
/// nothing.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: Lock,
}

impl RunFolder {
    /// Opens a folder, making it if need be. It must be empty, or with `resume` hold a run.
    pub fn open(path: &Path, resume: bool) -> Result<Self, TrainError> {
        if path.is_file() {
            return Err(DataError::IsFile(path.to_owned()).into());
        }
        let is_run = || path.join(RUN_CONFIG).exists();
        // Before the lock is made: nothing is left in a folder of somebody else's.
        if holds_something(path)? && !is_run() {
            return Err(TrainError::Foreign(path.to_owned()));
        }
        let lock = Lock::take_inside(path, LOCK).map_err(|why| match why {
            NotLocked::Held(pid) => TrainError::Busy { folder: path.to_owned(), pid },
            NotLocked::Refused(error) => error.into(),
        })?;
        if !resume && is_run() {
            return Err(TrainError::Occupied(path.to_owned()));
        }
        let folder = Self { path: path.to_owned(), _lock: lock };
        sweep(&folder.path)?;
        sweep(&folder.milestones())?;
        Ok(folder)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The resolved configuration.
    pub fn config(&self) -> PathBuf {
        self.path.join(RUN_CONFIG)
    }

    /// The deployable model.
    pub fn model(&self) -> PathBuf {
        self.path.join(RUN_WEIGHTS)
    }

    /// The resumable state.
    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// The checkpoint after so many draws of this run.
    pub(super) fn checkpoint(&self, draws: u64) -> PathBuf {
        self.state().join(numbered(draws))
    }

    /// The models of milestones.
    pub fn milestones(&self) -> PathBuf {
        self.path.join("milestones")
    }

    /// The model of a milestone, after so many draws of this run.
    pub(crate) fn milestone(&self, draws: u64) -> PathBuf {
        self.milestones().join(format!("{}{MODEL_SUFFIX}", numbered(draws)))
    }

    /// Which algorithms a GPU computed with: with the same ones, another run on that GPU gives the same bits.
    pub fn algorithms(&self) -> PathBuf {
        self.path.join(ALGORITHMS)
    }

    /// What was measured, over draws.
    pub fn curves(&self) -> PathBuf {
        self.path.join(CURVES)
    }

    /// What every step measured.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }
}
