//! What was verified before, remembered in the user's cache folder, so that a set is hashed once and not whenever it is
//! opened.
//!
//! A cache that cannot be read or written is no error: the set is verified again.

use std::{
    collections::VecDeque,
    env, fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::stamp::Stamp;
use crate::{atomic::write_atomic, bounded_read::read_bounded};

/// The version of the file, and of what an entry says.
const FORMAT: u32 = 1;
/// Files that are remembered; the oldest is forgotten first.
const MAX_FILES: usize = 256;
/// No file of so many entries is longer.
const MAX_BYTES: u64 = 4 << 20;

/// Every byte of a file was hashed to this, and every value was finite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerifiedFile {
    /// Where the file is, without links.
    path: PathBuf,
    stamp: Stamp,
    blake3: String,
}

impl VerifiedFile {
    /// The entry of a file; none for a path that no longer leads to it.
    pub(super) fn of(path: &Path, stamp: &Stamp, blake3: &str) -> Option<Self> {
        Some(Self { path: path.canonicalize().ok()?, stamp: stamp.clone(), blake3: blake3.to_owned() })
    }
}

/// The file of entries, one a verified file.
#[derive(Debug)]
pub(super) struct VerificationCache {
    file: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheFile {
    format: u32,
    verified: VecDeque<VerifiedFile>,
}

impl VerificationCache {
    /// Those of the user: in `$XDG_CACHE_HOME`, `$LOCALAPPDATA` or `~/.cache`.
    pub(super) fn of_user() -> Self {
        let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let root = named("XDG_CACHE_HOME")
            .or_else(|| named("LOCALAPPDATA"))
            .or_else(|| named("HOME").map(|home| home.join(".cache")));
        root.map_or(Self { file: None }, |root| Self::in_folder(&root.join("scope")))
    }

    /// Those of a folder, which is made when there is something to remember.
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { file: Some(folder.join("verified.json")) }
    }

    /// Whether a file was verified before and has not changed since.
    pub(super) fn holds(&self, verified_file: &VerifiedFile) -> bool {
        self.read().contains(verified_file)
    }

    /// Remembers a verified file that has been left alone for a while by `now`. If two processes do at once, one may be
    /// forgotten.
    pub(super) fn add(&self, verified_file: VerifiedFile, now: SystemTime) {
        let Some(file) = self.file.as_ref().filter(|_| verified_file.stamp.is_settled(now)) else { return };
        let mut verified = self.read();
        verified.retain(|known| known.path != verified_file.path);
        verified.push_back(verified_file);
        while verified.len() > MAX_FILES {
            verified.pop_front();
        }
        let Ok(text) = serde_json::to_vec(&CacheFile { format: FORMAT, verified }) else { return };
        if file.parent().is_some_and(|folder| fs::create_dir_all(folder).is_ok()) {
            let _ = write_atomic(file, &text);
        }
    }

    /// All entries, oldest first; none from a file that makes no sense.
    fn read(&self) -> VecDeque<VerifiedFile> {
        let bytes = self.file.as_ref().and_then(|file| read_bounded(file, MAX_BYTES).ok());
        let remembered = bytes.and_then(|bytes| serde_json::from_slice::<CacheFile>(&bytes).ok());
        let ours = remembered.filter(|remembered| remembered.format == FORMAT);
        ours.map(|remembered| remembered.verified).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Duration};

    use super::*;

    fn verified_file(path: &Path) -> VerifiedFile {
        VerifiedFile::of(path, &Stamp::of(&File::open(path).unwrap()).unwrap(), "hash").unwrap()
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    #[test]
    fn an_entry_holds_until_the_file_changes() {
        let root = tempfile::tempdir().unwrap();
        let cache = VerificationCache::in_folder(&root.path().join("cache"));
        let path = root.path().join("x");
        fs::write(&path, b"some").unwrap();
        let before = verified_file(&path);
        assert!(!cache.holds(&before));
        cache.add(before.clone(), SystemTime::now());
        assert!(!cache.holds(&before), "just written: the next change may not show");
        cache.add(before.clone(), later());
        assert!(cache.holds(&before));
        assert!(!cache.holds(&VerifiedFile { blake3: "other".to_owned(), ..before.clone() }));
    }

    /// Other bytes of the same length, with the time of the old ones: the system's own time tells, as soon as its clock
    /// has ticked.
    #[cfg(unix)]
    #[test]
    fn a_time_that_was_set_back_hides_nothing() {
        let root = tempfile::tempdir().unwrap();
        let cache = VerificationCache::in_folder(&root.path().join("cache"));
        let path = root.path().join("x");
        fs::write(&path, b"some").unwrap();
        let before = verified_file(&path);
        cache.add(before.clone(), later());
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        while verified_file(&path) == before {
            fs::write(&path, b"else").unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);
        assert!(!cache.holds(&verified_file(&path)));
    }

    #[test]
    fn the_oldest_entries_are_forgotten_and_a_file_has_one() {
        let root = tempfile::tempdir().unwrap();
        let cache = VerificationCache::in_folder(&root.path().join("cache"));
        let path = root.path().join("x");
        fs::write(&path, b"some").unwrap();
        let of = |k: usize| VerifiedFile { path: PathBuf::from(format!("{k}")), ..verified_file(&path) };
        (0..MAX_FILES + 2).for_each(|k| cache.add(of(k), later()));
        cache.add(of(5), later());
        assert_eq!(cache.read().len(), MAX_FILES);
        assert!(!cache.holds(&of(1)) && cache.holds(&of(2)) && cache.holds(&of(5)));
    }

    #[test]
    fn a_cache_that_cannot_be_used_is_no_error() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        fs::write(&path, b"{\"format\": 1").unwrap();
        let damaged = VerificationCache { file: Some(path.clone()) };
        assert!(!damaged.holds(&verified_file(&path)));
        let nowhere = VerificationCache { file: None };
        nowhere.add(verified_file(&path), later());
        assert!(!nowhere.holds(&verified_file(&path)));
        let in_a_file = VerificationCache::in_folder(&path);
        in_a_file.add(verified_file(&path), later());
        assert!(!in_a_file.holds(&verified_file(&path)));
    }
}
