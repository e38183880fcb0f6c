//! A file that one process at a time holds.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::Path,
};

use crate::error::DataError;

/// A lock that is held until it is dropped; the system lets go of it even when the process is killed. Its file stays.
#[derive(Debug)]
pub struct Lock {
    _held: File,
}

/// Why a lock was not given.
#[derive(Debug)]
pub enum NotLocked {
    /// Another process holds it; its number, where it can be read.
    Held(String),
    /// The file cannot be made or written.
    Refused(DataError),
}

impl Lock {
    /// Takes the lock, making its file if need be, and leaves this process's number in it.
    pub fn take(path: &Path) -> Result<Self, NotLocked> {
        let refused = |source| NotLocked::Refused(DataError::io("lock", path)(source));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                // Some systems let nobody else read a locked file.
                let _ = file.read_to_string(&mut process);
                return Err(NotLocked::Held(process.trim().to_owned()));
            }
            Err(TryLockError::Error(source)) => return Err(refused(source)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(refused)?;
        Ok(Self { _held: file })
    }
}

#[cfg(test)]
mod tests {
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
}
