//! Whether something can be written, asked before long work and not after it.

use std::{fs, path::Path};

use crate::{
    atomic::{create_beside, linked_to, parent_of},
    error::DataError,
};

/// Refuses a file that [`write_atomic`](crate::write_atomic) could not write.
pub fn require_writable(path: &Path) -> Result<(), DataError> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(DataError::Request(format!(
            "{} is a folder, and a file is to be written there: name a file",
            path.display()
        ))),
        // Opening a pipe and closing it again would end it for whoever reads it.
        Ok(there) if !there.is_file() => Ok(()),
        _ => {
            let file = linked_to(path)?;
            try_file(&file, path)
        }
    }
}

/// Refuses a folder that could not be made, or that could not be written in.
pub fn require_writable_folder(folder: &Path) -> Result<(), DataError> {
    let is_there = |above: &&Path| above.symlink_metadata().is_ok();
    let mut above = folder.ancestors().filter(|above| !above.as_os_str().is_empty());
    let there = above.find(is_there).unwrap_or(Path::new("."));
    if !there.is_dir() {
        return Err(DataError::Request(format!(
            "{} cannot be a folder, as {} is a file: name another folder",
            folder.display(),
            there.display()
        )));
    }
    try_file(&there.join("folder"), folder)
}

/// Makes a file beside one and removes it: permissions alone do not tell, as a whole disk may be read-only.
fn try_file(beside: &Path, asked: &Path) -> Result<(), DataError> {
    let missing = parent_of(beside);
    if !missing.exists() {
        return Err(DataError::Request(format!(
            "{} cannot be written, as there is no folder {}: make it first, or name another",
            asked.display(),
            missing.display()
        )));
    }
    let (scratch, _) = create_beside(beside, asked)?;
    fs::remove_file(scratch).map_err(DataError::io("write", asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_known_before() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("file"), b"precious").unwrap();
        fs::create_dir(at("folder")).unwrap();
        assert!(require_writable(&at("new")).is_ok() && require_writable(&at("file")).is_ok());
        let refused = |name: &str| require_writable(&at(name)).unwrap_err().to_string();
        assert!(refused("nowhere/x").contains("there is no folder"), "{}", refused("nowhere/x"));
        assert!(refused("folder").contains("is a folder"), "{}", refused("folder"));
        assert!(require_writable(&at("file/x")).is_err());
        assert!(
            require_writable_folder(&at("a/b/c")).is_ok() && require_writable_folder(&at("folder")).is_ok()
        );
        let said = require_writable_folder(&at("file/deep/er")).unwrap_err().to_string();
        assert!(said.contains("file is a file: name another folder"), "{said}");
        assert_eq!(fs::read(at("file")).unwrap(), b"precious");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "nothing is left or made");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_read_only_place_is_refused() {
        assert!(require_writable(Path::new("/proc/x")).is_err());
        assert!(require_writable_folder(Path::new("/proc/x/y")).is_err());
    }
}
