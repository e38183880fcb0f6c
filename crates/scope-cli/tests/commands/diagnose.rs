//! `scope diagnose`, as a user types it.

use std::{fs, path::Path};

use serde_json::Value;

use crate::program::{refused, succeed};

/// Makes a small set of records.
fn generate(folder: &Path, pde: &str, split: &str, count: &str, out: &str) {
    let plain = ["data", "generate", pde, "--resolution", "32", "--split", split];
    succeed(folder, &[&plain[..], &["--count", count, "--out", out]].concat());
}

/// Trains a tiny model for a few steps.
fn train(folder: &Path, recipe: &str, seed: &str, out: &str) {
    let plain = ["train", "--pde", "poisson", "--data", "train", "--model", "tiny", "--device", "cpu"];
    let more = ["--recipe", recipe, "--draws", "48", "--set", "batch=8", "--seed", seed, "--out", out];
    succeed(folder, &[&plain[..], &more].concat());
}

/// A folder with a short run and a test set.
fn trained(recipe: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    generate(root.path(), "poisson", "train", "24", "train");
    generate(root.path(), "poisson", "test", "11", "test");
    train(root.path(), recipe, "1", "run");
    root
}

const PLAIN: [&str; 7] = ["diagnose", "--run", "run", "--data", "test", "--device", "cpu"];

