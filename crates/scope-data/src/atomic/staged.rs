//! Folders that appear whole or not at all.

use std::{
    fs::{self, File, Permissions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    Lock, NotLocked, name_of, parent_of,
    scratch::free_beside,
    sync_folder,
    unfinished::{self, Unfinished},
};
use crate::error::DataError;

/// What is added to a folder's name while it is written.
const PARTIAL: &str = ".partial";

/// What is added to a folder's name, after a dot, to name the lock beside it.
const LOCK: &str = ".scope-lock";

/// A folder being written beside its destination: `OUT.partial`, renamed to `OUT` when it is complete and
/// removed when it is dropped before that. What a killed process leaves behind is cleared by the next one; what others
/// have put there is refused and kept.
///
/// A lock beside the two, `.OUT.scope-lock`, is held until the folder has its name, so that nobody else clears what is
/// about to be renamed. It goes when it is let go.
#[derive(Debug)]
pub struct StagedFolder {
    destination: PathBuf,
    partial: PathBuf,
    files: Unfinished,
    /// The permissions of the empty folder that this one replaces.
    permissions: Option<Permissions>,
    finished: bool,
    /// Let go last, after whatever dropping does.
    _lock: Lock,
}

impl StagedFolder {
    /// Begins a folder. The destination may exist only if it is an empty folder that can be replaced, or a link to one:
    /// what would fail in the end fails here, before any work.
    pub fn create(destination: &Path) -> Result<Self, DataError> {
        let folder = followed(destination)?;
        require_vacant(destination)?;
        let [partial, lock] = names_beside(&folder)?;
        let unmade = |error| match error {
            DataError::Io { source, .. } if folder.exists() => {
                DataError::Irreplaceable { path: destination.to_owned(), source }
            }
            other => other,
        };
        let parent = parent_of(&folder);
        fs::create_dir_all(parent).map_err(DataError::io("create", parent))?;
        let lock = Lock::take(&lock).map_err(|why| match why {
            NotLocked::Held(_) => DataError::Busy(destination.to_owned()),
            NotLocked::Refused(error) => unmade(error),
        })?;
        // Again: whoever held the lock before has given the folder its name.
        require_vacant(destination)?;
        let permissions = fs::metadata(&folder).ok().map(|about| about.permissions());
        remove_abandoned(&partial)?;
        make(&partial, permissions.as_ref()).map_err(DataError::io("create", &partial)).map_err(unmade)?;
        let files = Unfinished::begin(&partial).inspect_err(|_| drop(fs::remove_dir(&partial)))?;
        let staged = Self { destination: folder, partial, files, permissions, finished: false, _lock: lock };
        staged.require_replaceable(destination)?;
        Ok(staged)
    }

    /// Removes what a killed process left of a folder that it had begun: nothing, where another is at work on it, or
    /// where anything else is among it. In one that it had finished, no more than its list is left.
    pub fn sweep(destination: &Path) -> Result<(), DataError> {
        let [partial, lock] = names_beside(destination)?;
        let _lock = match Lock::take(&lock) {
            Ok(lock) => lock,
            Err(NotLocked::Held(_)) => return Ok(()),
            Err(NotLocked::Refused(error)) => return Err(error),
        };
        if destination.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            unfinished::remove_list(destination)?;
        }
        match remove_abandoned(&partial) {
            Err(error @ DataError::Io { .. }) => Err(error),
            // Whatever else it is, it is not ours.
            _ => Ok(()),
        }
    }

    /// The name of the folder that something of this name belongs to, while it is written.
    pub fn written_under(name: &str) -> Option<&str> {
        let lock = name.strip_prefix('.').and_then(|name| name.strip_suffix(LOCK));
        lock.or_else(|| name.strip_suffix(PARTIAL))
    }

    /// Refuses an empty destination that cannot be replaced, for instance a mount point; errors call it `named`. Only
    /// trying tells: it is renamed and gets its name back, so that it stays what it is if the work fails.
    fn require_replaceable(&self, named: &Path) -> Result<(), DataError> {
        if !self.destination.exists() {
            return Ok(());
        }
        let moved_to = free_beside(&self.destination)?;
        let moved =
            fs::rename(&self.destination, &moved_to).and_then(|()| put_back(&moved_to, &self.destination));
        moved.map_err(|source| DataError::Irreplaceable { path: named.to_owned(), source })
    }

    /// Where a file of the folder is while it is written.
    pub fn path(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Makes a file of the folder, which must not be there. It must be synced before the folder is finished.
    pub fn create_file(&mut self, name: &str) -> Result<File, DataError> {
        self.files.create(name)
    }

    /// Writes a small file.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), DataError> {
        let mut file = self.create_file(name)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        written.map_err(DataError::io("write", &self.path(name)))
    }

    /// Gives the folder its name. Every file in it must have been synced.
    pub fn finish(self) -> Result<(), DataError> {
        self.finish_with(&mut || {})
    }

    /// Gives the folder its name; `between` is called between steps, where another process may do anything.
    fn finish_with(mut self, between: &mut dyn FnMut()) -> Result<(), DataError> {
        between();
        require_vacant(&self.destination)?;
        sync_folder(&self.partial)?;
        between();
        self.files.seal()?;
        between();
        if self.destination.exists() {
            fs::remove_dir(&self.destination).map_err(DataError::io("replace", &self.destination))?;
        }
        between();
        fs::rename(&self.partial, &self.destination)
            .map_err(DataError::io("rename the finished folder to", &self.destination))?;
        self.finished = true;
        between();
        unfinished::remove_list(&self.destination)?;
        between();
        self.keep_permissions().map_err(DataError::io("finish", &self.destination))?;
        // The folder itself was synced before: a list that comes back when the power fails means nothing.
        sync_folder(parent_of(&self.destination))
    }

    /// Gives the folder the permissions of the empty one that it has replaced. Where they are the same there is nothing
    /// to do: some disks know none, and refuse to change them.
    fn keep_permissions(&self) -> io::Result<()> {
        let Some(kept) = &self.permissions else { return Ok(()) };
        if fs::metadata(&self.destination)?.permissions() == *kept {
            return Ok(());
        }
        fs::set_permissions(&self.destination, kept.clone())
    }
}

