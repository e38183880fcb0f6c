//! Files that are read into memory whole: what they are and how long they are is checked before and while they are
//! read.

use std::{
    fs::{File, FileType},
    io::{self, Read},
    path::Path,
};

use crate::error::DataError;

/// Reads a regular file of at most `limit` bytes. A pipe, a device or a folder is refused before it is opened, and a
/// longer file before any of it is read.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, DataError> {
    let (file, length) = open_regular(path)?;
    if length > limit {
        return Err(DataError::TooLong { path: path.to_owned(), limit });
    }
    read_up_to(file, path, limit, length)
}

/// Reads a small file of text of at most `limit` bytes, which may be a pipe, as that of a shell's `<(...)`. What never
/// ends is read up to the limit and refused.
pub fn read_bounded_text(path: &Path, limit: u64) -> Result<String, DataError> {
    if path.is_dir() {
        return Err(DataError::NotAFile { path: path.to_owned(), what: "a folder" });
    }
    let file = File::open(path).map_err(DataError::io("read", path))?;
    let bytes = read_up_to(file, path, limit, 0)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        DataError::malformed(path, "text in UTF-8", format!("byte {at} is of no character"))
    })
}

/// Opens a regular file, and tells its length.
pub fn open_regular(path: &Path) -> Result<(File, u64), DataError> {
    let refuse = |kind: FileType| DataError::NotAFile { path: path.to_owned(), what: name_of(kind) };
    // Before it is opened: a pipe that nobody writes to is waited for.
    let there = std::fs::metadata(path).map_err(DataError::io("read", path))?;
    if !there.is_file() {
        return Err(refuse(there.file_type()));
    }
    let file = File::open(path).map_err(DataError::io("read", path))?;
    // After: it may have been replaced in between.
    let opened = file.metadata().map_err(DataError::io("read", path))?;
    if !opened.is_file() {
        return Err(refuse(opened.file_type()));
    }
    Ok((file, opened.len()))
}

/// Reads to the end, which must come before the limit: a file may grow while it is read.
fn read_up_to(source: impl Read, path: &Path, limit: u64, expected: u64) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    let room = usize::try_from(expected).ok().and_then(|room| bytes.try_reserve_exact(room).ok());
    room.ok_or_else(|| DataError::io("read", path)(io::ErrorKind::OutOfMemory.into()))?;
    source.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(DataError::io("read", path))?;
    if bytes.len() as u64 > limit {
        return Err(DataError::TooLong { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

/// What a file is that is no regular one.
pub(crate) fn name_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    if kind.is_dir() { "a folder" } else { "no file" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_their_limit() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
        assert_eq!(read_bounded_text(&path, 5).unwrap(), "12345");
        for refused in [read_bounded(&path, 4).unwrap_err(), read_bounded_text(&path, 4).unwrap_err()] {
            assert!(matches!(&refused, DataError::TooLong { limit: 4, .. }), "{refused}");
        }
        std::fs::write(&path, b"ab\xff").unwrap();
        let refused = read_bounded_text(&path, 5).unwrap_err().to_string();
        assert!(refused.contains("text in UTF-8: byte 2 is of no character"), "{refused}");
    }

    #[test]
    fn a_folder_is_no_file() {
        let root = tempfile::tempdir().unwrap();
        for refused in
            [read_bounded(root.path(), 9).unwrap_err(), read_bounded_text(root.path(), 9).unwrap_err()]
        {
            assert!(matches!(&refused, DataError::NotAFile { what: "a folder", .. }), "{refused}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_never_ends_is_refused() {
        let zeros = Path::new("/dev/zero");
        let refused = read_bounded(zeros, 1 << 20).unwrap_err();
        assert!(matches!(&refused, DataError::NotAFile { what: "a device", .. }), "{refused}");
        let refused = read_bounded_text(zeros, 1 << 20).unwrap_err();
        assert!(matches!(&refused, DataError::TooLong { .. }), "{refused}");
    }

    /// A pipe that nobody writes to would be waited for.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_is_read_as_text_only() {
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = std::path::PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
        std::io::Write::write_all(&mut writer, b"batch = 8").unwrap();
        let refused = read_bounded(&path, 100).unwrap_err();
        assert!(matches!(&refused, DataError::NotAFile { what: "a pipe", .. }), "{refused}");
        drop(writer);
        assert_eq!(read_bounded_text(&path, 100).unwrap(), "batch = 8");
    }
}