fn diagnosed(folder: &Path, more: &[&str]) -> Value {
    serde_json::from_str(&succeed(folder, &[&PLAIN[..], &["--json", "-"], more].concat())).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Checks that all inequalities of a channel hold with the sides in order, and counts them.
fn held(channel: &Value) -> usize {
    let all = channel["inequalities"].as_array().unwrap();
    for inequality in all {
        let [left, right] = ["left", "right"].map(|side| number(&inequality[side]));
        let at_most = inequality["statement"].as_str().unwrap().contains("<=");
        assert!(if at_most { left <= right } else { left >= right }, "{inequality}");
        assert_eq!(inequality["holds"], true);
    }
    all.len()
}

#[test]
fn figures_are_consistent_and_depend_on_no_setting_of_the_machine() {
    let root = trained("full");
    let found = diagnosed(root.path(), &["--threads", "1", "--batch", "3"]);
    assert_eq!(found, diagnosed(root.path(), &["--threads", "3", "--batch", "8"]));
    assert_eq!((&found["records"], &found["without_teacher"]), (&11.into(), &Value::Null));
    for channel in ["a", "u"] {
        let channel = &found["channels"][channel];
        assert_eq!(held(channel), 4);
        let [cohort, decoder] = ["cohort", "decoder"].map(|part| &channel[part]);
        let teacher = number(&cohort["j"]).sqrt() + number(&cohort["delta_ema"]);
        assert!(number(&cohort["latent_distance"]) <= teacher);
        assert!(number(&cohort["delta_ema"]) > 0.0, "the teacher is not the encoder itself");
        assert!(number(&decoder["lipschitz"]["local"]) > 0.0);
        assert_eq!(decoder["complete_error"]["count"], 11);
    }
    let width = number(&found["width"]);
    for latents in ["complete", "predicted"] {
        let spread = &found[latents];
        let [rank, participation] = ["effective_rank", "participation"].map(|rank| number(&spread[rank]));
        assert!(1.0 <= participation && participation <= rank && rank <= width, "{participation} {rank}");
        let spectrum: Vec<f64> = spread["spectrum"].as_array().unwrap().iter().map(number).collect();
        assert!(spectrum.len() as f64 == width && spectrum.is_sorted_by(|x, y| x >= y));
    }
    assert!(number(&found["recovery"]["explained"]) < 1.0);
    let other = diagnosed(root.path(), &["--condition", "inverse/grid/500"]);
    assert_eq!(other["identity"]["condition"], "inverse/grid/500");
    assert_eq!(
        other["channels"]["a"]["decoder"]["complete_error"],
        found["channels"]["a"]["decoder"]["complete_error"]
    );
    assert_ne!(
        other["channels"]["a"]["decoder"]["context_error"],
        found["channels"]["a"]["decoder"]["context_error"]
    );
}

#[test]
fn the_context_error_is_what_evaluation_measures() {
    let root = trained("full");
    let found = diagnosed(root.path(), &[]);
    let evaluate = ["evaluate", "--run", "run", "--data", "test", "--device", "cpu", "--json", "-"];
    let evaluated: Value = serde_json::from_str(&succeed(root.path(), &evaluate)).unwrap();
    for channel in ["a", "u"] {
        let percent = number(&evaluated["conditions"]["forward/uniform/500"][channel]["mean"]);
        let context = number(&found["channels"][channel]["decoder"]["context_error"]["mean"]);
        assert!((100.0 * context - percent).abs() < 1e-4 * percent);
    }
    let identity = &found["identity"];
    let meta: Value = serde_json::from_slice(&fs::read(root.path().join("test/meta.json")).unwrap()).unwrap();
    assert_eq!(identity["data"]["blake3"], meta["blake3"]["fields.npy"]);
    assert_eq!(identity["method"]["blake3"].as_str().unwrap().len(), 64);
    // 48 draws, and one batch of pretraining that such a short run still has.
    let training = &identity["method"]["training"];
    assert_eq!((&training["draws"], &training["cut_short"]), (&56.into(), &false.into()));
    assert_eq!(identity["mask_seed"], 20_261_013);
    let text = succeed(root.path(), &[&PLAIN[..], &["--json", "found.json"]].concat());
    assert!(text.contains("B_M <= L_d kappa_y (sqrt(J) + delta_EMA)  u"), "{text}");
    assert!(text.contains("generated: fresh draws") && text.contains("wrote found.json"), "{text}");
    let written: Value = serde_json::from_slice(&fs::read(root.path().join("found.json")).unwrap()).unwrap();
    assert_eq!(written, found);
}

#[test]
fn a_replaced_decoder_is_compared_with_its_base() {
    let root = trained("full");
    let adapt =
        ["adapt", "--base", "run", "--data", "train", "--head", "1m", "--view", "complete", "--draws", "16"];
    succeed(root.path(), &[&adapt[..], &["--set", "batch=8", "--device", "cpu", "--out", "head"]].concat());
    let plain = ["diagnose", "--run", "head", "--data", "test", "--device", "cpu", "--json", "-"];
    let alone: Value = serde_json::from_str(&succeed(root.path(), &plain)).unwrap();
    assert!(alone["without_teacher"].as_str().unwrap().contains("--base"), "{}", alone["without_teacher"]);
    let with = [&plain[..], &["--base", "run"]].concat();
    let found: Value = serde_json::from_str(&succeed(root.path(), &with)).unwrap();
    let base = diagnosed(root.path(), &[]);
    assert_eq!(found["identity"]["base"], base["identity"]["method"]);
    for name in ["a", "u"] {
        let channel = &found["channels"][name];
        assert_eq!((held(channel), held(&alone["channels"][name])), (5, 3));
        assert_eq!(channel["base"], base["channels"][name]["decoder"]);
        assert_eq!(channel["cohort"], base["channels"][name]["cohort"]);
        assert_eq!(channel["decoder"], alone["channels"][name]["decoder"]);
        assert_ne!(channel["decoder"], channel["base"]);
    }
    train(root.path(), "full", "2", "other");
    let with_other = [&plain[..], &["--base", "other"]].concat();
    assert!(refused(root.path(), &with_other, 1).contains("the base has another encoder"));
}

#[test]
fn without_a_teacher_the_rest_is_reported() {
    let root = trained("full");
    let whole = diagnosed(root.path(), &[]);
    let model = root.path().join("run/model.safetensors");
    fs::copy(&model, root.path().join("model.safetensors")).unwrap();
    let of = |run: &str| -> Value {
        let plain = ["diagnose", "--data", "test", "--device", "cpu", "--json", "-", "--run", run];
        serde_json::from_str(&succeed(root.path(), &plain)).unwrap()
    };
    let file = of("model.safetensors");
    assert!(file["without_teacher"].as_str().unwrap().contains("weight file alone"));
    assert!(file["channels"]["a"]["cohort"]["j"].is_null() && file["recovery"].is_null());
    assert_eq!(file["channels"]["a"]["decoder"], whole["channels"]["a"]["decoder"]);
    assert_eq!(file["complete"], whole["complete"]);
    train(root.path(), "fo", "1", "fields");
    assert!(of("fields")["without_teacher"].as_str().unwrap().contains("latent component J"));
    // A model that the checkpoints are not of.
    fs::copy(root.path().join("fields/model.safetensors"), &model).unwrap();
    assert!(of("run")["without_teacher"].as_str().unwrap().contains("not of this model"));
}

#[test]
fn misuse_is_explained() {
    let root = trained("fo");
    let folder = root.path();
    let with = |more: &[&str], code: i32| refused(folder, &[&PLAIN[..], more].concat(), code);
    assert!(with(&["--condition", "forward/hexagons/5"], 2).contains("is no observation condition"));
    assert!(with(&["--batch", "0"], 2).contains("--batch"));
    assert!(with(&["--limit", "1"], 1).contains("diagnose at least two"));
    let benchmark = with(&["--condition", "forward/benchmark_uniform/100"], 1);
    assert!(benchmark.contains("is for the cylinder only"), "{benchmark}");
    generate(folder, "ns", "test", "2", "other");
    let other = ["diagnose", "--run", "run", "--data", "other", "--device", "cpu"];
    assert!(refused(folder, &other, 1).contains("the records are ns and the model was trained on poisson"));
    let nothing = ["diagnose", "--run", "nothing", "--data", "test", "--device", "cpu"];
    assert!(
        refused(folder, &nothing, 1)
            .contains("\"nothing\" is neither a run folder, nor a weight file, nor the name of a model")
    );
    // A checkpoint that has changed is refused, not passed over.
    let state =
        fs::read_dir(folder.join("run/state")).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
    let file = state.join("state.safetensors");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    assert!(with(&[], 1).contains("has changed since it was written"));
}
