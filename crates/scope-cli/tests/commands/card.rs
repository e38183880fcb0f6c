//! `scope model card` and `scope model calibrate`, as a user types them.

use std::{fs, path::Path};

use crate::program::{refused, scope, succeed};
use scope_model::Card;

/// A folder with a short run, a head on it, and sets to train, test and calibrate on.
fn trained() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (split, seed, count, out) in
        [("train", "1", "24", "train"), ("test", "2", "4", "test"), ("test", "3", "60", "bands")]
    {
        let generate = ["data", "generate", "poisson", "--resolution", "32", "--split", split];
        succeed(root.path(), &[&generate[..], &["--seed", seed, "--count", count, "--out", out]].concat());
    }
    let train = ["train", "--pde", "poisson", "--data", "train", "--recipe", "fo", "--model", "tiny"];
    let short = ["--set", "batch=4", "--device", "cpu"];
    succeed(root.path(), &[&train[..], &short, &["--draws", "16", "--out", "run"]].concat());
    let adapt = ["adapt", "--base", "run", "--data", "train", "--head", "1m", "--draws", "8"];
    succeed(root.path(), &[&adapt[..], &short, &["--out", "head"]].concat());
    root
}

/// Packs a run's model and evaluates it.
fn packed(folder: &Path, run: &str, model: &str) {
    succeed(folder, &["model", "pack", "--run", run, "--out", model]);
    let evaluate = ["evaluate", "--run", model, "--data", "test", "--device", "cpu"];
    succeed(folder, &[&evaluate[..], &["--out", "evals"]].concat());
}

const CARD: [&str; 8] =
    ["model", "card", "--model", "m.safetensors", "--data", "train", "--eval", "evals/uniform500.json"];

fn card(folder: &Path) -> Card {
    Card::read(&folder.join("m.toml")).unwrap()
}

#[test]
fn an_adapted_models_card_tells_of_its_backbone() {
    let root = trained();
    packed(root.path(), "head", "m.safetensors");
    succeed(root.path(), &[&CARD[..], &["--run", "head"]].concat());
    let Card { size, training, .. } = card(root.path());
    assert_eq!((size.as_str(), training.draws, training.planned), ("tiny", 24, 24));
    let from: Vec<(&str, u64)> = training.from.iter().map(|one| (one.recipe.as_str(), one.draws)).collect();
    assert_eq!(from, [("fo", 16)]);
    let text = fs::read_to_string(root.path().join("evals/uniform500.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(results["identity"]["method"]["model"], "tiny");
}

#[test]
fn bands_outlive_a_new_card_and_fewer_records() {
    let root = trained();
    packed(root.path(), "run", "m.safetensors");
    let anew = [&CARD[..], &["--run", "run"]].concat();
    succeed(root.path(), &anew);
    let calibrate = ["model", "calibrate", "--model", "m.safetensors", "--data", "bands", "--device", "cpu"];
    succeed(root.path(), &calibrate);
    let measured = card(root.path()).bands.unwrap();
    assert_eq!(measured.records + measured.shape_records, 60);
    let said = refused(root.path(), &[&calibrate[..], &["--records", "40"]].concat(), 1);
    assert!(said.contains("measured on 60 records, and these would be measured on 40"), "{said}");
    succeed(root.path(), &anew);
    assert_eq!(card(root.path()).bands, Some(measured));
    for file in ["m.safetensors", "evals/uniform500.json"] {
        fs::remove_file(root.path().join(file)).unwrap();
    }
    packed(root.path(), "head", "m2.safetensors");
    fs::rename(root.path().join("m2.safetensors"), root.path().join("m.safetensors")).unwrap();
    let other = [&CARD[..], &["--run", "head"]].concat();
    let output = scope(root.path(), &other).assert().success().get_output().stderr.clone();
    let said = String::from_utf8(output).unwrap();
    assert!(said.contains("are dropped: they are of another weight file"), "{said}");
    assert_eq!(card(root.path()).bands, None);
}
