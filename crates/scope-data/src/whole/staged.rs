//! Folders that appear whole or not at all.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Lock, NotLocked, name_of, parent_of, scratch::free_beside, sync_folder, write_synced};
use crate::error::DataError;

/// The lock inside a folder under construction; only a folder that has one is ours to clear.
const LOCK: &str = ".lock";

/// A folder being written beside its destination: `OUT.partial`, renamed to `OUT` when it is complete and
/// removed when it is dropped before that. What a killed process leaves behind is cleared by the next one.
#[derive(Debug)]
pub struct StagedFolder {
    destination: PathBuf,
    partial: PathBuf,
    /// Held locked while this process writes.
    lock: Option<Lock>,
    finished: bool,
}

impl StagedFolder {
    /// Begins a folder. The destination may exist only if it is an empty folder that can be replaced, or a link to one:
    /// what would fail in the end fails here, before any work.
    pub fn create(destination: &Path) -> Result<Self, DataError> {
        let folder = followed(destination)?;
        require_vacant(destination)?;
        let mut name = name_of(&folder)?.to_owned();
        name.push(".partial");
        let partial = folder.with_file_name(name);
        if !partial.join(LOCK).exists() {
            require_vacant(&partial)?;
        }
        fs::create_dir_all(&partial).map_err(|source| match folder.exists() {
            true => DataError::Irreplaceable { path: destination.to_owned(), source },
            false => DataError::Io { action: "create", path: partial.clone(), source },
        })?;
        let lock = Lock::take(&partial.join(LOCK)).map_err(|why| match why {
            NotLocked::Held(_) => DataError::Busy(destination.to_owned()),
            NotLocked::Refused(error) => error,
        })?;
        let staged = Self { destination: folder, partial, lock: Some(lock), finished: false };
        staged.clear()?;
        staged.require_replaceable(destination)?;
        Ok(staged)
    }

    /// Refuses an empty destination that cannot be replaced, for instance a mount point; errors call it `named`. Only
    /// trying tells: it is renamed and gets its name back, so that it stays what it is if the work fails.
    fn require_replaceable(&self, named: &Path) -> Result<(), DataError> {
        if !self.destination.exists() {
            return Ok(());
        }
        let aside = free_beside(&self.destination)?;
        let moved = fs::rename(&self.destination, &aside).and_then(|()| put_back(&aside, &self.destination));
        moved.map_err(|source| DataError::Irreplaceable { path: named.to_owned(), source })
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

/// Gives an empty folder its name back; where the name was taken meanwhile, the folder is of no use.
fn put_back(aside: &Path, destination: &Path) -> io::Result<()> {
    fs::rename(aside, destination).inspect_err(|_| drop(fs::remove_dir(aside)))
}

/// The folder that a path names: what a link leads to, or the path itself.
fn followed(path: &Path) -> Result<PathBuf, DataError> {
    // Without a slash at its end, which would hide a link.
    let path = path.with_file_name(name_of(path)?);
    if path.is_symlink() {
        return path.canonicalize().map_err(DataError::io("follow the link", &path));
    }
    Ok(path)
}

fn require_vacant(destination: &Path) -> Result<(), DataError> {
    let vacant = match fs::read_dir(destination) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) if destination.is_file() => return Err(DataError::IsFile(destination.to_owned())),
        Err(_) => destination.symlink_metadata().is_err(),
    };
    if vacant { Ok(()) } else { Err(DataError::Occupied(destination.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[cfg(unix)]
    #[test]
    fn a_link_to_an_empty_folder_leads_to_the_finished_one() {
        let root = tempfile::tempdir().unwrap();
        let [disk, link] = ["disk", "link/"].map(|name| root.path().join(name));
        fs::create_dir(&disk).unwrap();
        std::os::unix::fs::symlink("disk", root.path().join("link")).unwrap();
        let staged = StagedFolder::create(&link).unwrap();
        staged.write("x", b"1").unwrap();
        staged.finish().unwrap();
        assert_eq!(fs::read(disk.join("x")).unwrap(), b"1");
        assert!(root.path().join("link").is_symlink());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
        assert!(matches!(StagedFolder::create(&link), Err(DataError::Occupied(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nowhere_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let refused = StagedFolder::create(&link).unwrap_err().to_string();
        assert!(refused.contains("cannot follow the link"), "{refused}");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_empty_destination_stays_as_it_was_while_the_work_is_not_done() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        fs::create_dir(&out).unwrap();
        let staged = StagedFolder::create(&out).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "it and the partial folder");
        drop(staged);
        assert!(out.is_dir());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
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
