//! `scope fit linear`, and what is done with a fit, as a user types it.

use std::fs;

use crate::program::{refused, scope, succeed};

/// A folder with sets `train` and `test` of a problem, and a fit of the first.
fn with_fit(pde: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (split, count) in [("train", "120"), ("test", "6")] {
        let generate = ["data", "generate", pde, "--resolution", "32", "--split", split, "--count", count];
        succeed(root.path(), &[&generate[..], &["--out", split]].concat());
    }
    let text = succeed(root.path(), &fitting(&[]));
    assert!(text.contains("20 modes of 90 records") && text.contains("of 10 held-out records"), "{text}");
    root
}

fn fitting<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let plain = ["fit", "linear", "--data", "train", "--modes", "20", "--out", "fit.safetensors"];
    [&plain[..], more].concat()
}

fn linear<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, "--method", "linear", "--fit", "fit.safetensors"], more].concat()
}

#[test]
fn a_fit_is_evaluated_and_reported_like_any_method() {
    let root = with_fit("ns");
    let json = |more: &[&str]| -> serde_json::Value {
        let arguments =
            linear("evaluate", &[&["--data", "test", "--coverage", "--json", "-"], more].concat());
        serde_json::from_str(&succeed(root.path(), &arguments)).unwrap()
    };
    let one = json(&["--threads", "1"]);
    assert_eq!(one, json(&["--threads", "3", "--batch", "1"]));
    assert_eq!(one["identity"]["method"]["name"], "linear");
    assert_eq!(one["identity"]["method"]["blake3"].as_str().unwrap().len(), 64);
    let mean = |task: &str, measure: &str| {
        one["conditions"][format!("{task}/uniform/500")][measure]["mean"].as_f64().unwrap()
    };
    // Twenty modes of sixty records say little of what is not measured, and state how little.
    assert!(mean("forward", "a") < 100.0 && mean("inverse", "u") < 100.0, "{one}");
    assert!(mean("forward", "u/within95") > 60.0, "{one}");
    succeed(root.path(), &linear("evaluate", &["--data", "test", "--out", "baselines"]));
    let report = succeed(root.path(), &["report", "baselines"]);
    assert!(report.contains("Linear (POD)"), "{report}");
    let seen =
        scope(root.path(), &linear("evaluate", &["--data", "train", "--limit", "2"])).assert().success();
    let seen = String::from_utf8(seen.get_output().stderr.clone()).unwrap();
    assert!(seen.contains("the very records"), "{seen}");
}

#[test]
fn sensors_of_a_problem_without_an_exact_posterior_are_recovered() {
    let root = with_fit("ns");
    fs::write(root.path().join("sensors.csv"), "x,y,u\n0.5,0.5,0.2\n0.25,0.75,-0.1\n0.33,0.4,0.05\n")
        .unwrap();
    let more = ["--sensors", "sensors.csv", "--noise", "10%", "--samples", "2", "--out", "recovered"];
    let text = succeed(root.path(), &linear("recover", &more));
    assert!(text.contains("expected error in L2") && text.contains("residuals.csv"), "{text}");
    let folder = root.path().join("recovered");
    for file in ["a.npy", "u_sd.npy", "a_band95.npy", "a_samples.npy", "residuals.csv", "fields.png"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!((&summary["method"]["name"], &summary["pde"]), (&"linear".into(), &"ns".into()));
}

/// A fit of few records recovers fields and states no accuracy.
#[test]
fn a_fit_that_is_not_calibrated_says_so() {
    let root = tempfile::tempdir().unwrap();
    let generate = ["data", "generate", "poisson", "--resolution", "32", "--count", "40", "--out", "train"];
    succeed(root.path(), &generate);
    let fitted = scope(root.path(), &fitting(&[])).assert().success();
    let said = String::from_utf8(fitted.get_output().stderr.clone()).unwrap();
    assert!(said.contains("not calibrated"), "{said}");
    fs::write(root.path().join("sensors.csv"), "x,y,u\n0.5,0.5,0.002\n0.25,0.75,-0.001\n").unwrap();
    let text = succeed(
        root.path(),
        &linear("recover", &["--sensors", "sensors.csv", "--samples", "2", "--out", "r"]),
    );
    assert!(text.contains("no error bands: the fit is not calibrated"), "{text}");
    for file in ["u_sd.npy", "u_band68.npy", "u_samples.npy", "residuals.csv"] {
        assert!(!root.path().join("r").join(file).exists(), "{file}");
    }
    assert!(root.path().join("r/u.npy").is_file());
}

#[test]
fn sensors_are_placed_by_a_fit() {
    let root = with_fit("ns");
    let more = ["--count", "3", "--noise", "1%", "--random-layouts", "20", "--out", "placed", "--json"];
    let summary: serde_json::Value =
        serde_json::from_str(&succeed(root.path(), &linear("place", &more))).unwrap();
    assert_eq!((&summary["channel"], summary["sensors"].as_array().unwrap().len()), (&"u".into(), 3));
    let expected = summary["expected_percent"].as_f64().unwrap();
    assert!(expected < summary["random_layouts"]["best_decile_percent"].as_f64().unwrap(), "{summary}");
}

#[test]
fn what_cannot_be_is_refused_with_advice() {
    let root = with_fit("poisson");
    for (arguments, code, said) in [
        (linear("evaluate", &["--pde", "poisson", "--data", "test"]), 2, "leave --pde out"),
        (linear("recover", &["--sensors", "s.csv", "--resolution", "32", "--out", "r"]), 2, "--resolution"),
        (vec!["evaluate", "--method", "linear", "--data", "test"], 2, "--fit"),
        (fitting(&["--modes", "90"]), 2, "cannot be used multiple times"),
        (vec!["fit", "linear", "--data", "train", "--modes", "90", "--out", "f"], 1, "89 modes at most"),
        (vec!["fit", "linear", "--data", "test", "--modes", "2", "--out", "f"], 1, "6 records are too few"),
        (
            vec!["evaluate", "--method", "linear", "--fit", "test/meta.json", "--data", "test"],
            1,
            "meta.json is not",
        ),
    ] {
        let refusal = refused(root.path(), &arguments, code);
        assert!(refusal.contains(said), "{said}: {refusal}");
    }
    let generate = ["data", "generate", "darcy", "--resolution", "32", "--count", "2", "--out", "darcy"];
    succeed(root.path(), &generate);
    let other = refused(root.path(), &linear("evaluate", &["--data", "darcy"]), 1);
    assert!(other.contains("darcy holds darcy, and the model was trained on poisson"), "{other}");
}
