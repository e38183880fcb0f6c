//! Several processes that do one thing, as a user starts them.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::program::{refused, scope, succeed};

/// A folder with a small training set in it.
fn place() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let make = ["data", "generate", "poisson", "--resolution", "32", "--count", "20", "--out", "data"];
    succeed(root.path(), &make);
    root
}

/// The arguments of a short training run, and more of them.
fn train<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plain =
        ["train", "--data", "data", "--model", "tiny", "--device", "cpu", "--log-every", "1", "--out", out];
    [&plain[..], &["--recipe", "fo", "--set", "batch=8", "--set", "optimizer=muon"], more].concat()
}

/// What two equal runs have in common.
fn results(run: &Path) -> Vec<Vec<u8>> {
    let states = fs::read_dir(run.join("state")).unwrap().map(|entry| entry.unwrap().path());
    let last = states.max().unwrap().join("state.safetensors");
    let files = ["config.toml", "metrics.jsonl", "model.safetensors"].map(|name| run.join(name));
    files.iter().chain([&last]).map(|file| fs::read(file).unwrap()).collect()
}

/// The program as one of several processes, with variables as torchrun sets them.
fn as_rank(root: &Path, arguments: &[&str], rank: usize, size: usize, port: u16) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scope"));
    let variables = [
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", size.to_string()),
        ("MASTER_ADDR", "localhost".to_owned()),
        ("MASTER_PORT", port.to_string()),
    ];
    command.args(arguments).current_dir(root).envs(variables);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn processes_give_one_model_whatever_their_number_and_whoever_starts_them() {
    let root = place();
    let root = root.path();
    let draws = ["--draws", "64"];
    let alone = train("one", &[&draws[..], &["--processes", "1"]].concat());
    let printed = succeed(root, &alone);
    assert!(
        printed.contains("processes that share every batch: 1") && printed.contains("64 draws"),
        "{printed}"
    );
    let printed = succeed(root, &train("three", &[&draws[..], &["--processes", "3"]].concat()));
    assert_eq!(printed.lines().count(), 3, "rank 0 speaks for all: {printed}");
    assert_eq!(results(&root.join("one")), results(&root.join("three")));
    // What no process is needed for: the same parts by hand.
    succeed(root, &train("by-hand", &[&draws[..], &["--set", "parts=8"]].concat()));
    assert_eq!(results(&root.join("one")), results(&root.join("by-hand")));
    let arguments = train("torchrun", &draws);
    let port = free_port();
    let started: Vec<Child> = (0..2).map(|rank| as_rank(root, &arguments, rank, 2, port)).collect();
    let ended: Vec<Output> = started.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    assert!(ended.iter().all(|output| output.status.success()), "{ended:?}");
    assert!(ended[1].stdout.is_empty());
    assert_eq!(results(&root.join("one")), results(&root.join("torchrun")));
    // Resumed, a finished run stays as it is.
    let printed = succeed(root, &train("three", &[&draws[..], &["--processes", "2", "--resume"]].concat()));
    assert!(printed.contains("nothing was changed"), "{printed}");
}

#[cfg(unix)]
#[test]
fn a_killed_process_ends_all_and_the_run_goes_on_with_another_number() {
    let root = place();
    let root = root.path();
    let draws = ["--draws", "640"];
    succeed(root, &train("straight", &[&draws[..], &["--processes", "1"]].concat()));
    let arguments = train("killed", &draws);
    let port = free_port();
    let mut ranks: Vec<Child> = (0..3).map(|rank| as_rank(root, &arguments, rank, 3, port)).collect();
    let begun = root.join("killed").join("config.toml");
    let since = Instant::now();
    while !begun.exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "the run does not begin");
        thread::yield_now();
    }
    ranks[1].kill().unwrap();
    let killed = Instant::now();
    let ended: Vec<Output> = ranks.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    assert!(killed.elapsed() < Duration::from_secs(60), "all end within a minute");
    let said = |rank: usize| String::from_utf8_lossy(&ended[rank].stderr).into_owned();
    for rank in [0, 2] {
        assert_eq!(ended[rank].status.code(), Some(1), "{}", said(rank));
        assert!(said(rank).contains("rank 1 of 3"), "{}", said(rank));
    }
    assert!(said(2).contains("rank 2: error: "), "{}", said(2));
    let resumed = train("killed", &[&draws[..], &["--processes", "2", "--resume"]].concat());
    succeed(root, &resumed);
    assert_eq!(results(&root.join("straight")), results(&root.join("killed")));
}

