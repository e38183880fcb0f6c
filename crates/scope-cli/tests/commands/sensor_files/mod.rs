//! What people bring as sensor files, through the real program: each gets fields, or the line and the remedy.
//!
//! The answers are in `answers.txt`; `SCOPE_BLESS=1 cargo test -p scope-cli --test commands sensor_files` writes it
//! anew.

mod cases;

use std::{fmt::Write, fs, path::Path};

use assert_cmd::Command;
use scope_data::Constants;
use scope_engine::Device;
use scope_model::{About, Model, Preset, Quantisation};
use scope_pde::Pde;

/// An untrained model of Poisson on 32 x 32 points.
fn write_model(path: &Path) {
    let config = Preset::Tiny.config(32);
    let model = Model::initial(config.clone(), 1, &Device::cpu(1)).unwrap();
    let constants = Constants::released(Pde::POISSON);
    model
        .save(
            path,
            &About { pde: Pde::POISSON, constants, config: config.into(), training: None },
            Quantisation::F32,
        )
        .unwrap();
}

/// Standard error and exit code of a recovery, without what an untrained model makes of the values.
fn answer(folder: &Path, sensors: &str, number: usize) -> String {
    let out = format!("out-{number}");
    let arguments = ["recover", "--model", "model.safetensors", "--sensors", sensors, "--out", &out];
    let mut command = Command::cargo_bin("scope").unwrap();
    let output = command.current_dir(folder).args(arguments).args(["--device", "cpu"]).output().unwrap();
    let code = output.status.code().unwrap();
    assert_eq!(folder.join(&out).is_dir(), code == 0, "{sensors}: a folder if and only if it succeeds");
    let text = String::from_utf8(output.stderr).unwrap();
    let lines =
        text.lines().filter(|line| !line.contains("held-out") && !line.contains("misses the measurements"));
    let lines: Vec<&str> = lines.collect();
    let here = folder.canonicalize().unwrap().display().to_string();
    format!("exit {code}\n{}\n", lines.join("\n").replace(&here, "FOLDER"))
}

#[test]
fn every_file_gets_its_answer() {
    let root = tempfile::tempdir().unwrap();
    write_model(&root.path().join("model.safetensors"));
    let mut answers = String::new();
    for (number, case) in cases::all().iter().enumerate() {
        let file = root.path().join(case.file);
        match &case.content {
            Some(bytes) => fs::write(file, bytes).unwrap(),
            None if case.file == "folder" => fs::create_dir(file).unwrap(),
            None => {}
        }
        let answer = answer(root.path(), case.file, number);
        write!(answers, "== {}\n{answer}\n", case.what).unwrap();
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/sensor_files/answers.txt");
    if std::env::var_os("SCOPE_BLESS").is_some() {
        fs::write(&golden, &answers).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap();
    for (got, expected) in answers.split("== ").zip(expected.split("== ")) {
        assert_eq!(got, expected);
    }
    assert_eq!(answers, expected);
}
