//! `scope evaluate` and `scope doctor`, as a user types them.
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

/// A folder with a short run of a tiny model on a problem, and a test set.
fn trained(pde: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (split, count, out) in [("train", "24", "train"), ("test", "10", "test")] {
        let generate = ["data", "generate", pde, "--resolution", "32", "--split", split, "--count", count];
        succeed(root.path(), &[&generate[..], &["--out", out]].concat());
    }
    let train =
        ["train", "--pde", pde, "--data", "train", "--recipe", "fo", "--model", "tiny", "--draws", "16"];
    succeed(root.path(), &[&train[..], &["--set", "batch=8", "--device", "cpu", "--out", "run"]].concat());
    root
}

fn evaluated(folder: &Path, more: &[&str]) -> serde_json::Value {
    let plain = ["evaluate", "--run", "run", "--data", "test", "--device", "cpu", "--json", "-"];
    serde_json::from_str(&succeed(folder, &[&plain[..], more].concat())).unwrap()
}

#[test]
fn all_conditions_are_evaluated_whatever_the_threads() {
    let root = trained("poisson");
    let one = evaluated(root.path(), &["--protocol", "all", "--limit", "3", "--threads", "1"]);
    let three = evaluated(root.path(), &["--protocol", "all", "--limit", "3", "--threads", "3"]);
    assert_eq!(one, three);
    assert_eq!(one["conditions"].as_object().unwrap().len(), 75);
    let primary = &one["conditions"]["forward/uniform/500"]["u"];
    assert_eq!((&primary["count"], &primary["undefined"]), (&3.into(), &0.into()));
    assert!(primary["mean"].as_f64().unwrap() > 0.0);
    let identity = &one["identity"];
    assert_eq!((&identity["draws"], &identity["cut_short"]), (&16.into(), &false.into()));
    assert!(identity["data_origin"].as_str().unwrap().starts_with("generated"));
}

#[test]
fn results_go_beside_the_run_and_darcy_has_bit_errors() {
    let root = trained("darcy");
    let plain = ["evaluate", "--run", "run", "--data", "test", "--device", "cpu"];
    let text = succeed(root.path(), &plain);
    assert!(text.contains("inverse/uniform/500  ber"), "{text}");
    assert!(root.path().join("run/eval/uniform500.json").is_file());
    let benchmark = [&plain[..], &["--protocol", "benchmark"]].concat();
    let refused = scope(root.path(), &benchmark).assert().code(1).get_output().stderr.clone();
    assert!(String::from_utf8(refused).unwrap().contains("for the cylinder only"));
}

#[test]
fn records_of_another_problem_are_refused() {
    let root = trained("poisson");
    let other = ["data", "generate", "ns", "--resolution", "32", "--count", "1", "--out", "other"];
    succeed(root.path(), &other);
    let evaluate = ["evaluate", "--run", "run", "--data", "other", "--device", "cpu"];
    let refused = scope(root.path(), &evaluate).assert().code(1).get_output().stderr.clone();
    assert!(
        String::from_utf8(refused).unwrap().contains("other holds ns, and the model was trained on poisson")
    );
}

#[test]
fn the_doctor_says_what_is_there() {
    let root = tempfile::tempdir().unwrap();
    let text = succeed(root.path(), &["doctor"]);
    assert!(text.contains("processor: ") && text.contains("card: "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&succeed(root.path(), &["doctor", "--json"])).unwrap();
    assert!(json["threads"].as_u64().unwrap() >= 1);
    assert!(json["card"].is_null() != json["without_card"].is_null());
}
