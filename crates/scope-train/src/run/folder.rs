//! A run's folder, and who may write in it.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use scope_data::{DataError, Lock, NotLocked};
use scope_model::{RUN_CONFIG, RUN_WEIGHTS};

use crate::error::TrainError;

const LOCK: &str = ".lock";

/// What is kept of a run after so many draws is called this: names sort as their draws do.
pub(super) fn numbered(draws: u64) -> String {
    format!("{draws:015}")
}

/// Whether a name is that of a file which a killed process was about to put in another's place.
fn is_stray(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial"));
    let process = inner.and_then(|inner| inner.rsplit_once('.')).map(|(_, process)| process);
    process.is_some_and(|process| process.parse::<u32>().is_ok())
}

/// Whether a folder has more than what a run leaves that has not begun.
fn holds_something(folder: &Path) -> Result<bool, TrainError> {
    for entry in fs::read_dir(folder).map_err(TrainError::io("read", folder))? {
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
        let path = entry.map_err(TrainError::io("read", folder))?.path();
        if path.is_file() && path.file_name().is_some_and(is_stray) {
            fs::remove_file(&path).map_err(TrainError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// A run folder that this process alone writes in, until it is dropped. A run that has not begun by then leaves nothing.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Whether it was made for this run.
    made: bool,
    _lock: Lock,
}

impl RunFolder {
    /// Opens a folder, making it if need be. It must be empty, or with `resume` hold a run.
    pub fn open(path: &Path, resume: bool) -> Result<Self, TrainError> {
        if path.is_file() {
            return Err(DataError::IsFile(path.to_owned()).into());
        }
        let made = !path.exists();
        fs::create_dir_all(path).map_err(TrainError::io("create", path))?;
        let is_run = || path.join(RUN_CONFIG).exists();
        // Before the lock is made: nothing is left in a folder of somebody else's.
        if !is_run() && holds_something(path)? {
            return Err(TrainError::Foreign(path.to_owned()));
        }
        let lock = Lock::take(&path.join(LOCK)).map_err(|why| match why {
            NotLocked::Held(pid) => TrainError::Busy { folder: path.to_owned(), pid },
            NotLocked::Refused(error) => error.into(),
        })?;
        if !resume && is_run() {
            return Err(TrainError::Occupied(path.to_owned()));
        }
        let folder = Self { path: path.to_owned(), made, _lock: lock };
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

    /// The models of milestones.
    pub fn milestones(&self) -> PathBuf {
        self.path.join("milestones")
    }

    /// The model of a milestone, after so many draws of this run.
    pub fn milestone(&self, draws: u64) -> PathBuf {
        self.milestones().join(format!("{}.safetensors", numbered(draws)))
    }

    /// Which algorithms a card computed with: with the same ones, another run on that card gives the same bits.
    pub fn algorithms(&self) -> PathBuf {
        self.path.join("algorithms.txt")
    }

    /// What was measured, over draws.
    pub fn curves(&self) -> PathBuf {
        self.path.join("curves.svg")
    }

    /// What every step measured.
    pub fn metrics(&self) -> PathBuf {
        self.path.join("metrics.jsonl")
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if self.config().exists() {
            return;
        }
        // Whatever cannot be removed is no obstacle to the next run.
        let _ = fs::remove_file(self.path.join(LOCK));
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}
