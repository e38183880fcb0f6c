//! Files and folders that appear whole or not at all.

mod staged;

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use crate::error::DataError;
pub use staged::StagedFolder;

/// Writes a file whole or not at all, replacing what was there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let scratch = scratch_beside(path)?;
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

/// A name beside a path that no other process takes.
fn scratch_beside(path: &Path) -> Result<PathBuf, DataError> {
    let name = name_of(path)?;
    Ok(path.with_file_name(format!(".{}.{}.partial", name.display(), std::process::id())))
}

/// The folder that a path is in.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
}
