//! The demo's folder: ours to replace, if an earlier demo made it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use scope_data::write_atomic;

/// Tells that a folder is a demo's.
const MARK: &str = "demo.json";

/// A folder for what the demo writes.
pub(super) struct DemoFolder {
    path: PathBuf,
}

impl DemoFolder {
    /// Opens a folder: a new one, an empty one, or that of an earlier demo. It is marked at once, so that a demo that
    /// fails later leaves a folder that the next one may use.
    pub(super) fn open(path: &Path, what: &serde_json::Value) -> anyhow::Result<Self> {
        let vacant = fs::read_dir(path).map_or(!path.exists(), |mut entries| entries.next().is_none());
        anyhow::ensure!(
            vacant || path.join(MARK).is_file(),
            "{} exists and no demo made it: name another folder with --out",
            path.display()
        );
        fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
        let folder = Self { path: path.to_owned() };
        folder.mark(what)?;
        Ok(folder)
    }

    /// Writes a file.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(write_atomic(&self.path.join(name), bytes)?)
    }

    /// Copies a file, and returns where it is.
    pub(super) fn keep(&self, name: &str, file: &Path) -> anyhow::Result<PathBuf> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        self.write(name, &bytes)?;
        Ok(self.path.join(name))
    }

    /// Marks the folder as a demo's, and says of what.
    pub(super) fn mark(&self, what: &serde_json::Value) -> anyhow::Result<()> {
        self.write(MARK, serde_json::to_string_pretty(what)?.as_bytes())
    }
}
