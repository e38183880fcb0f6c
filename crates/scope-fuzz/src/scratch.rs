//! Files for readers that take a path: in memory where the system has a folder there, for thousands are written a
//! second.

use std::path::Path;

use tempfile::{NamedTempFile, TempDir};

/// Where Linux keeps files in memory.
const IN_MEMORY: &str = "/dev/shm";

/// An empty folder that goes when it is dropped.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(IN_MEMORY).or_else(|_| tempfile::tempdir()).unwrap()
}

/// A file that holds some bytes and goes when it is dropped.
pub(crate) fn file(bytes: &[u8]) -> NamedTempFile {
    let file = NamedTempFile::new_in(IN_MEMORY).or_else(|_| NamedTempFile::new()).unwrap();
    write(file.path(), bytes);
    file
}

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}
