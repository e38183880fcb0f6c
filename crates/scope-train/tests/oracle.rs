//! Parity with an independent implementation: every case of a folder, through the real training step.
//!
//! The folder is `tests/oracle`, or the one that `SCOPE_ORACLE` names; its README says what a case holds.
#![allow(clippy::unwrap_used)]

mod parity;

use std::path::PathBuf;

use parity::Case;

#[test]
fn oracle_cases_agree() {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle");
    let folder = std::env::var_os("SCOPE_ORACLE").map_or(kept, PathBuf::from);
    assert!(folder.is_dir(), "{} is no folder", folder.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no cases", folder.display());
    for file in files {
        Case::read(&file).check();
    }
}
