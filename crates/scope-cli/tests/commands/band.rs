//! Error bands about what a network recovers, as a user meets them.

use std::{fmt::Write, fs, path::Path};

use scope_data::{
    Constants,
    npy::MappedArray,
    observation::{Condition, MaskSampler, Namespace},
};
use scope_engine::Device;
use scope_model::{About, Model, Preset, Quantisation};
use scope_pde::{Generator, Identity, Pde, Record, Split};
use serde_json::Value;

use crate::program::{refused, succeed};

fn fresh(size: usize, index: u64) -> Record {
    let identity = Identity { pde: Pde::POISSON, seed: 77, split: Split::Test, resolution: size };
    Generator::new(identity).unwrap().record(index).unwrap()
}

/// Rows of measurements under a condition.
fn measurements(problem: &str, record: &Record, size: usize, condition: &str) -> String {
    let condition: Condition = condition.parse().unwrap();
    let masks = MaskSampler::new(Pde::POISSON, 5, size).masks(Namespace::Test, 0, condition, None);
    let mut rows = String::new();
    for (name, field, mask) in
        [("a", &record.fields.a, &masks.seen.a), ("u", &record.fields.u, &masks.seen.u)]
    {
        for point in mask.points() {
            writeln!(rows, "{problem},{},{},{name},{}", point / size, point % size, field[point]).unwrap();
        }
    }
    rows
}

fn recovered(folder: &Path, model: &str, out: &str, more: &[&str]) -> Vec<Value> {
    let plain =
        ["recover", "--model", model, "--sensors", "sensors.csv", "--out", out, "--json", "--device", "cpu"];
    let summary: Value = serde_json::from_str(&succeed(folder, &[&plain[..], more].concat())).unwrap();
    summary["problems"].as_array().unwrap().clone()
}

fn array(path: &Path) -> Vec<f32> {
    MappedArray::open(path).unwrap().as_f32().unwrap().to_vec()
}

/// The shares of a channel's pixels that lie within its 68% and 95% bands, in one of the recovered problems.
fn shares(out: &Path, problem: usize, channel: &str, truth: &[f64]) -> [f64; 2] {
    let own = |name: &str| {
        array(&out.join(format!("{channel}{name}.npy")))[problem * truth.len()..][..truth.len()].to_vec()
    };
    let field = own("");
    ["_band68", "_band95"].map(|band| {
        let widths = own(band);
        let inside = |p: &usize| (f64::from(field[*p]) - truth[*p]).abs() <= f64::from(widths[*p]);
        (0..truth.len()).filter(inside).count() as f64 / truth.len() as f64
    })
}

/// The model that is shipped, on fresh records: bands for sensors like those of the protocol and between them, none
/// beyond.
#[test]
fn the_shipped_model_states_bands_that_hold() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let size = 128;
    let records = 6;
    let conditions = ["inverse/uniform/500", "forward/uniform/700", "joint/grid/1024", "inverse/uniform/200"];
    let likes = ["inverse/uniform", "forward/uniform", "joint/grid"];
    // Means over records: for one field the shares of u differ by a dozen points.
    let mut means = [[[0.0; 2]; 2]; 3];
    for index in 0..records {
        let record = fresh(size, index);
        let mut table = String::from("problem,i,j,channel,value\n");
        conditions.iter().for_each(|c| table.push_str(&measurements(c, &record, size, c)));
        fs::write(here.join("sensors.csv"), table).unwrap();
        let out = format!("out-{index}");
        let problems = recovered(here, "poisson", &out, &[]);
        for (k, like) in likes.iter().enumerate() {
            let bands = &problems[k]["bands"];
            assert!(bands["measured_on"].as_str().unwrap().ends_with(&format!("as in {like}")), "{bands}");
            let times = bands["times_usual"].as_array().unwrap();
            assert!(times.iter().all(|times| (0.2..5.0).contains(&times.as_f64().unwrap())), "{bands}");
            for (mean, (channel, truth)) in
                means[k].iter_mut().zip([("a", &record.fields.a), ("u", &record.fields.u)])
            {
                let shares = shares(&here.join(&out), k, channel, truth);
                mean.iter_mut().zip(shares).for_each(|(mean, share)| *mean += share / records as f64);
            }
        }
        assert!(problems[1]["bands"]["measured_on"].as_str().unwrap().contains("500 and 1,024 sensors"));
        let without = problems[3]["without_bands"].as_str().unwrap();
        assert!(without.contains("measured for 500 to 16384 sensors of a field, not for 200"), "{without}");
        assert!(without.contains("can be measured for these very sensors"), "{without}");
        let widths = array(&here.join(&out).join("a_band68.npy"));
        assert_eq!(widths.len(), 4 * size * size);
        assert!(widths[3 * size * size..].iter().all(|width| width.is_nan()));
    }
    for [narrow, wide] in means.as_flattened() {
        assert!((0.55..0.8).contains(narrow) && (0.88..1.0).contains(wide), "{means:?}");
    }
}

/// The model that is shipped, with a card by which recoveries usually are far nearer to their measurements than this
/// one is, or further from them: what widths would then be was measured on nothing.
#[test]
fn bands_beyond_any_usual_misfit_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    fs::copy(models.join("poisson.safetensors"), here.join("poisson.safetensors")).unwrap();
    let card = fs::read_to_string(models.join("poisson.toml")).unwrap();
    let rows = measurements("one", &fresh(128, 2), 128, "inverse/uniform/500");
    fs::write(here.join("sensors.csv"), format!("problem,i,j,channel,value\n{rows}")).unwrap();
    for (usual, said) in [("0.000000001", "further from"), ("1.0", "nearer to")] {
        let line = |line: &str| {
            if line.starts_with("misfit_of_u") {
                format!("misfit_of_u = [{}]\n", vec![usual; line.matches(',').count() + 1].join(", "))
            } else {
                format!("{line}\n")
            }
        };
        fs::write(here.join("poisson.toml"), card.lines().map(line).collect::<String>()).unwrap();
        let problem = &recovered(here, "poisson.safetensors", usual, &[])[0];
        let without = problem["without_bands"].as_str().unwrap();
        assert!(
            without.starts_with(&format!("the recovery is so much {said} the measurements")),
            "{without}"
        );
    }
}

