//! `scope demo`, where something goes wrong or a folder has an odd name.

use std::fs;

use crate::program::{alone, refused, scope, succeed};

/// Files may be no larger than the picture is, as on a disk that runs full.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_demo_does_not_block_the_next() {
    let root = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin("scope").display().to_string();
    let script = format!("ulimit -f 50; trap '' XFSZ; exec '{program}' demo --out made");
    let mut command = assert_cmd::Command::new("sh");
    let failed =
        command.current_dir(root.path()).env_remove("SCOPE_MODELS").args(["-c", &script]).assert().code(1);
    let complaint = String::from_utf8(failed.get_output().stderr.clone()).unwrap();
    assert!(complaint.contains("demo.png"), "{complaint}");
    succeed(root.path(), &["demo", "--out", "made"]);
    assert!(root.path().join("made/demo.png").is_file());
    let mark: serde_json::Value =
        serde_json::from_slice(&fs::read(root.path().join("made/demo.json")).unwrap()).unwrap();
    assert_eq!(mark["model"], "poisson");
}

/// The printed command is read as a shell reads it.
#[cfg(unix)]
#[test]
fn the_printed_command_works_for_a_folder_with_a_space() {
    let root = tempfile::tempdir().unwrap();
    let said = succeed(root.path(), &["demo", "--out", "my demo/"]);
    let command = said.lines().map(str::trim).find(|line| line.starts_with("scope recover")).unwrap();
    let program = scope(root.path(), &[]).get_program().to_owned();
    let typed = format!("'{}'{}", program.display(), command.strip_prefix("scope").unwrap());
    assert_cmd::Command::new("sh").current_dir(root.path()).args(["-c", &typed]).assert().success();
    assert!(root.path().join("my demo-recovered-poisson-0/fields.png").is_file(), "{command}");
}

#[test]
fn a_folder_that_no_demo_made_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let precious = root.path().join("thesis/chapter.tex");
    fs::create_dir(root.path().join("thesis")).unwrap();
    fs::write(&precious, "precious").unwrap();
    let complaint = refused(root.path(), &["demo", "--out", "thesis"], 1);
    assert!(complaint.contains("thesis exists and no demo made it"), "{complaint}");
    assert_eq!(fs::read_dir(root.path().join("thesis")).unwrap().count(), 1);
}

/// A model that was being trained on the spot is gone: nothing says "saved", and neither does the exit code.
#[cfg(unix)]
#[test]
fn an_interrupted_demo_says_that_nothing_is_left() {
    use std::{
        io::Read,
        process::{Command, Stdio},
    };
    let root = tempfile::tempdir().unwrap();
    let mut command = alone(root.path());
    command.args(["demo", "--pde", "helmholtz"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut begun = [0; 40];
    child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
    assert!(begun.starts_with(b"There is no trained model for helmholtz"));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: interrupted: no model was trained, and nothing was recovered"), "{said}");
}
