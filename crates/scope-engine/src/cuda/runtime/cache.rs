//! What is worked out once for a GPU and kept on disk: compiled kernels and chosen algorithms.

use std::{
    env,
    fs::{self, File},
    io::Write,
    path::PathBuf,
};

/// A folder for one GPU, driver and version of this crate. A cache that cannot be read or written is no error:
/// things are worked out again.
pub(super) struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The folder of a GPU in the user's cache folder: `$XDG_CACHE_HOME`, `$LOCALAPPDATA` or `~/.cache`.
    pub(super) fn of(gpu: &str, (major, minor): (i32, i32), driver: i32) -> Self {
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let root = env::var_os("XDG_CACHE_HOME")
            .or_else(|| env::var_os("LOCALAPPDATA"))
            .map(PathBuf::from)
            .or_else(home);
        let gpu = gpu.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let name = format!("{gpu}-{major}{minor}-cuda{driver}-{}", env!("CARGO_PKG_VERSION"));
        Self { folder: root.map(|root| root.join("scope").join(name)) }
    }

    pub(super) fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.as_ref()?.join(name)).ok()
    }

    /// Writes a temporary file and renames it, so that nobody reads half a file. Its name must be free: a link there
    /// would be followed.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) {
        let Some(folder) = &self.folder else { return };
        let temporary = folder.join(format!("{name}.{}", std::process::id()));
        let done = fs::create_dir_all(folder)
            .and_then(|()| File::create_new(&temporary)?.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, folder.join(name)));
        if done.is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }
}