/// The model that is shipped, and one reading of 500 that is off by three standard deviations of the field.
#[test]
fn a_faulty_sensor_is_named_and_left_out_on_request() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let rows = measurements("one", &fresh(128, 2), 128, "inverse/uniform/500");
    let mut lines: Vec<String> = rows.lines().map(str::to_owned).collect();
    let (head, value) = lines[6].rsplit_once(',').unwrap();
    lines[6] = format!("{head},{}", value.parse::<f64>().unwrap() + 0.0125);
    fs::write(here.join("sensors.csv"), format!("problem,i,j,channel,value\n{}\n", lines.join("\n")))
        .unwrap();
    let named = &recovered(here, "poisson", "named", &[])[0];
    let suspects = named["suspects"].as_array().unwrap();
    assert_eq!((suspects.len(), &suspects[0]["label"]), (1, &"line 8".into()), "{named}");
    let warning = named["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("1 reading does not fit the others: line 8: u is "), "{warning}");
    assert!(warning.ends_with("the others agree with the model"), "{warning}");
    assert!(named.get("bands").is_none() && named.get("held_out_percent").is_none());
    let table = fs::read_to_string(here.join("named/residuals.csv")).unwrap();
    assert_eq!((table.lines().count(), table.matches(",true\n").count()), (501, 1));
    let dropped = &recovered(here, "poisson", "dropped", &["--drop-suspects"])[0];
    assert_eq!((&dropped["suspects_left_out"], &dropped["warnings"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(dropped["coverage"]["u"]["sensors"], 499);
    assert!(dropped["bands"].is_object() && dropped["held_out_percent"]["a"].is_number(), "{dropped}");
}

/// A folder with an untrained model and measurements of u.
fn with_model(size: usize) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let pde = Pde::POISSON;
    let config = Preset::Tiny.config(size);
    let model = Model::initial(config.clone(), 1, &Device::cpu(1)).unwrap();
    let about = About { pde, constants: Constants::generated(pde), config: config.into(), training: None };
    model.save(&root.path().join("model.safetensors"), &about, Quantisation::F32).unwrap();
    let rows = measurements("one", &fresh(size, 3), size, "inverse/uniform/500");
    fs::write(root.path().join("sensors.csv"), format!("problem,i,j,channel,value\n{rows}")).unwrap();
    root
}

#[test]
fn a_model_without_bands_says_how_to_measure_them() {
    let root = with_model(32);
    let plain = recovered(root.path(), "model.safetensors", "plain", &[]);
    assert!(plain[0]["without_bands"].as_str().unwrap().contains("card has none; they can be measured"));
    let asked = [
        "recover",
        "--model",
        "model.safetensors",
        "--device",
        "cpu",
        "--sensors",
        "sensors.csv",
        "--out",
        "told",
    ];
    assert!(succeed(root.path(), &asked).contains("on fresh records (add --calibrate 200)"));
    assert!(!root.path().join("plain/a_band68.npy").exists());
}

/// Widths depend on sensors and noise alone: a problem among others has the ones it has alone.
#[test]
fn bands_are_measured_for_the_very_sensors() {
    let root = with_model(32);
    let bands = |out: &str, more: &[&str]| {
        let problems = recovered(root.path(), "model.safetensors", out, more);
        assert!(problems[0]["bands"]["measured_on"].as_str().unwrap().contains("by these very sensors"));
        array(&root.path().join(out).join("u_band68.npy"))
    };
    let alone = bands("alone", &["--calibrate", "19"]);
    let table = fs::read_to_string(root.path().join("sensors.csv")).unwrap();
    let rows = table.lines().skip(1).fold(String::new(), |all, row| format!("{all}{row}\n"));
    fs::write(root.path().join("sensors.csv"), format!("{table}{}", rows.replace("one,", "two,"))).unwrap();
    let both = bands("both", &["--calibrate", "19", "--threads", "2"]);
    assert!(both[..1024] == alone && both[1024..] == alone);
    let noisy = bands("noisy", &["--calibrate", "19", "--noise", "0,1e-3"]);
    assert!(noisy[..1024] != alone);
    let few = [
        "recover",
        "--model",
        "model.safetensors",
        "--sensors",
        "sensors.csv",
        "--out",
        "x",
        "--calibrate",
        "18",
    ];
    assert!(refused(root.path(), &few, 2).contains("19..=2000"));
}

/// As Ctrl-C does: the program says what it leaves, and leaves nothing.
#[cfg(unix)]
#[test]
fn an_interrupted_measurement_leaves_nothing() {
    use std::process::{Command, Stdio};
    let root = with_model(64);
    let arguments = ["recover", "--model", "model.safetensors", "--sensors", "sensors.csv"];
    let more = ["--out", "out", "--calibrate", "2000", "--device", "cpu", "--threads", "1"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_scope"));
    command.current_dir(root.path()).args(arguments).args(more).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let begun = std::time::Instant::now();
    // Signals are listened for before the folder is begun.
    while !root.path().join("out.partial").is_dir() && begun.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: interrupted: nothing was written"), "{said}");
    assert!(!root.path().join("out.partial").exists() && !root.path().join("out").exists());
}
