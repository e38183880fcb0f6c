//! A file that one process at a time holds.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Seek, Write},
    path::{Path, PathBuf},
};

use super::no_follow::open_unlinked;
use crate::error::DataError;

/// The most bytes of a lock file: the number of a process and the end of the line.
const MAX_BYTES: u64 = 32;

/// How often a folder is made again that the holder before took away with its lock.
const ATTEMPTS: usize = 100;

/// A lock that is held until it is dropped; the system lets go of it even when the process is killed. Its file goes
/// with it, and the folder that was made for it if nothing else is in it. What a killed process leaves is a file that
/// nobody holds, which the next one takes over.
///
/// The file is removed while it is still held. Whoever had opened it before gets a lock on a file without a name; it
/// compares the two, and begins again with the file that now has the name. So the file that is held is always the one
/// that others find.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
    /// The folder that was made for it.
    made: Option<PathBuf>,
}

/// Why a lock was not given.
#[derive(Debug)]
pub enum NotLocked {
    /// Another process holds it; its number, where it can be read.
    Held(String),
    /// The file cannot be made or written, or is not ours.
    Refused(DataError),
}

impl Lock {
    /// Takes the lock, making its file if need be, and leaves this process's number in it. A link is not followed, and
    /// a file that holds anything but a number is somebody else's.
    pub fn take(path: &Path) -> Result<Self, NotLocked> {
        Self::take_after(path, &mut || {})
    }

    /// Takes the lock of a name inside a folder, making the folder if need be.
    pub fn take_inside(folder: &Path, name: &str) -> Result<Self, NotLocked> {
        let path = folder.join(name);
        for _ in 1..ATTEMPTS {
            let made = !folder.exists();
            match fs::create_dir_all(folder) {
                // Made by another, and gone again.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && !folder.exists() => continue,
                outcome => {
                    outcome.map_err(|source| NotLocked::Refused(DataError::io("create", folder)(source)))?;
                }
            }
            match Self::take(&path) {
                Err(NotLocked::Refused(DataError::Io { source, .. }))
                    if source.kind() == ErrorKind::NotFound => {}
                outcome => {
                    let mut lock = outcome?;
                    lock.made = made.then(|| folder.to_owned());
                    return Ok(lock);
                }
            }
        }
        Self::take(&path)
    }

