//! What the program says where someone meant something else.

use std::{fs, path::Path};

use crate::program::{scope, succeed};

/// A folder with a small training set.
fn with_data() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let generate = ["data", "generate", "poisson", "--resolution", "32", "--count", "12", "--out", "data"];
    succeed(root.path(), &generate);
    root
}

/// The arguments of a short training run, and more of them.
fn train<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plain = [
        "train", "--pde", "poisson", "--data", "data", "--draws", "8", "--set", "batch=4", "--device", "cpu",
    ];
    [&plain[..], &["--out", out], more].concat()
}

/// What a command that must succeed tells besides its results.
fn told(folder: &Path, arguments: &[&str]) -> String {
    let output = scope(folder, arguments).assert().success().get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn a_run_that_is_not_there_to_resume_is_begun_and_said_to_be() {
    let root = with_data();
    let resume = train("run", &["--model", "tiny", "--recipe", "fo", "--resume"]);
    let begun = "note: run holds no run to go on with: a new one begins";
    assert!(told(root.path(), &resume).contains(begun));
    assert!(!told(root.path(), &resume).contains(begun));
    assert!(fs::exists(root.path().join("run/model.safetensors")).unwrap());
}
