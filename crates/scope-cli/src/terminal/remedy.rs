//! What to do about a path that the operating system refused. Libraries say which path it was and what was to be done with
//! it; the way out depends on the refusal alone.

use std::io::{Error, ErrorKind};

/// What to do, where something can be done.
pub(super) fn remedy(refusal: &Error) -> Option<String> {
    let advice = match refusal.kind() {
        ErrorKind::NotFound => {
            let here = std::env::current_dir()
                .map_or("the current folder".to_owned(), |folder| folder.display().to_string());
            return Some(format!(
                "check the name, and that its folder is there; relative names begin in {here}"
            ));
        }
        ErrorKind::PermissionDenied => "ask for the right to it, or name a path that you may use",
        ErrorKind::AlreadyExists => "something of that name is there already: name another",
        ErrorKind::NotADirectory => "a part of the path is a file where a folder should be: name another",
        ErrorKind::IsADirectory => "it is a folder where a file should be: name a file",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room, or name a place on another disk",
        ErrorKind::FileTooLarge => {
            "raise the limit on the size of files (ulimit -f), or write to another disk"
        }
        ErrorKind::ReadOnlyFilesystem => "name a place that can be written",
        _ => return None,
    };
    Some(advice.to_owned())
}
