//! `scope evaluate --method exact`, as a user types it.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use assert_cmd::Command;

fn scope(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("scope").unwrap();
    command.current_dir(folder).args(arguments);
    command
}

fn succeed(folder: &Path, arguments: &[&str]) -> String {
    let output = scope(folder, arguments).assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = scope(folder, arguments).assert().code(code).get_output().stderr.clone();
    String::from_utf8(output).unwrap()
}

/// A folder with a small test set called `test`.
fn with_records(pde: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let generate = ["data", "generate", pde, "--resolution", "32", "--split", "test", "--count", "6"];
    succeed(root.path(), &[&generate[..], &["--out", "test"]].concat());
    root
}

fn exact<'a>(pde: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["evaluate", "--method", "exact", "--pde", pde, "--data", "test"], more].concat()
}

#[test]
fn the_exact_posterior_is_evaluated_like_any_method() {
    let root = with_records("poisson");
    let json = |more: &[&str]| -> serde_json::Value {
        let arguments =
            exact("poisson", &[&["--protocol", "all", "--limit", "1", "--json", "-"], more].concat());
        serde_json::from_str(&succeed(root.path(), &arguments)).unwrap()
    };
    let one = json(&["--threads", "1"]);
    assert_eq!(one, json(&["--threads", "3", "--batch", "1"]));
    assert_eq!(one["conditions"].as_object().unwrap().len(), 75);
    let mean =
        |condition: &str, measure: &str| one["conditions"][condition][measure]["mean"].as_f64().unwrap();
    // What is wholly seen is known but for rounding, and more sensors leave less unknown.
    assert!(mean("forward/uniform/16384", "u") < 1e-3);
    assert!(mean("inverse/uniform/4096", "a") < mean("inverse/uniform/500", "a"));
    assert_eq!(one["identity"]["method"]["name"], "exact");
    assert!(one["identity"]["method"].get("training").is_none());
}

#[test]
fn its_results_stand_in_reports_as_a_limit() {
    let root = with_records("helmholtz");
    let text = succeed(root.path(), &exact("helmholtz", &["--out", "limits"]));
    assert!(text.contains("no method does better in mean square"), "{text}");
    let report = succeed(root.path(), &["report", "limits"]);
    assert!(report.contains("Exact posterior"), "{report}");
}

#[test]
fn conditions_without_an_exact_posterior_are_left_out() {
    let root = with_records("ns");
    let output = scope(root.path(), &exact("ns", &[])).assert().success().get_output().clone();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(out.contains("forward/uniform/500") && !out.contains("inverse/uniform/500"), "{out}");
    assert!(err.contains("1 of 2 conditions observe u"), "{err}");
    let nothing = refused(root.path(), &exact("ns", &["--protocol", "full-observation"]), 1);
    assert!(nothing.contains("take uniform500 or all"), "{nothing}");
}

#[test]
fn what_cannot_be_is_refused_with_advice() {
    let root = with_records("darcy");
    let darcy = refused(root.path(), &exact("darcy", &[]), 1);
    assert!(darcy.contains("darcy has no exact posterior") && darcy.contains("trained network"), "{darcy}");
    let other = refused(root.path(), &exact("poisson", &[]), 1);
    assert!(other.contains("test holds darcy, and --pde is poisson"), "{other}");
    refused(root.path(), &["evaluate", "--method", "exact", "--data", "test"], 2);
    refused(root.path(), &["evaluate", "--data", "test"], 2);
    refused(root.path(), &exact("poisson", &["--run", "somewhere"]), 2);
}