impl Drop for StagedFolder {
    fn drop(&mut self) {
        if !self.finished {
            self.files.discard();
        }
    }
}

/// Where a folder is written, and the lock that is held meanwhile.
fn names_beside(folder: &Path) -> Result<[PathBuf; 2], DataError> {
    let name = name_of(folder)?;
    let mut partial = name.to_owned();
    partial.push(PARTIAL);
    let mut lock = std::ffi::OsString::from(".");
    lock.push(name);
    lock.push(LOCK);
    Ok([partial, lock].map(|name| folder.with_file_name(name)))
}

/// Removes the folder that a killed process left unfinished, if there is one. What is not ours is refused.
fn remove_abandoned(partial: &Path) -> Result<(), DataError> {
    let Ok(there) = partial.symlink_metadata() else { return Ok(()) };
    if there.is_symlink() {
        return Err(DataError::IsLink(partial.to_owned()));
    }
    if !there.is_dir() {
        return Err(DataError::IsFile(partial.to_owned()));
    }
    unfinished::clear(partial)?;
    fs::remove_dir(partial).map_err(DataError::io("remove", partial))
}

/// Makes a folder. What it is to replace may be closed to others, and then so is this one.
#[cfg(unix)]
fn make(path: &Path, replaced: Option<&Permissions>) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let mut builder = fs::DirBuilder::new();
    if let Some(replaced) = replaced {
        // We must be able to write in it.
        builder.mode(replaced.mode() & 0o777 | 0o700);
    }
    builder.create(path)
}

#[cfg(not(unix))]
fn make(path: &Path, _: Option<&Permissions>) -> io::Result<()> {
    fs::create_dir(path)
}

