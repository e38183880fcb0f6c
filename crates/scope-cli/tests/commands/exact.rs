//! `scope evaluate` and `scope recover` with `--method exact`, as a user types them.

use std::path::Path;

use crate::program::{refused, scope, succeed};

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
fn reports_show_the_papers_rows_without_any_run() {
    let here = tempfile::tempdir().unwrap();
    let report = succeed(here.path(), &["report", "--tables", "all"]);
    for row in [
        "SCOPE-SP-10M",
        "| DeepONet + G | 5.8548 ± 2.1429 | 94.1452 |",
        "| *forward u: Full - FJV* |",
        "40,040,834",
    ] {
        assert!(report.contains(row), "{row} in {report}");
    }
    assert_eq!(report, succeed(here.path(), &["report"]));
    let one = succeed(here.path(), &["report", "--tables", "darcy-ber", "--format", "csv"]);
    assert!(one.lines().skip(1).all(|line| line.starts_with("darcy-ber,")), "{one}");
    succeed(here.path(), &["report", "--figures", "figures"]);
    let drawn = std::fs::read_to_string(here.path().join("figures/paper-inverse.svg")).unwrap();
    assert!(drawn.contains("DeepONet + G (auxiliary)") && drawn.contains("SP-15M"), "{drawn}");
    assert!(
        !here.path().join("figures/inverse.svg").exists(),
        "without runs there is nothing of ours to draw"
    );
}

#[test]
fn conditions_without_an_exact_posterior_are_left_out() {
    let root = with_records("ns");
    let output = scope(root.path(), &exact("ns", &[])).assert().success().get_output().clone();
    let out = String::from_utf8(output.stdout).unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(out.contains("forward/uniform/500") && !out.contains("inverse/uniform/500"), "{out}");
    assert!(err.contains("1 of 2 conditions observe u"), "{err}");
    let nothing = refused(root.path(), &exact("ns", &["--protocol", "full-observation"]), 1);
    assert!(nothing.contains("take uniform500 or all"), "{nothing}");
}

#[test]
fn what_cannot_be_is_refused_with_advice() {
    let root = with_records("darcy");
    let darcy = refused(root.path(), &exact("darcy", &[]), 2);
    assert!(darcy.contains("darcy has no exact posterior") && darcy.contains("trained network"), "{darcy}");
    let other = refused(root.path(), &exact("poisson", &[]), 1);
    assert!(other.contains("test holds darcy, and --pde is poisson"), "{other}");
    refused(root.path(), &["evaluate", "--method", "exact", "--data", "test"], 2);
    refused(root.path(), &["evaluate", "--data", "test"], 2);
    refused(root.path(), &exact("poisson", &["--run", "somewhere"]), 2);
}

/// Measurements of a and u, by pixel.
const SENSORS: &str = "i,j,channel,value\n16,16,u,0.004\n8,20,u,-0.002\n10,10,a,0.3\n";

fn recovery<'a>(pde: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let plain =
        ["recover", "--method", "exact", "--pde", pde, "--resolution", "32", "--sensors", "sensors.csv"];
    [&plain[..], &["--out", "recovered"], more].concat()
}

/// The values of a float32 array in a file.
fn values(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].chunks_exact(4).map(|value| f32::from_le_bytes(value.try_into().unwrap())).collect()
}

#[test]
fn sensors_are_recovered_with_their_uncertainty() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("sensors.csv"), SENSORS).unwrap();
    let text = succeed(root.path(), &recovery("poisson", &["--noise", "0.01,1e-5", "--samples", "3"]));
    assert!(text.contains("draws in a_samples.npy and u_samples.npy, residuals.csv, a picture"), "{text}");
    assert!(text.contains("expected error in L2"), "{text}");
    let array = |name: &str| values(&root.path().join("recovered").join(name));
    let u = array("u.npy");
    let sd = array("u_sd.npy");
    let samples = array("u_samples.npy");
    let sensor = 16 * 32 + 16;
    assert!((u[sensor] - 0.004).abs() < 3e-5 && sd[sensor] < 1.1e-5);
    assert!(sd[24 * 32 + 24] > 1e-4 && sd[0] == 0.0);
    assert_eq!((array("a_sd.npy").len(), samples.len(), array("a_samples.npy").len()), (1024, 3072, 3072));
    assert!(samples.chunks(1024).all(|sample| (sample[sensor] - 0.004).abs() < 1e-4));
    assert!(root.path().join("recovered/fields.png").is_file());
    let summary = std::fs::read_to_string(root.path().join("recovered/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["method"]["name"], "exact");
    assert_eq!(summary["problems"][0]["warnings"], serde_json::json!([]));
    assert!(summary["problems"][0].get("nearest").is_none());
    assert!(summary["problems"][0]["expected_percent"][0].as_f64().unwrap() > 10.0);
}

#[test]
fn draws_depend_on_their_seed_and_nothing_else_does() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("sensors.csv"), SENSORS).unwrap();
    let drawn = |seed: &str| {
        succeed(root.path(), &recovery("poisson", &["--samples", "2", "--seed", seed]));
        let arrays =
            ["a_samples.npy", "a_sd.npy"].map(|name| values(&root.path().join("recovered").join(name)));
        std::fs::remove_dir_all(root.path().join("recovered")).unwrap();
        arrays
    };
    let ([first, sd], [again, _], [other, sd_of_other]) = (drawn("1"), drawn("1"), drawn("2"));
    assert!(first == again && first != other && sd == sd_of_other);
}

/// Off the pixels, a sensor is seen where it is.
#[test]
fn sensors_between_pixels_are_interpolated_and_told_of() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("sensors.csv"), "x,y,u\n0.51,0.52,0.004\n0.2,0.7,-0.002\n").unwrap();
    let output = scope(root.path(), &recovery("poisson", &[])).assert().success().get_output().stderr.clone();
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("2 of 2 sensors lie between pixels"), "{output}");
}

