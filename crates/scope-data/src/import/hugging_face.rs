//! Folders that Hugging Face `datasets` wrote with `save_to_disk`.

use std::{
    collections::HashSet,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{
    arrow::ArrowFile,
    file_name,
    source::{Conversion, Source, Take},
};
use crate::error::DataError;

const STATE: &str = "state.json";
/// The longest `state.json` that is read: it lists some files.
const MAX_STATE: u64 = 1 << 20;

/// The shards of a folder in the order of its `state.json`.
pub(super) struct HuggingFace {
    shards: Vec<ArrowFile>,
    files: Vec<PathBuf>,
}

impl HuggingFace {
    /// Whether a folder is one of these.
    pub(super) fn recognises(folder: &Path) -> bool {
        folder.join(STATE).is_file()
    }

    pub(super) fn open(folder: &Path) -> Result<Self, DataError> {
        let state = folder.join(STATE);
        let names = shard_names(&state)?;
        let files: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        let shards = files.iter().map(|path| ArrowFile::open(path)).collect::<Result<Vec<_>, _>>()?;
        let sizes: Vec<usize> = shards.iter().map(ArrowFile::resolution).collect();
        if let Some(pair) = sizes.windows(2).find(|pair| pair[0] != pair[1]) {
            let problem = format!("its shards have resolutions {} and {}", pair[0], pair[1]);
            return Err(DataError::malformed(folder, "saved dataset", problem));
        }
        Ok(Self { shards, files })
    }
}

impl Source for HuggingFace {
    fn count(&self) -> usize {
        self.shards.iter().map(ArrowFile::rows).sum()
    }

    fn resolution(&self) -> usize {
        self.shards.first().map_or(0, ArrowFile::resolution)
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    fn read(&self, conversion: Conversion, take: Take) -> Result<(), DataError> {
        let mut first_id = 0;
        for shard in &self.shards {
            shard.read(first_id, conversion, take)?;
            first_id += shard.rows();
        }
        Ok(())
    }
}

fn shard_names(state: &Path) -> Result<Vec<String>, DataError> {
    #[derive(Deserialize)]
    struct State {
        #[serde(rename = "_data_files")]
        data_files: Vec<DataFile>,
    }
    #[derive(Deserialize)]
    struct DataFile {
        filename: String,
    }
    let malformed = |problem: String| DataError::malformed(state, "state.json of a saved dataset", problem);
    let mut text = Vec::new();
    let read = File::open(state).and_then(|file| file.take(MAX_STATE + 1).read_to_end(&mut text));
    if read.map_err(DataError::io("read", state))? as u64 > MAX_STATE {
        return Err(malformed(format!("it has more than {MAX_STATE} bytes, expected a list of files")));
    }
    let state: State = serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
    let names: Vec<String> = state.data_files.into_iter().map(|file| file.filename).collect();
    if names.is_empty() {
        return Err(malformed("it names no data files".into()));
    }
    if let Some(name) = names.iter().find(|name| file_name(Path::new(name)) != **name) {
        return Err(malformed(format!("it names '{name}', expected a file of the same folder")));
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(malformed(format!("it names '{name}' twice, expected each file once"))),
        None => Ok(names),
    }
}