/// Gives an empty folder its name back; where the name was taken meanwhile, the folder is of no use.
fn put_back(moved_to: &Path, destination: &Path) -> io::Result<()> {
    fs::rename(moved_to, destination).inspect_err(|_| drop(fs::remove_dir(moved_to)))
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
        let mut staged = StagedFolder::create(&out).unwrap();
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
        let mut staged = StagedFolder::create(&root.path().join("set")).unwrap();
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
        let mut staged = StagedFolder::create(&link).unwrap();
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
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 3, "it, the partial folder and its lock");
        drop(staged);
        assert!(out.is_dir());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_writers_do_not_meet() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        let mut first = StagedFolder::create(&out).unwrap();
        first.write("x", b"1").unwrap();
        assert!(matches!(StagedFolder::create(&out), Err(DataError::Busy(_))));
        assert!(root.path().join("set.partial/x").exists());
    }

    /// Whatever moment of its end one writer is stopped at, another one is refused and changes nothing.
    #[test]
    fn a_second_writer_is_refused_until_the_folder_has_its_name_and_then_too() {
        for empty_there in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let out = root.path().join("set");
            if empty_there {
                fs::create_dir(&out).unwrap();
            }
            let mut first = StagedFolder::create(&out).unwrap();
            first.write("x", b"1").unwrap();
            let mut refusals = Vec::new();
            first.finish_with(&mut || refusals.push(StagedFolder::create(&out).unwrap_err())).unwrap();
            refusals.push(StagedFolder::create(&out).unwrap_err());
            let before = refusals.iter().take_while(|error| matches!(error, DataError::Busy(_))).count();
            let after = refusals.iter().filter(|error| matches!(error, DataError::Occupied(_))).count();
            assert_eq!((before, after), (4, 3), "{refusals:?}");
            assert_eq!(fs::read(out.join("x")).unwrap(), b"1");
            assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
        }
    }

    /// The name under which we work may belong to somebody else.
    #[test]
    fn a_stranger_s_partial_folder_is_refused_and_kept() {
        let root = tempfile::tempdir().unwrap();
        let partial = root.path().join("set.partial");
        fs::create_dir(&partial).unwrap();
        // As a run folder has it, for instance.
        for name in ["precious", ".lock"] {
            fs::write(partial.join(name), b"").unwrap();
        }
        let refused = StagedFolder::create(&root.path().join("set")).unwrap_err();
        assert!(matches!(refused, DataError::NotOurs { .. }), "{refused}");
        assert_eq!(fs::read_dir(&partial).unwrap().count(), 2);
        StagedFolder::sweep(&root.path().join("set")).unwrap();
        assert_eq!(fs::read_dir(&partial).unwrap().count(), 2);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "no lock is left");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_partial_folder_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        killed_after(&at("precious"), &["x"]);
        std::os::unix::fs::symlink("precious", at("set.partial")).unwrap();
        assert!(matches!(StagedFolder::create(&at("set")), Err(DataError::IsLink(_))));
        StagedFolder::sweep(&at("set")).unwrap();
        assert!(at("precious/x").exists() && at("set.partial").is_symlink());
    }

    /// What a process that was killed while it wrote leaves at a path.
    fn killed_after(partial: &Path, files: &[&str]) -> Unfinished {
        fs::create_dir(partial).unwrap();
        let mut left = Unfinished::begin(partial).unwrap();
        files.iter().for_each(|name| drop(left.create(name).unwrap()));
        left
    }

    #[test]
    fn what_a_killed_writer_left_is_cleared() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for _ in 0..2 {
            killed_after(&at("set.partial"), &["stale", "x"]);
            fs::write(at(".set.scope-lock"), b"123\n").unwrap();
            StagedFolder::sweep(&at("set")).unwrap();
            assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        }
        // It had its name already, and the list was about to go.
        killed_after(&at("other"), &["x"]).seal().unwrap();
        StagedFolder::sweep(&at("other")).unwrap();
        assert_eq!(fs::read_dir(at("other")).unwrap().count(), 1);
        killed_after(&at("set.partial"), &["stale", "x"]);
        let mut staged = StagedFolder::create(&at("set")).unwrap();
        assert!(!at("set.partial/stale").exists());
        staged.write("x", b"1").unwrap();
        staged.finish().unwrap();
        assert_eq!(fs::read_dir(at("set")).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_removes_only_what_was_made() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let mut staged = StagedFolder::create(&at("set")).unwrap();
        staged.write("x", b"1").unwrap();
        fs::write(at("set.partial/thesis.tex"), b"precious").unwrap();
        drop(staged);
        let left: Vec<_> = fs::read_dir(at("set.partial")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["thesis.tex"]);
    }

    /// Somebody else takes the name while the work is done.
    #[test]
    fn a_destination_that_was_taken_meanwhile_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        let mut staged = StagedFolder::create(&out).unwrap();
        staged.write("x", b"1").unwrap();
        let mut steps = 0;
        let taken = staged.finish_with(&mut || {
            steps += 1;
            if steps == 4 {
                fs::create_dir(&out).unwrap();
                fs::write(out.join("theirs"), b"").unwrap();
            }
        });
        assert!(matches!(taken, Err(DataError::Io { .. })));
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing of ours is left");
    }

    #[cfg(unix)]
    #[test]
    fn an_empty_folder_that_is_closed_to_others_stays_so() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let [out, partial] = ["set", "set.partial"].map(|name| root.path().join(name));
        fs::create_dir(&out).unwrap();
        fs::set_permissions(&out, Permissions::from_mode(0o700)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let staged = StagedFolder::create(&out).unwrap();
        assert_eq!(mode(&partial), 0o700);
        staged.finish().unwrap();
        assert_eq!(mode(&out), 0o700);
    }

    #[test]
    fn names_of_folders_under_construction() {
        assert_eq!(StagedFolder::written_under("set.partial"), Some("set"));
        assert_eq!(StagedFolder::written_under(".set.scope-lock"), Some("set"));
        assert_eq!(StagedFolder::written_under("set.bak"), None);
    }
}
