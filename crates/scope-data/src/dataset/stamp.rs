//! What the file system tells of a file, by which a change of its content shows without reading it.

use std::{
    fs::{File, Metadata},
    io,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

/// A file that was written within this time may be written again without its times telling: some file systems count in
/// steps of two seconds.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// Seconds and nanoseconds since 1970.
type Time = (i64, i64);

/// Which file it is, how long it is, and when it was written. Two equal stamps of a settled file are of equal content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stamp {
    length: u64,
    /// When the content was written, as far as whoever wrote it says.
    modified: Time,
    /// When the content or anything else of the file was changed, which nobody can set back; on Unix.
    changed: Option<Time>,
    /// The device and the number of the file on it; on Unix.
    inode: Option<(u64, u64)>,
}

impl Stamp {
    /// The stamp of an open file.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Self::told_by(&metadata)
    }

    #[cfg(unix)]
    fn told_by(metadata: &Metadata) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        Ok(Self {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: Some((metadata.ctime(), metadata.ctime_nsec())),
            inode: Some((metadata.dev(), metadata.ino())),
        })
    }

    #[cfg(not(unix))]
    fn told_by(metadata: &Metadata) -> io::Result<Self> {
        let modified = since_1970(metadata.modified()?);
        Ok(Self { length: metadata.len(), modified, changed: None, inode: None })
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// How the content of the same open file differs from what it was, in words. That a file was renamed, or linked to
    /// by a backup, does not count.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        if self.length != now.length {
            return Some(format!("it had {} bytes, and has {} now", self.length, now.length));
        }
        (self.modified != now.modified).then(|| "it was written to".to_owned())
    }

    /// Whether any later change of the file would show in its stamp.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let now = since_1970(now);
        let times = [Some(self.modified), self.changed].into_iter().flatten();
        times.max().is_some_and(|(seconds, _)| seconds + (TIMESTAMP_GRANULARITY.as_secs() as i64) < now.0)
    }
}

fn since_1970(time: SystemTime) -> Time {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() as i64, i64::from(since.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_file_is_not_settled() {
        let file = tempfile::tempfile().unwrap();
        let stamp = Stamp::of(&file).unwrap();
        let now = SystemTime::now();
        assert!(!stamp.is_settled(now));
        assert!(!stamp.is_settled(now - Duration::from_secs(100)), "written in the future");
        assert!(stamp.is_settled(now + Duration::from_secs(10)));
    }

    #[test]
    fn a_change_of_content_shows_and_a_change_of_name_does_not() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        std::fs::write(&path, b"some").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let before = Stamp::of(&file).unwrap();
        std::fs::rename(&path, root.path().join("y")).unwrap();
        assert_eq!(before.difference(&Stamp::of(&file).unwrap()), None);
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let now = Stamp::of(&file).unwrap();
        assert_eq!(before.difference(&now).unwrap(), "it was written to");
        file.set_len(2).unwrap();
        let now = Stamp::of(&file).unwrap();
        assert_eq!(before.difference(&now).unwrap(), "it had 4 bytes, and has 2 now");
    }
}
