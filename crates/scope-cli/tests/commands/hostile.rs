//! What must not bring the program down: sizes and counts that no file bears out, files that never end, a system that
//! refuses threads, work that does not answer.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::program::{refused, scope, succeed};

const GENERATE: [&str; 8] = ["data", "generate", "poisson", "--resolution", "32", "--count", "16", "--out"];
const TRAIN: [&str; 14] = [
    "train", "--pde", "poisson", "--data", "data", "--model", "tiny", "--recipe", "fo", "--device", "cpu",
    "--set", "batch=8", "--out",
];

/// A folder with a small set in it.
fn with_data() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    succeed(root.path(), &[&GENERATE[..], &["data"]].concat());
    root
}

/// Replaces a text in the header of a weight file.
fn change_header(path: &Path, from: &str, to: &str) {
    let bytes = fs::read(path).unwrap();
    let (length, rest) = bytes.split_at(8);
    let (header, tensors) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let header = std::str::from_utf8(header).unwrap();
    assert!(header.contains(from), "{header}");
    let header = header.replace(from, to);
    fs::write(path, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), tensors].concat()).unwrap();
}

#[test]
fn recipes_that_never_end_are_refused() {
    let root = with_data();
    let train = |more: &[&str], code: i32| {
        let mut arguments = [&TRAIN[..], &["run"]].concat();
        arguments.extend(more);
        refused(root.path(), &arguments, code)
    };
    let epochs = train(&["--set", "main.epochs=1e308", "--draws", "16"], 2);
    assert!(epochs.contains("main.epochs = 1e308 must be positive, and 1e15 at most"), "{epochs}");
    let long = train(&["--epochs", "1e308"], 1);
    assert!(long.contains("draws would never end"), "{long}");
    if cfg!(target_os = "linux") {
        let mut arguments = [&TRAIN[..], &["run", "--draws", "16"]].concat();
        arguments[8] = "/dev/zero";
        let zeros = refused(root.path(), &arguments, 1);
        assert!(zeros.contains("/dev/zero is longer than 1048576 bytes"), "{zeros}");
    }
    assert!(!root.path().join("run").exists());
}

/// The producer of batches would count beyond the last number, and wait for ever.
#[test]
fn weights_that_state_more_draws_than_can_be_are_refused() {
    let root = with_data();
    succeed(root.path(), &[&TRAIN[..], &["run", "--draws", "16"]].concat());
    let weights = root.path().join("weights.safetensors");
    fs::copy(root.path().join("run/model.safetensors"), &weights).unwrap();
    change_header(&weights, "\\\"draws\\\":16", "\\\"draws\\\":18446744073709551615");
    let mut from = [&TRAIN[..], &["next", "--draws", "16"]].concat();
    (from[5], from[6]) = ("--from", "weights.safetensors");
    let message = refused(root.path(), &from, 1);
    assert!(message.contains("its training: 18446744073709551615 draws are more than any"), "{message}");
    assert!(!root.path().join("next").exists());
}

/// Each thread asks for a stack larger than any memory, so that the system refuses them all.
#[cfg(target_os = "linux")]
#[test]
fn without_a_single_thread_the_same_comes_out() {
    let plain = with_data();
    let alone = tempfile::tempdir().unwrap();
    let without = |arguments: &[&str]| {
        scope(alone.path(), arguments).env("RUST_MIN_STACK", (1_u64 << 50).to_string()).assert().success();
    };
    without(&[&GENERATE[..], &["data"]].concat());
    let train = [&TRAIN[..], &["run", "--draws", "32"]].concat();
    succeed(plain.path(), &train);
    without(&train);
    let evaluate =
        ["evaluate", "--data", "data", "--limit", "2", "--device", "cpu", "--threads", "2", "--out"];
    for method in [&["net", "--run", "run"][..], &["exact", "--method", "exact", "--pde", "poisson"]] {
        let evaluate = [&evaluate[..], method].concat();
        succeed(plain.path(), &evaluate);
        without(&evaluate);
    }
    let values = ["net/uniform500.npz", "exact/uniform500.npz"];
    for file in ["data/fields.npy", "run/model.safetensors", "run/metrics.jsonl"].into_iter().chain(values) {
        let [one, other] = [&plain, &alone].map(|root| fs::read(root.path().join(file)).unwrap());
        assert!(one == other, "{file}");
    }
}

/// A record of so fine a grid takes minutes, and nothing is asked meanwhile: a hang as far as signals can tell.
#[cfg(unix)]
#[test]
fn a_later_interrupt_ends_work_that_does_not_answer() {
    let root = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_scope"))
        .args("data generate ns --resolution 2048 --count 1 --threads 1 --out set".split(' '))
        .current_dir(root.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // It listens before it writes.
    while !root.path().join("set.partial").exists() {
        std::thread::yield_now();
    }
    let send = |signal: &str| Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(send("-TERM").success());
    let number = child.id().to_string();
    let ended = loop {
        // The last signal may come too late.
        let _ = Command::new("kill").args(["-INT", &number]).stderr(Stdio::null()).status();
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        std::thread::yield_now();
    };
    assert_eq!(ended.code(), Some(130));
    assert!(!root.path().join("set").exists());
}

/// What a few hundred bytes state must not be believed.
#[test]
fn a_small_file_with_large_sizes_is_refused() {
    let root = with_data();
    succeed(root.path(), &[&TRAIN[..], &["run", "--draws", "16"]].concat());
    let weights = root.path().join("run/model.safetensors");
    change_header(&weights, "\\\"width\\\":96", "\\\"width\\\":65532");
    let message = refused(root.path(), &["model", "info", "--model", "run"], 1);
    assert!(message.contains("parameters are more than a network may have"), "{message}");
}
