//! Files under a passing name, beside those they are to replace.

use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::name_of;
use crate::error::DataError;

/// How many names are tried; all are taken only if as many processes were killed that had the numbers of this one and
/// its successors.
const ATTEMPTS: u32 = 100;

/// The names beside a path that a process may take: `.NAME.NUMBER.partial`, with its own number first.
fn names(path: &Path) -> Result<impl Iterator<Item = PathBuf>, DataError> {
    let name = name_of(path)?.display().to_string();
    let numbers = (0..ATTEMPTS).map(|attempt| std::process::id().wrapping_add(attempt));
    Ok(numbers.map(move |number| path.with_file_name(format!(".{name}.{number}.partial"))))
}

/// The name of the file that another of such a name was to replace.
pub fn scratch_of(name: &OsStr) -> Option<&str> {
    let inner = name.to_str()?.strip_prefix('.')?.strip_suffix(".partial")?;
    let (file, number) = inner.rsplit_once('.')?;
    number.parse::<u32>().is_ok().then_some(file)
}

/// A name beside a path that nobody has.
pub(crate) fn free_beside(path: &Path) -> Result<PathBuf, DataError> {
    let is_free = |name: &PathBuf| name.symlink_metadata().is_err();
    let none = || DataError::io("move", path)(ErrorKind::AlreadyExists.into());
    names(path)?.find(is_free).ok_or_else(none)
}

/// Makes a file beside a path under a name that nobody has, with the permissions of what is at that path. Errors name
/// the path that was `asked` for, which may be a link to this one.
pub(crate) fn create_beside(path: &Path, asked: &Path) -> Result<(PathBuf, File), DataError> {
    let replaced = fs::metadata(path).ok().map(|about| about.permissions());
    for scratch in names(path)? {
        match create(&scratch, replaced.as_ref()) {
            Ok(file) => return Ok((scratch, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(DataError::io("write", asked)(error)),
        }
    }
    Err(DataError::io("write", asked)(ErrorKind::AlreadyExists.into()))
}

/// Makes a file that was not there, under permissions that allow nobody more than those of the replaced one at any
/// time.
#[cfg(unix)]
fn create(scratch: &Path, replaced: Option<&fs::Permissions>) -> std::io::Result<File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let Some(replaced) = replaced else { return options.open(scratch) };
    let file = options.mode(replaced.mode() & 0o777).open(scratch)?;
    // Where the two are the same there is nothing to do; some disks know no permissions, and refuse to change them.
    if file.metadata()?.permissions() != *replaced {
        file.set_permissions(replaced.clone()).inspect_err(|_| drop(fs::remove_file(scratch)))?;
    }
    Ok(file)
}

/// Elsewhere files have the permissions of their folder.
#[cfg(not(unix))]
fn create(scratch: &Path, _: Option<&fs::Permissions>) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(scratch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        let taken = root.path().join(format!(".x.{}.partial", std::process::id()));
        fs::write(&taken, b"precious").unwrap();
        let (scratch, _) = create_beside(&path, &path).unwrap();
        assert_ne!(scratch, taken);
        assert_eq!(scratch_of(scratch.file_name().unwrap()), Some("x"));
        assert!(![&taken, &scratch].contains(&&free_beside(&path).unwrap()));
        assert_eq!(fs::read(&taken).unwrap(), b"precious");
    }

    #[test]
    fn names_of_others_are_not_taken_for_ours() {
        let of = |name: &str| scratch_of(OsStr::new(name)).map(str::to_owned);
        assert_eq!(of(".model.safetensors.12.partial").as_deref(), Some("model.safetensors"));
        for other in ["model.safetensors.12.partial", ".model.12", ".12.partial", ".model.x.partial"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
