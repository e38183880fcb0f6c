//! The data commands, through the real binary, in a fresh folder.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use assert_cmd::cargo::cargo_bin;

fn scope(folder: &Path, arguments: &str) -> Output {
    Command::new(cargo_bin("scope")).args(arguments.split_whitespace()).current_dir(folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs a command that must succeed; returns what it printed.
fn succeed(folder: &Path, arguments: &str) -> String {
    let output = scope(folder, arguments);
    assert!(output.status.success(), "scope {arguments}: {}", stderr(&output));
    stdout(&output)
}

/// Runs a command that must fail with the given exit code; returns its complaint.
fn fail(folder: &Path, code: i32, arguments: &str) -> String {
    let output = scope(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "scope {arguments}: {}", stderr(&output));
    stderr(&output)
}

#[test]
fn a_set_is_made_described_and_checked() {
    let root = tempfile::tempdir().unwrap();
    let made = succeed(root.path(), "data generate poisson --count 40 --resolution 32 --seed 3 --out set");
    assert!(made.starts_with("wrote 40 records of poisson (train) to set"), "{made}");
    let info = succeed(root.path(), "data info set");
    assert!(info.contains("40 records of poisson (train), 32 x 32"), "{info}");
    assert!(
        info.contains("fresh draws from the released distribution (seed 3, generator version 1)"),
        "{info}"
    );
    let check = succeed(root.path(), "data check set");
    assert!(
        check.contains("discrete residual") && check.contains("ok: within 5.2 standard errors"),
        "{check}"
    );
}

#[test]
fn a_set_too_small_for_statistics_is_checked_by_its_laws() {
    let root = tempfile::tempdir().unwrap();
    succeed(root.path(), "data generate poisson --count 1 --out set");
    let check = succeed(root.path(), "data check set");
    assert!(check.contains("note: too few records for statistics: 1, at least 10 are needed"), "{check}");
    assert!(check.contains("ok: every law holds"), "{check}");
    let report: serde_json::Value =
        serde_json::from_str(&succeed(root.path(), "data check set --json")).unwrap();
    assert!(report["z_limit"].is_null() && report["channels"][0]["mean"]["z"].is_null());
    assert_eq!(report["faults"], serde_json::json!([]));
}

#[test]
fn reports_are_json_when_asked() {
    let root = tempfile::tempdir().unwrap();
    succeed(root.path(), "data generate helmholtz --count 4 --resolution 32 --out set");
    let info: serde_json::Value =
        serde_json::from_str(&succeed(root.path(), "data info set --json")).unwrap();
    assert_eq!(info["pde"], "helmholtz");
    assert_eq!(
        info,
        serde_json::from_slice::<serde_json::Value>(&fs::read(root.path().join("set/meta.json")).unwrap())
            .unwrap()
    );
    let check: serde_json::Value =
        serde_json::from_str(&succeed(root.path(), "data check set --json")).unwrap();
    assert_eq!(check["channels"][1]["channel"], "u");
    let bench = succeed(root.path(), "bench generate --pde poisson --resolution 32 --seconds 0.01 --json");
    let bench: serde_json::Value = serde_json::from_str(&bench).unwrap();
    assert!(bench[0]["records_per_second"].as_f64().unwrap() > 0.0);
}

#[test]
fn shards_join_to_what_one_run_makes() {
    let root = tempfile::tempdir().unwrap();
    succeed(root.path(), "data generate darcy --count 7 --resolution 32 --threads 1 --out whole");
    for part in 1..=3 {
        succeed(
            root.path(),
            &format!("data generate darcy --count 7 --resolution 32 --shard {part}/3 --out part-{part}"),
        );
    }
    succeed(root.path(), "data merge part-2 part-3 part-1 --out joined");
    for name in ["fields.npy", "meta.json"] {
        let read = |folder: &str| fs::read(root.path().join(folder).join(name)).unwrap();
        assert!(read("whole") == read("joined"), "{name}");
    }
}

#[test]
fn misuse_exits_with_2_and_says_what_was_expected() {
    let root = tempfile::tempdir().unwrap();
    let complaint = |arguments| fail(root.path(), 2, arguments);
    assert!(complaint("data generate posson --count 1 --out x").contains("similar value exists: 'poisson'"));
    assert!(complaint("data generate poisson --count 0 --out x").contains("whole number from 1 up"));
    assert!(
        complaint("data generate poisson --count 1 --resolution 33 --out x").contains("even number from 32")
    );
    assert!(complaint("data generate poisson --count 9 --shard 0/3 --out x").contains("i from 1 to n"));
    assert!(complaint("data generate poisson --count 9 --shard 4/3 --out x").contains("i from 1 to n"));
    assert!(complaint("data generate poisson --count 9 --split dev --out x").contains("train, test"));
    assert!(complaint("data import cylinder --from x --out y --geometry a,b").contains("three separated"));
    assert!(complaint("dta").contains("similar subcommand exists: 'data'"));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn numbers_out_of_range_are_misuse() {
    let root = tempfile::tempdir().unwrap();
    for (arguments, range) in [
        ("bench infer --batch 0", "1..=4096"),
        ("bench infer --batch 99999999999999999", "1..=4096"),
        ("bench train --batch 0", "1..=4096"),
        ("bench infer --threads 100000", "1..=1024"),
        ("data generate poisson --count 3 --threads 0 --out x", "1..=1024"),
    ] {
        let refused = fail(root.path(), 2, arguments);
        assert!(refused.contains(range), "{arguments}: {refused}");
    }
}

#[test]
fn failures_exit_with_1_and_name_the_file() {
    let root = tempfile::tempdir().unwrap();
    let complaint = |arguments| fail(root.path(), 1, arguments);
    assert!(
        complaint("data check nowhere").contains("nowhere does not exist: name the folder of a data set")
    );
    fs::create_dir(root.path().join("full")).unwrap();
    fs::write(root.path().join("full/thesis.tex"), "precious").unwrap();
    assert!(
        complaint("data generate poisson --count 1 --out full")
            .contains("full already exists and is not empty")
    );
    assert_eq!(fs::read(root.path().join("full/thesis.tex")).unwrap(), b"precious");
    assert!(complaint("data import poisson --from full --out y").contains("the folder holds none of"));
    assert!(complaint("data merge full --out y").contains("holds no meta.json"));
    assert!(
        complaint("data check full").contains("full is not a usable dataset folder: it holds no meta.json")
    );
}

/// A mount point, as a container's folder of results is one. Where tests may not mount, there is nothing to see.
#[cfg(target_os = "linux")]
#[test]
fn an_empty_mount_point_is_refused_before_any_work() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("out")).unwrap();
    let mounted = |then: &str| {
        let script = format!("mount -t tmpfs none out || exit 77; {then}");
        let output =
            Command::new("unshare").args(["-rm", "sh", "-c", &script]).current_dir(root.path()).output();
        output.ok().filter(|output| output.status.success() || output.status.code() == Some(1))
    };
    let program = cargo_bin("scope").display().to_string();
    let generate = format!("'{program}' data generate poisson --count 3 --resolution 32");
    if let Some(output) = mounted(&format!("{generate} --out out; code=$?; ls -a . out; exit $code")) {
        assert!(stderr(&output).contains("name a folder inside it, such as out/set"), "{}", stderr(&output));
        assert_eq!(output.status.code(), Some(1));
        assert!(!stdout(&output).contains("partial"), "{}", stdout(&output));
    }
    if let Some(output) = mounted(&format!("{generate} --out out/set && ls out/set")) {
        assert!(stdout(&output).contains("fields.npy"), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_an_empty_folder_is_written_through() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("disk")).unwrap();
    std::os::unix::fs::symlink("disk", root.path().join("link")).unwrap();
    succeed(root.path(), "data generate poisson --count 3 --resolution 32 --out link");
    succeed(root.path(), "data info disk");
}

#[test]
fn a_faulty_set_is_reported_and_exits_with_1() {
    let root = tempfile::tempdir().unwrap();
    succeed(root.path(), "data generate poisson --count 4 --resolution 32 --out set");
    let path = root.path().join("set/fields.npy");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let complaint = fail(root.path(), 1, "data check set");
    assert!(complaint.contains("fields.npy has changed since it was written"), "{complaint}");
    // Right bytes of the wrong kind: a Poisson set that calls itself Helmholtz.
    let meta = root.path().join("set/meta.json");
    succeed(root.path(), "data generate poisson --count 4 --resolution 32 --out other");
    let text = fs::read_to_string(root.path().join("other/meta.json")).unwrap();
    fs::copy(root.path().join("other/fields.npy"), path).unwrap();
    fs::write(meta, text.replace("\"poisson\"", "\"helmholtz\"")).unwrap();
    let complaint = fail(root.path(), 1, "data check set");
    assert!(complaint.contains("fault: |a| on the edge"), "{complaint}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let root = tempfile::tempdir().unwrap();
    let mut child = Command::new(cargo_bin("scope"))
        .args(["data", "generate", "--help"])
        .current_dir(root.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().code().is_some(), "no signal, no panic");
}

/// A disk that is full, as far as writing to it goes.
#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_printed_are_a_failure() {
    let root = tempfile::tempdir().unwrap();
    succeed(root.path(), "data generate poisson --count 3 --resolution 32 --out set");
    for arguments in [
        "data info set",
        "data info set --json",
        "data check set",
        "model list",
        "completions bash",
        "--help",
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(cargo_bin("scope"));
        command.args(arguments.split_whitespace()).current_dir(root.path()).stdout(full);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "scope {arguments}");
        assert!(
            stderr(&output).contains("error: cannot write to standard output"),
            "{arguments}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn results_that_nobody_reads_are_no_failure() {
    let root = tempfile::tempdir().unwrap();
    let mut child = Command::new(cargo_bin("scope"))
        .args("data generate poisson --count 3 --resolution 32 --out set".split_whitespace())
        .current_dir(root.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// The folder under construction may have been moved to another disk by somebody.
#[cfg(unix)]
#[test]
fn what_a_link_in_the_place_of_the_partial_folder_leads_to_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let precious = root.path().join("precious");
    fs::create_dir(&precious).unwrap();
    for name in [".lock", "fields.npy", "thesis.tex"] {
        fs::write(precious.join(name), "precious").unwrap();
    }
    std::os::unix::fs::symlink("precious", root.path().join("set.partial")).unwrap();
    let complaint = fail(root.path(), 1, "data generate poisson --count 3 --resolution 32 --out set");
    assert!(complaint.contains("set.partial is a link"), "{complaint}");
    assert_eq!(fs::read_dir(&precious).unwrap().count(), 3);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "no lock is left");
}

#[cfg(unix)]
mod signals {
    use super::*;
    use crate::program::that_hangups_reach;

    fn start(root: &Path) -> std::process::Child {
        // Many enough not to be done before the signal comes, few enough (2.6 GB) not to fill a disk if it is not
        // heard.
        let mut command = Command::new(cargo_bin("scope"));
        command
            .args("data generate poisson --count 20000 --out set".split_whitespace())
            .current_dir(root)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = that_hangups_reach(&mut command).spawn().unwrap();
        // Writing has begun when the folder under construction holds fields.
        while fs::metadata(root.join("set.partial/fields.npy")).map_or(0, |file| file.len()) < 1 << 20 {
            std::thread::yield_now();
        }
        child
    }

    fn send(signal: &str, child: &std::process::Child) {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    #[test]
    fn an_interrupt_leaves_nothing() {
        for signal in ["-INT", "-TERM", "-HUP"] {
            let root = tempfile::tempdir().unwrap();
            let child = start(root.path());
            send(signal, &child);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            assert!(stderr(&output).contains("interrupted: nothing was written"));
            assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_kill_leaves_no_set_and_the_next_run_succeeds() {
        let root = tempfile::tempdir().unwrap();
        let mut child = start(root.path());
        send("-KILL", &child);
        child.wait().unwrap();
        assert!(!root.path().join("set").exists());
        succeed(root.path(), "data generate poisson --count 3 --out set");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
        succeed(root.path(), "data check set");
    }

    #[test]
    fn a_second_writer_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let mut child = start(root.path());
        let complaint = fail(root.path(), 1, "data generate poisson --count 3 --out set");
        assert!(complaint.contains("another process is writing set"), "{complaint}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
