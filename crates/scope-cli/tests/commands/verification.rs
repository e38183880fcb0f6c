//! Sets that are not what they say, given to every command that learns from records or measures on them.

use std::{fs, path::Path};

use crate::program::{refused, succeed};

const TRAIN: [&str; 14] = [
    "train", "--pde", "poisson", "--data", "set", "--recipe", "fo", "--model", "tiny", "--draws", "16",
    "--set", "batch=4", "--device",
];

/// A folder with records and a short run on them.
fn trained() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    generate(root.path(), "24", &[]);
    succeed(root.path(), &[&TRAIN[..], &["cpu", "--out", "run"]].concat());
    root
}

fn generate(folder: &Path, count: &str, more: &[&str]) {
    let plain = ["data", "generate", "poisson", "--resolution", "32", "--out", "set", "--count", count];
    succeed(folder, &[&plain[..], more].concat());
}

/// All commands that read the records of a set.
fn commands() -> Vec<Vec<&'static str>> {
    let cpu = ["--device", "cpu"];
    vec![
        [&TRAIN[..], &["cpu", "--out", "new"]].concat(),
        [&TRAIN[..], &["cpu", "--out", "run", "--resume"]].concat(),
        [
            &["adapt", "--base", "run", "--data", "set", "--head", "1m", "--view", "sparse", "--out", "head"]
                [..],
            &cpu,
        ]
        .concat(),
        [&["evaluate", "--run", "run", "--data", "set"][..], &cpu].concat(),
        vec!["evaluate", "--method", "exact", "--pde", "poisson", "--data", "set"],
        [&["diagnose", "--run", "run", "--data", "set"][..], &cpu].concat(),
        vec!["model", "pack", "--run", "run", "--kind", "int8", "--data", "set", "--out", "x.safetensors"],
        vec!["data", "check", "set"],
    ]
}

#[test]
fn records_that_were_written_over_are_refused() {
    let root = trained();
    let fields = root.path().join("set/fields.npy");
    let mut bytes = fs::read(&fields).unwrap();
    for (k, number) in bytes[128..].chunks_exact_mut(4).enumerate() {
        number.copy_from_slice(&((k as f32).sin()).to_le_bytes());
    }
    fs::write(&fields, bytes).unwrap();
    for command in commands() {
        let said = refused(root.path(), &command, 1);
        assert!(said.contains("fields.npy has changed since it was written"), "{command:?}: {said}");
    }
}

#[test]
fn a_set_without_hashes_is_refused() {
    let root = trained();
    let path = root.path().join("set/meta.json");
    let mut meta: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    meta["blake3"] = serde_json::json!({});
    fs::write(&path, meta.to_string()).unwrap();
    for command in commands() {
        let said = refused(root.path(), &command, 1);
        assert!(said.contains("blake3 lacks the hash of fields.npy"), "{command:?}: {said}");
    }
}

#[test]
fn no_records_are_an_error_and_not_a_panic() {
    let root = trained();
    fs::remove_dir_all(root.path().join("set")).unwrap();
    // The first half of one record.
    generate(root.path(), "1", &["--shard", "1/2"]);
    for command in commands() {
        let said = refused(root.path(), &command, 1);
        assert!(said.contains("set holds 0 records"), "{command:?}: {said}");
    }
    succeed(root.path(), &["data", "info", "set"]);
}
