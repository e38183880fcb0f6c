//! `scope mask`, through the real binary.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use assert_cmd::cargo::cargo_bin;
use scope::data::npy::{Dtype, MappedArray};

fn scope(folder: &Path, arguments: &str) -> Output {
    Command::new(cargo_bin("scope")).args(arguments.split_whitespace()).current_dir(folder).output().unwrap()
}

fn complaint(folder: &Path, code: i32, arguments: &str) -> String {
    let output = scope(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "scope {arguments}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn masks_are_written_for_numpy() {
    let root = tempfile::tempdir().unwrap();
    let arguments = "mask --family lines --budget 4915 --task inverse --record 3 --out mask.npy";
    assert!(scope(root.path(), arguments).status.success());
    let mask = MappedArray::open(&root.path().join("mask.npy")).unwrap();
    assert_eq!((mask.header().dtype, &mask.header().shape[..]), (Dtype::Bool, &[2, 128, 128][..]));
    let count = |channel: usize| (0..16384).filter(|k| mask.value(channel * 16384 + k) == 1.0).count();
    assert_eq!((count(0), count(1)), (0, 4915));
    // The same arguments give the same bytes; another record does not.
    let first = fs::read(root.path().join("mask.npy")).unwrap();
    assert!(scope(root.path(), arguments).status.success());
    assert!(fs::read(root.path().join("mask.npy")).unwrap() == first);
    assert!(scope(root.path(), &arguments.replace("--record 3", "--record 4")).status.success());
    assert!(fs::read(root.path().join("mask.npy")).unwrap() != first);
}

#[test]
fn pictures_are_written() {
    let root = tempfile::tempdir().unwrap();
    for arguments in [
        "mask --family block --budget 9830 --task joint --out a.png",
        "mask --family uniform --budget 77 --resolution 34 --split train --draw 2 --out a.png",
        "mask --gallery --pde cylinder --out a.png",
    ] {
        assert!(scope(root.path(), arguments).status.success(), "{arguments}");
        let bytes = fs::read(root.path().join("a.png")).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 500);
        fs::remove_file(root.path().join("a.png")).unwrap();
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let root = tempfile::tempdir().unwrap();
    assert!(complaint(root.path(), 2, "mask --family grid --budget 501 --out a.npy").contains("not 501"));
    assert!(
        complaint(root.path(), 2, "mask --family uniform --budget 0 --out a.npy").contains("from 1 to 16384")
    );
    assert!(
        complaint(root.path(), 2, "mask --family uniform --budget 9 --out a.jpg").contains(".png or .npy")
    );
    assert!(complaint(root.path(), 2, "mask --gallery --out a.npy").contains("the gallery is a picture"));
    for other in ["--resolution 64", "--draw 1", "--split train"] {
        let refused = complaint(root.path(), 2, &format!("mask --gallery {other} --out a.png"));
        assert!(refused.contains("--gallery' cannot be used with"), "{refused}");
    }
    assert!(complaint(root.path(), 2, "mask --family unifrom --budget 9 --out a.npy").contains("'uniform'"));
    assert!(complaint(root.path(), 2, "mask --out a.npy").contains("--family"));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}
