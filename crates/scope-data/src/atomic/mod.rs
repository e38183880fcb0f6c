//! Files and folders that appear whole or not at all.

mod lock;
mod no_follow;
mod scratch;
mod staged;
mod unfinished;

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use crate::error::DataError;
pub use lock::{Lock, NotLocked};
pub use no_follow::open_unlinked;
pub(crate) use scratch::create_beside;
pub use scratch::scratch_of;
pub use staged::StagedFolder;

/// The most links that are followed to a file; systems allow about as many.
const MAX_LINKS: usize = 40;

/// Writes a file whole or not at all, replacing what was there, under the permissions that it had. A link stays, and
/// what it points to is replaced. What is no file at all, such as a pipe or a device, is written to.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    match fs::metadata(path) {
        Ok(there) if !there.is_file() && !there.is_dir() => {
            let opened = OpenOptions::new().write(true).open(path);
            opened.and_then(|mut stream| stream.write_all(bytes)).map_err(DataError::io("write", path))
        }
        _ => replace(path, bytes),
    }
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let file = linked_to(path)?;
    let (scratch, mut open) = create_beside(&file, path)?;
    let written = open.write_all(bytes).and_then(|()| open.sync_all());
    let renamed = written.and_then(|()| fs::rename(&scratch, &file));
    if renamed.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&scratch);
    }
    renamed.map_err(DataError::io("write", path))?;
    sync_folder(parent_of(&file))
}

/// What a path leads to, whether it is there or not: links are followed by hand, as one may point to what is still to
/// be written.
pub(crate) fn linked_to(path: &Path) -> Result<PathBuf, DataError> {
    let mut file = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&file) {
            Ok(target) => file = parent_of(&file).join(target),
            Err(_) => return Ok(file),
        }
    }
    Err(DataError::Request(format!("{} is a link that leads nowhere: name another file", path.display())))
}

/// The last part of a path that is to be written.
fn name_of(path: &Path) -> Result<&OsStr, DataError> {
    let unnamed = || DataError::Request(format!("{} does not name anything to write", path.display()));
    path.file_name().ok_or_else(unnamed)
}

/// The folder that a path is in.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the names in a folder durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<(), DataError> {
    fs::File::open(path).and_then(|folder| folder.sync_all()).map_err(DataError::io("sync", path))
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
        write_atomic(&path, b"first").unwrap();
        write_atomic(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(write_atomic(&root.path().join("nowhere/x"), b"").is_err());
        fs::create_dir(root.path().join("folder")).unwrap();
        assert!(write_atomic(&root.path().join("folder"), b"").is_err());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "no scratch file is left");
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
        for bits in [0o600, 0o640, 0o444, 0o666, 0o755] {
            fs::write(at("x"), b"old").unwrap();
            fs::set_permissions(at("x"), fs::Permissions::from_mode(bits)).unwrap();
            write_atomic(&at("x"), b"new").unwrap();
            assert_eq!((mode("x"), fs::read(at("x")).unwrap()), (bits, b"new".to_vec()));
            fs::remove_file(at("x")).unwrap();
        }
        fs::write(at("plain"), b"").unwrap();
        write_atomic(&at("new"), b"new").unwrap();
        assert_eq!(mode("new"), mode("plain"), "a new file is like any other");
    }

    /// Somebody else's file, or a link, has the name under which we would write.
    #[cfg(unix)]
    #[test]
    fn what_has_the_passing_name_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("diary"), b"precious").unwrap();
        std::os::unix::fs::symlink("diary", at(&format!(".x.{}.partial", std::process::id()))).unwrap();
        write_atomic(&at("x"), b"new").unwrap();
        assert_eq!(fs::read(at("diary")).unwrap(), b"precious");
        assert_eq!(fs::read(at("x")).unwrap(), b"new");
        assert!(!at("x").is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_what_it_points_to_is_written() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("there")).unwrap();
        fs::write(at("there/old"), b"old").unwrap();
        for (link, target) in [("to-old", "there/old"), ("to-new", "there/new"), ("twice", "to-new")] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        write_atomic(&at("to-old"), b"1").unwrap();
        write_atomic(&at("twice"), b"2").unwrap();
        assert!(["to-old", "to-new", "twice"].iter().all(|link| at(link).is_symlink()));
        assert_eq!(
            (fs::read(at("there/old")).unwrap(), fs::read(at("there/new")).unwrap()),
            (vec![b'1'], vec![b'2'])
        );
        std::os::unix::fs::symlink("ring", at("ring")).unwrap();
        assert!(write_atomic(&at("ring"), b"3").unwrap_err().to_string().contains("leads nowhere"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_file_is_written_to() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        write_atomic(&path, b"through").unwrap();
        drop(writer);
        let mut got = String::new();
        std::io::Read::read_to_string(&mut reader, &mut got).unwrap();
        assert_eq!(got, "through");
    }
}