    /// Takes the lock; `opened` is called between the opening of the file and the attempt to hold it, where another
    /// process may do anything.
    fn take_after(path: &Path, opened: &mut dyn FnMut()) -> Result<Self, NotLocked> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        loop {
            let mut file = open_unlinked(&options, path).map_err(NotLocked::Refused)?;
            opened();
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(NotLocked::Held(holder(&mut file))),
                Err(TryLockError::Error(source)) => return Err(refused(path)(source)),
            }
            if has_name(&file, path).map_err(refused(path))? {
                require_ours(&mut file, path)?;
                sign(&mut file).map_err(refused(path))?;
                return Ok(Self { path: path.to_owned(), file, made: None });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that was removed by hand, and perhaps made again by another process, is not ours to remove. Whatever
        // cannot be removed is no obstacle to the next process.
        if cfg!(unix) && has_name(&self.file, &self.path).unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
        if let Some(folder) = &self.made {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn refused(path: &Path) -> impl FnOnce(io::Error) -> NotLocked {
    move |source| NotLocked::Refused(DataError::io("lock", path)(source))
}

/// Whether a path still leads to the file that is open.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = file.metadata()?;
    match path.symlink_metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere lock files are never removed, so a path leads to the same file for ever.
#[cfg(not(unix))]
fn has_name(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// The process that holds a lock, as far as its file tells: some systems let nobody else read it.
fn holder(file: &mut File) -> String {
    let mut process = String::new();
    let _ = file.take(MAX_BYTES).read_to_string(&mut process);
    let process = process.trim();
    if process.is_empty() { "of unknown number".to_owned() } else { process.to_owned() }
}

/// Refuses a file that holds anything but a number.
fn require_ours(file: &mut File, path: &Path) -> Result<(), NotLocked> {
    let mut bytes = Vec::new();
    Read::take(&mut *file, MAX_BYTES + 1).read_to_end(&mut bytes).map_err(refused(path))?;
    let ours = bytes.len() as u64 <= MAX_BYTES && bytes.trim_ascii().iter().all(u8::is_ascii_digit);
    if ours { Ok(()) } else { Err(NotLocked::Refused(DataError::NoLock(path.to_owned()))) }
}

/// Leaves this process's number in the file.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_holder_at_a_time_and_the_others_learn_who_it_is() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".lock");
        let held = Lock::take(&path).unwrap();
        let holder = std::process::id().to_string();
        assert!(matches!(Lock::take(&path), Err(NotLocked::Held(process)) if process == holder));
        drop(held);
        Lock::take(&path).unwrap();
        let refused = Lock::take(&root.path().join("nowhere/.lock")).unwrap_err();
        assert!(matches!(refused, NotLocked::Refused(DataError::Io { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn the_file_goes_with_the_lock_and_so_does_a_folder_made_for_it() {
        let root = tempfile::tempdir().unwrap();
        let entries = |path: &Path| fs::read_dir(path).unwrap().count();
        drop(Lock::take(&root.path().join(".lock")).unwrap());
        assert_eq!(entries(root.path()), 0);
        let folder = root.path().join("folder");
        drop(Lock::take_inside(&folder, ".lock").unwrap());
        assert!(!folder.exists());
        let held = Lock::take_inside(&folder, ".lock").unwrap();
        fs::write(folder.join("result"), b"1").unwrap();
        drop(held);
        assert_eq!(entries(&folder), 1, "what was written stays");
        fs::remove_file(folder.join("result")).unwrap();
        drop(Lock::take_inside(&folder, ".lock").unwrap());
        assert!(folder.exists(), "it was there before");
    }

    /// One process has opened the file; its holder lets go, which removes it, and a third process takes the lock.
    #[cfg(unix)]
    #[test]
    fn a_lock_on_a_file_that_has_lost_its_name_is_no_lock() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".lock");
        let mut first = Some(Lock::take(&path).unwrap());
        let mut third = None;
        let mut opened = || {
            if first.take().is_some() {
                third = Some(Lock::take(&path).unwrap());
            }
        };
        let second = Lock::take_after(&path, &mut opened);
        assert!(matches!(second, Err(NotLocked::Held(_))), "{second:?}");
        drop(third);
        // Without a third one, it takes the lock of the file that has the name.
        let mut first = Some(Lock::take(&path).unwrap());
        let second = Lock::take_after(&path, &mut || drop(first.take())).unwrap();
        assert!(matches!(Lock::take(&path), Err(NotLocked::Held(_))));
        drop(second);
        assert!(!path.exists());
    }

    /// The folder comes and goes with the lock, and nobody sees more of that than that the lock is held.
    #[test]
    fn of_many_one_holds_the_lock_and_none_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        let holders = AtomicUsize::new(0);
        let contend = || {
            let mut held = 0;
            while held < 100 {
                match Lock::take_inside(&folder, ".lock") {
                    Ok(lock) => {
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "no other holds it");
                        holders.fetch_sub(1, Ordering::SeqCst);
                        held += 1;
                        drop(lock);
                    }
                    Err(NotLocked::Held(_)) => {}
                    Err(NotLocked::Refused(error)) => panic!("{error}"),
                }
            }
        };
        std::thread::scope(|threads| (0..4).for_each(|_| drop(threads.spawn(contend))));
        // The folder may stay: the last holder may have found it, made by one that could not remove it any more.
        assert_eq!(fs::read_dir(&folder).map_or(0, Iterator::count), 0, "no lock is left");
    }

    /// Where a user removes a lock file by hand, the next holder keeps its own.
    #[cfg(unix)]
    #[test]
    fn only_the_file_that_is_held_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".lock");
        let first = Lock::take(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let second = Lock::take(&path).unwrap();
        drop(first);
        assert!(matches!(Lock::take(&path), Err(NotLocked::Held(_))));
        drop(second);
    }

    #[test]
    fn somebody_else_s_file_is_refused_and_kept() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join(".lock");
        for theirs in ["Dear diary", "12 days\n", &"1".repeat(100)] {
            fs::write(&path, theirs).unwrap();
            let refused = Lock::take(&path).unwrap_err();
            assert!(matches!(refused, NotLocked::Refused(DataError::NoLock(_))), "{refused:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        }
        // What killed processes leave.
        for ours in ["", "123", "4711\n"] {
            fs::write(&path, ours).unwrap();
            Lock::take(&path).unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let [diary, path] = ["diary.txt", ".lock"].map(|name| root.path().join(name));
        fs::write(&diary, b"").unwrap();
        std::os::unix::fs::symlink("diary.txt", &path).unwrap();
        assert!(matches!(Lock::take(&path), Err(NotLocked::Refused(DataError::IsLink(_)))));
        assert_eq!(fs::read(&diary).unwrap(), b"");
    }
}
