//! `scope model`, as a user types it.

use assert_cmd::Command;
use scope::{
    data::Constants,
    engine::Device,
    model::{About, Model, Preset, Quantisation},
    pde::Pde,
};

use crate::program::alone;

fn scope() -> Command {
    Command::cargo_bin("scope").unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = scope().args(arguments).assert().success().get_output().stdout.clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn info_prints_the_papers_accounting() {
    let text = stdout(&["model", "info", "--model", "base", "--head", "10m"]);
    for count in [
        "38,157,952",
        "1,711,488",
        "384",
        "171,010",
        "40,040,834",
        "39,869,824",
        "10,010,658",
        "49,880,482",
        "78,027,776",
    ] {
        assert!(text.contains(count), "{count} is missing from\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["model", "info", "--model", "small", "--json"])).unwrap();
    assert_eq!(json["parameters"]["native online model"], 6_786_178);
}

#[test]
fn info_reads_a_weight_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let config = Preset::Tiny.config(32);
    let model = Model::initial(config.clone(), 1, &Device::cpu(1)).unwrap();
    let pde = Pde::DARCY;
    let config = config.into();
    let about = About { pde, constants: Constants::released(pde), config, training: None };
    model.save(&path, &about, Quantisation::Bf16).unwrap();
    let text = stdout(&["model", "info", "--model", path.to_str().unwrap()]);
    assert!(text.contains("a model for darcy") && text.contains("32 x 32 grid, 16 tokens"), "{text}");
}

/// Another program may keep its own models in a folder of that name.
#[test]
fn a_stranger_s_card_harms_no_other_model() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    std::fs::create_dir(&models).unwrap();
    std::fs::write(models.join("llama.safetensors"), b"weights").unwrap();
    std::fs::write(models.join("llama.toml"), "[general]\nlayers = 32\n").unwrap();
    let run = |arguments: &[&str]| {
        scope().current_dir(folder.path()).env_remove("SCOPE_MODELS").args(arguments).assert()
    };
    let listed = run(&["model", "list"]).success();
    let warned = String::from_utf8(listed.get_output().stderr.clone()).unwrap();
    assert!(warned.contains("warning: a model is left out: models/llama.toml"), "{warned}");
    let info = run(&["model", "info", "--model", "poisson"]).success();
    assert!(info.get_output().stderr.is_empty(), "what was not asked for is not mentioned");
    let refused = run(&["model", "info", "--model", "llama"]).code(1);
    let refused = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(refused.contains("models/llama.toml is not a usable model card"), "{refused}");
}

#[test]
fn what_is_neither_size_nor_file_is_refused() {
    let refused = |arguments: &[&str], code: i32, message: &str| {
        let output = scope().args(arguments).assert().code(code).get_output().stderr.clone();
        let text = String::from_utf8(output).unwrap();
        assert!(text.contains(message), "{text}");
    };
    refused(
        &["model", "info", "--model", "huge"],
        1,
        "\"huge\" is not a network (base, small, tiny, fno, deeponet, cno, transolver, aux-fno,",
    );
    refused(&["model", "info", "--model", "base", "--head", "2m"], 2, "possible values: 1m, 5m, 10m, 15m");
    refused(&["model", "info", "--model", "base", "--resolution", "100"], 1, "not a multiple of the patch 8");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.safetensors");
    std::fs::write(&path, [7; 100]).unwrap();
    refused(&["model", "info", "--model", path.to_str().unwrap()], 1, "is not a usable weight file");
}

#[test]
fn a_model_inside_the_program_is_packed_by_its_name() {
    let root = tempfile::tempdir().unwrap();
    let pack = ["model", "pack", "--run", "poisson", "--kind", "int8", "--out", "again.safetensors"];
    let output = alone(root.path()).args(pack).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("from inside this program"), "{said}");
}

/// A folder for Hugging Face is the model that it was written from: the same fields of the same sensors in every bit.
/// What is there is not overwritten.
#[test]
fn exports_are_the_same_model_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("sensors.csv"), "i,j,u\n3,4,0.001\n90,70,-0.002\n").unwrap();
    let export = |model: &str, format: &str, out: &str| -> Command {
        let mut command = scope();
        command.args(["model", "export", "--model", model, "--format", format, "--out", out]);
        command
    };
    export("poisson", "huggingface", &at("hub")).assert().success();
    for (model, out) in [("poisson".to_owned(), at("named")), (at("hub"), at("shared"))] {
        let sensors = at("sensors.csv");
        let recover = ["recover", "--model", &model, "--sensors", &sensors, "--device", "cpu", "--out", &out];
        scope().args(recover).assert().success();
    }
    for file in ["a.npy", "u.npy"] {
        let [named, shared] =
            ["named", "shared"].map(|out| std::fs::read(folder.path().join(out).join(file)).unwrap());
        assert_eq!(named, shared, "{file}");
    }
    export("poisson", "onnx", &at("poisson.onnx")).assert().success();
    let refused = export("poisson", "onnx", &at("poisson.onnx")).assert().code(1).get_output().stderr.clone();
    assert!(String::from_utf8(refused).unwrap().contains("already exists"));
}
