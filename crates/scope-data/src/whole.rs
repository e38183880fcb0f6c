//! Files and folders that appear whole or not at all.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use crate::error::DataError;

/// The lock inside a folder under construction; only a folder that has one is ours to clear.
const LOCK: &str = ".lock";

/// Writes a file whole or not at all, replacing what was there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let name = name_of(path)?;
    let scratch = path.with_file_name(format!(".{}.{}.partial", name.display(), std::process::id()));
    let renamed = write_synced(&scratch, bytes)
        .and_then(|()| fs::rename(&scratch, path).map_err(DataError::io("write", path)));
    if renamed.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&scratch);
    }
    renamed?;
    sync_folder(parent_of(path))
}

/// Writes a file and waits until it is durable.
fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(DataError::io("write", path))
}

/// The last part of a path that is to be written.
fn name_of(path: &Path) -> Result<&OsStr, DataError> {
    let unnamed = || DataError::Request(format!("{} does not name anything to write", path.display()));
    path.file_name().ok_or_else(unnamed)
}

/// The folder that a path is in.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A folder being written beside its destination: `OUT.partial`, renamed to `OUT` when it is complete and
/// removed when it is dropped before that. What a killed process leaves behind is cleared by the next one.
#[derive(Debug)]
pub struct StagedFolder {
    destination: PathBuf,
    partial: PathBuf,
    /// Held locked while this process writes.
    lock: Option<File>,
    finished: bool,
}

impl StagedFolder {
    /// Begins a folder. The destination may exist only if it is an empty folder.
    pub fn create(destination: &Path) -> Result<Self, DataError> {
        require_vacant(destination)?;
        let mut name = name_of(destination)?.to_owned();
        name.push(".partial");
        let partial = destination.with_file_name(name);
        if !partial.join(LOCK).exists() {
            require_vacant(&partial)?;
        }
        fs::create_dir_all(&partial).map_err(DataError::io("create", &partial))?;
        let lock_path = partial.join(LOCK);
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = lock.map_err(DataError::io("create", &lock_path))?;
        lock.try_lock().map_err(|_| DataError::Busy(destination.to_owned()))?;
        let staged = Self { destination: destination.to_owned(), partial, lock: Some(lock), finished: false };
        staged.clear()?;
        Ok(staged)
    }

    /// Removes what an earlier, killed process left.
    fn clear(&self) -> Result<(), DataError> {
        let entries = fs::read_dir(&self.partial).map_err(DataError::io("read", &self.partial))?;
        for entry in entries {
            let path = entry.map_err(DataError::io("read", &self.partial))?.path();
            if path.file_name().is_some_and(|name| name != LOCK) {
                fs::remove_file(&path).map_err(DataError::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Where a file of the folder is written.
    pub fn path(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Writes a small file.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), DataError> {
        write_synced(&self.path(name), bytes)
    }

    /// Gives the folder its name. Every file in it must have been synced.
    pub fn finish(mut self) -> Result<(), DataError> {
        require_vacant(&self.destination)?;
        let lock_path = self.path(LOCK);
        // Some systems rename no folder in which a file is open.
        self.lock = None;
        fs::remove_file(&lock_path).map_err(DataError::io("remove", &lock_path))?;
        sync_folder(&self.partial)?;
        if self.destination.exists() {
            fs::remove_dir(&self.destination).map_err(DataError::io("replace", &self.destination))?;
        }
        fs::rename(&self.partial, &self.destination)
            .map_err(DataError::io("rename the finished folder to", &self.destination))?;
        self.finished = true;
        sync_folder(parent_of(&self.destination))
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing better can be done with a failure here; the next writer clears the rest.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

fn require_vacant(destination: &Path) -> Result<(), DataError> {
    let vacant = match fs::read_dir(destination) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => destination.symlink_metadata().is_err(),
    };
    if vacant { Ok(()) } else { Err(DataError::Occupied(destination.to_owned())) }
}

/// Makes the names in a folder durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<(), DataError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(DataError::io("sync", path))
}

/// Elsewhere folders cannot be opened for syncing; the rename is still atomic.
#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> Result<(), DataError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        write_whole(&path, b"first").unwrap();
        write_whole(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(write_whole(&root.path().join("nowhere/x"), b"").is_err());
        fs::create_dir(root.path().join("folder")).unwrap();
        assert!(write_whole(&root.path().join("folder"), b"").is_err());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "no scratch file is left");
    }

    #[test]
    fn a_finished_folder_appears_whole() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        let staged = StagedFolder::create(&out).unwrap();
        staged.write("x", b"1").unwrap();
        assert!(!out.exists());
        staged.finish().unwrap();
        let names: Vec<_> = fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["x"]);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_abandoned_folder_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let staged = StagedFolder::create(&root.path().join("set")).unwrap();
        staged.write("x", b"1").unwrap();
        drop(staged);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_destination_with_content_is_refused_and_kept() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        fs::create_dir(&out).unwrap();
        fs::write(out.join("precious"), b"data").unwrap();
        assert!(matches!(StagedFolder::create(&out), Err(DataError::Occupied(_))));
        assert_eq!(fs::read(out.join("precious")).unwrap(), b"data");
    }

    #[test]
    fn an_empty_destination_is_filled() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        fs::create_dir(&out).unwrap();
        StagedFolder::create(&out).unwrap().finish().unwrap();
        assert!(out.is_dir());
    }

    #[test]
    fn two_writers_do_not_meet() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        let first = StagedFolder::create(&out).unwrap();
        first.write("x", b"1").unwrap();
        assert!(matches!(StagedFolder::create(&out), Err(DataError::Busy(_))));
        assert!(first.path("x").exists());
    }

    /// The name under which we work may belong to somebody else.
    #[test]
    fn a_stranger_s_partial_folder_is_refused_and_kept() {
        let root = tempfile::tempdir().unwrap();
        let partial = root.path().join("set.partial");
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("precious"), b"data").unwrap();
        assert!(matches!(StagedFolder::create(&root.path().join("set")), Err(DataError::Occupied(_))));
        assert_eq!(fs::read(partial.join("precious")).unwrap(), b"data");
    }

    #[test]
    fn what_a_killed_writer_left_is_cleared() {
        let root = tempfile::tempdir().unwrap();
        let partial = root.path().join("set.partial");
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("stale"), b"half").unwrap();
        fs::write(partial.join(LOCK), b"").unwrap();
        let staged = StagedFolder::create(&root.path().join("set")).unwrap();
        assert!(!staged.path("stale").exists());
    }
}