#[test]
fn what_several_processes_cannot_do_is_refused() {
    let root = place();
    let root = root.path();
    let refuse = |arguments: &[&str], code: i32, expected: &str| {
        let said = refused(root, &train("run", arguments), code);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    };
    refuse(&["--minutes", "1", "--processes", "2"], 2, "name --draws or --epochs");
    refuse(&["--draws", "64", "--fast-reduction"], 2, "--fast-reduction is for several processes");
    refuse(
        &["--draws", "64", "--processes", "9"],
        1,
        "8 parts of a batch cannot be divided among 9 processes",
    );
    assert!(!root.join("run").join("config.toml").exists());
    succeed(root, &train("alone", &["--draws", "64"]));
    let more = train("alone", &["--draws", "64", "--processes", "2", "--resume"]);
    let said = refused(root, &more, 1);
    assert!(said.contains("was begun without parts"), "{said}");
    let said = scope(root, &train("run", &["--draws", "64", "--processes", "2"]))
        .envs([("RANK", "0"), ("WORLD_SIZE", "4")])
        .assert()
        .code(2)
        .get_output()
        .stderr
        .clone();
    assert!(String::from_utf8_lossy(&said).contains("leave --processes out"));
    let fast = succeed(root, &train("fast", &["--draws", "64", "--processes", "2", "--fast-reduction"]));
    assert!(fast.contains("64 draws"), "{fast}");
    let config = fs::read_to_string(root.join("fast").join("config.toml")).unwrap();
    assert!(!config.contains("parts"), "{config}");
}

/// The bytes of the results of an evaluation.
fn evaluation(folder: &Path) -> [Vec<u8>; 2] {
    ["uniform500.json", "uniform500.npz"].map(|name| fs::read(folder.join(name)).unwrap())
}

#[test]
fn parts_of_an_evaluation_and_of_a_set_make_the_whole_in_every_byte() {
    let root = place();
    let root = root.path();
    succeed(root, &train("run", &["--draws", "16"]));
    let test = ["data", "generate", "poisson", "--resolution", "32", "--count", "7", "--split", "test"];
    succeed(root, &[&test[..], &["--out", "test"]].concat());
    let evaluate = |more: &[&'static str]| {
        [&["evaluate", "--run", "run", "--data", "test", "--device", "cpu"][..], more].concat()
    };
    succeed(root, &evaluate(&["--out", "whole"]));
    for part in ["2/3", "1/3"] {
        succeed(root, &evaluate(&["--out", "joined", "--shard", part]));
    }
    let said = refused(root, &evaluate(&["--out", "joined", "--join"]), 1);
    assert!(said.contains("part 3 of 3 of uniform500 is missing"), "{said}");
    let ranked = |arguments: &[&str]| {
        let variables = [("RANK", "2"), ("WORLD_SIZE", "3")];
        scope(root, arguments).envs(variables).assert().success();
    };
    ranked(&evaluate(&["--out", "joined", "--shard", "ranks"]));
    let printed = succeed(root, &evaluate(&["--out", "joined", "--join"]));
    assert!(printed.contains("forward/uniform/500"), "{printed}");
    assert_eq!(evaluation(&root.join("whole")), evaluation(&root.join("joined")));
    let said = refused(root, &evaluate(&["--out", "joined", "--join", "--seed", "5"]), 1);
    assert!(said.contains("it is of another model, of other records"), "{said}");

    let shards: Vec<PathBuf> = (1..=3).map(|k| root.join(format!("test-again-part-{k}-of-3"))).collect();
    for part in ["1/3", "2/3"] {
        let out = format!("test-again-part-{}-of-3", &part[..1]);
        succeed(root, &[&test[..], &["--shard", part, "--out", &out]].concat());
    }
    ranked(&[&test[..], &["--shard", "ranks", "--out", "test-again"]].concat());
    let names: Vec<&str> = shards.iter().map(|path| path.to_str().unwrap()).collect();
    succeed(root, &[&["data", "merge"][..], &names, &["--out", "test-again"]].concat());
    let fields = |name: &str| fs::read(root.join(name).join("fields.npy")).unwrap();
    assert_eq!(fields("test"), fields("test-again"));
}