#[test]
fn recoveries_that_cannot_be_exact_are_refused_with_advice() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("sensors.csv"), SENSORS).unwrap();
    let flow = refused(root.path(), &recovery("ns", &[]), 1);
    assert!(flow.contains("give sensors of a only"), "{flow}");
    let darcy = refused(root.path(), &recovery("darcy", &[]), 2);
    assert!(darcy.contains("darcy has no exact posterior"), "{darcy}");
    let noise = refused(root.path(), &recovery("poisson", &["--noise", "-1"]), 2);
    assert!(noise.contains("standard deviation") || noise.contains("unexpected"), "{noise}");
    refused(root.path(), &recovery("poisson", &["--model", "poisson"]), 2);
    let card = refused(root.path(), &recovery("poisson", &["--device", "cuda"]), 2);
    assert!(card.contains("computed on the processor: leave --device out"), "{card}");
    assert!(!root.path().join("recovered").exists());
}

/// Values that no Poisson problem has with the noise that is stated.
#[test]
fn measurements_unlike_the_problem_are_told_of() {
    let root = tempfile::tempdir().unwrap();
    let lines: String =
        (0..40).map(|k| format!("{},{},u,{}\n", 4 + k / 8, 4 + k % 8, 0.002 * f64::from(k % 2))).collect();
    std::fs::write(root.path().join("sensors.csv"), format!("i,j,channel,value\n{lines}")).unwrap();
    let output = scope(root.path(), &recovery("poisson", &[])).assert().code(3).get_output().clone();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the readings contradict the model") && said.contains("(--noise 0,"), "{said}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("no expected error") && !said.contains("expected error in L2"), "{said}");
    let summary = summary(root.path());
    assert!(summary["problems"][0].get("expected_percent").is_none());
    let warning = summary["problems"][0]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("the readings contradict the model"), "{warning}");
    for file in ["a.npy", "u_sd.npy", "fields.png", "residuals.csv"] {
        assert!(root.path().join("recovered").join(file).is_file(), "{file}");
    }
    // With the noise that was advised they agree.
    let noise = said_noise(warning);
    std::fs::remove_dir_all(root.path().join("recovered")).unwrap();
    succeed(root.path(), &recovery("poisson", &["--noise", &noise]));
}

/// What a warning says of the noise of u, half as much again: it is found to two digits.
fn said_noise(warning: &str) -> String {
    let number = warning.split("a noise of about ").nth(1).unwrap().split(' ').next().unwrap();
    format!("{:e}", 1.5 * number.parse::<f64>().unwrap())
}

fn summary(root: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(root.join("recovered/summary.json")).unwrap()).unwrap()
}

/// Readings of a record with one that is three times what it should be.
fn with_one_faulty(root: &Path) {
    let identity = scope_pde::Identity {
        pde: scope_pde::Pde::POISSON,
        seed: 1,
        split: scope_pde::Split::Test,
        resolution: 32,
    };
    let u = scope_pde::Generator::new(identity).unwrap().record(0).unwrap().fields.u;
    let line = |k: usize| {
        let (i, j) = (2 + 3 * (k / 10), 2 + 3 * (k % 10));
        let factor = if k == 41 { 3.0 } else { 1.0 };
        format!("{i},{j},u,{}\n", factor * u[i * 32 + j])
    };
    let lines: String = (0..100).map(line).collect();
    std::fs::write(root.join("sensors.csv"), format!("i,j,channel,value\n{lines}")).unwrap();
}

#[test]
fn a_faulty_sensor_is_named_and_left_out_on_request() {
    let root = tempfile::tempdir().unwrap();
    with_one_faulty(root.path());
    let output = scope(root.path(), &recovery("poisson", &[])).assert().code(3).get_output().stderr.clone();
    let said = String::from_utf8(output).unwrap();
    assert!(said.contains("1 reading does not fit the others: line 43: u is"), "{said}");
    assert!(said.contains("the others agree with the model (--drop-suspects)"), "{said}");
    let table = std::fs::read_to_string(root.path().join("recovered/residuals.csv")).unwrap();
    assert_eq!(table.lines().count(), 101);
    let suspects: Vec<&str> = table.lines().filter(|line| line.ends_with(",true")).collect();
    assert!(matches!(suspects[..], [line] if line.starts_with("1,line 43,u,")), "{suspects:?}");
    std::fs::remove_dir_all(root.path().join("recovered")).unwrap();
    let text = succeed(root.path(), &recovery("poisson", &["--drop-suspects"]));
    assert!(text.contains("99 of u") && text.contains("expected error in L2"), "{text}");
    let summary = summary(root.path());
    assert_eq!(summary["problems"][0]["warnings"], serde_json::json!([]));
    assert_eq!(summary["problems"][0]["suspects"][0]["label"], "line 43");
    assert_eq!(summary["problems"][0]["suspects_left_out"], true);
}

#[test]
fn without_deviations_the_fields_are_the_same() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("sensors.csv"), SENSORS).unwrap();
    let fields = |more: &[&str]| {
        succeed(root.path(), &recovery("poisson", more));
        let folder = root.path().join("recovered");
        let fields = ["a.npy", "u.npy"].map(|name| values(&folder.join(name)));
        let with_deviations = folder.join("a_sd.npy").exists();
        std::fs::remove_dir_all(folder).unwrap();
        (fields, with_deviations)
    };
    let with = fields(&[]);
    let without = fields(&["--no-deviations"]);
    assert_eq!(with.0, without.0);
    assert!(with.1 && !without.1);
}
