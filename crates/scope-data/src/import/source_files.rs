//! Which files a set was read from: their sizes and hashes, beside its arrays.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::file_name;
use crate::error::DataError;

/// The file of a dataset folder that lists what it was imported from.
pub const SOURCES: &str = "sources.json";

/// One of the files that records were read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name, without folders.
    pub file: String,
    /// How long it is.
    pub bytes: u64,
    /// BLAKE3 of all its bytes, as `b3sum` prints it.
    pub blake3: String,
}

impl SourceFile {
    /// Reads and hashes a file.
    fn of(path: &Path) -> Result<Self, DataError> {
        let mut hasher = blake3::Hasher::new();
        let mut file = File::open(path).map_err(DataError::io("open", path))?;
        let bytes = std::io::copy(&mut file, &mut hasher).map_err(DataError::io("read", path))?;
        Ok(Self { file: file_name(path), bytes, blake3: hasher.finalize().to_string() })
    }
}

/// The text of `sources.json`: the files in the order they were read.
pub(super) fn source_list(paths: &[PathBuf]) -> Result<String, DataError> {
    let files = paths.iter().map(|path| SourceFile::of(path)).collect::<Result<Vec<_>, _>>()?;
    serde_json::to_string_pretty(&files)
        .map_err(|error| DataError::Request(format!("the list of source files cannot be written: {error}")))
}
