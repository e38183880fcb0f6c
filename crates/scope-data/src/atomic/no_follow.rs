//! Opening files for writing, without following links.

use std::{
    fs::{File, OpenOptions},
    path::Path,
};

use crate::{bounded_read::name_of, error::DataError};

/// Opens a file that is written in place. A link is refused, for what it leads to may be anybody's, and so is what is
/// no file, such as a pipe, which could be waited for without end.
pub fn open_unlinked(options: &OpenOptions, path: &Path) -> Result<File, DataError> {
    let opened = refusing_links(options, path);
    if path.is_symlink() {
        return Err(DataError::IsLink(path.to_owned()));
    }
    let file = opened.map_err(DataError::io("open", path))?;
    let about = file.metadata().map_err(DataError::io("open", path))?;
    if about.is_file() {
        return Ok(file);
    }
    Err(DataError::NotAFile { path: path.to_owned(), what: name_of(about.file_type()) })
}

/// The system itself refuses the link, so that none can be put there between a look and the opening.
#[cfg(unix)]
fn refusing_links(options: &OpenOptions, path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    options.clone().custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Elsewhere there is only the look.
#[cfg(not(unix))]
fn refusing_links(options: &OpenOptions, path: &Path) -> std::io::Result<File> {
    if path.is_symlink() {
        return Err(std::io::Error::other("it is a link"));
    }
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn links_and_what_is_no_file_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("diary"), b"precious").unwrap();
        std::os::unix::fs::symlink("diary", at("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        assert!(matches!(open_unlinked(&options, &at("link")), Err(DataError::IsLink(_))));
        assert!(matches!(open_unlinked(&options, &at("dangling")), Err(DataError::IsLink(_))));
        assert!(matches!(open_unlinked(&options, &at("pipe")), Err(DataError::NotAFile { .. })));
        assert!(!at("nowhere").exists());
        assert_eq!(fs::read(at("diary")).unwrap(), b"precious");
        open_unlinked(&options, &at("new")).unwrap();
    }
}
