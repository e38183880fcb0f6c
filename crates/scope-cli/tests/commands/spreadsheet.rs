//! The page "From a spreadsheet to a map": every command of it runs, and what it says of the answer is true.

use std::{fs, path::Path};

use scope_pde::{Generator, Identity, Pde, Split};
use serde_json::Value;

use crate::{program::succeed, recover::field};

/// The arguments of every command on the page.
fn commands(page: &str) -> Vec<Vec<String>> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if let Some(command) = line.strip_prefix("scope ").filter(|_| inside) {
            commands.push(command.split_whitespace().map(str::to_owned).collect());
        }
    }
    commands
}

fn summary(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap()
}

#[test]
fn every_command_of_the_page_runs_and_the_map_is_right() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let root = tempfile::tempdir().unwrap();
    for name in ["wells.csv", "springs.csv"] {
        fs::copy(docs.join("data").join(name), root.path().join(name)).unwrap();
    }
    let page = fs::read_to_string(docs.join("from-a-spreadsheet-to-a-map.md")).unwrap();
    let commands = commands(&page);
    assert_eq!(commands.len(), 3);
    for command in &commands {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let said = succeed(root.path(), &arguments);
        assert!(said.contains("obey -100 Lap u = a, u = 102.5 on the edge"), "{said}");
    }
    let island = root.path().join("island");
    let stated = summary(&island);
    assert_eq!(stated["problems"][0]["coverage"]["u"]["sensors"], 56);
    assert_eq!(stated["problems"][0]["warnings"], serde_json::json!([]));
    // The wells were made with an amplitude of 400.
    let amplitude = stated["frame"]["scale"]["u"].as_f64().unwrap();
    assert!((amplitude / 400.0).ln().abs() < 0.3, "{amplitude}");

    let identity = Identity { pde: Pde::POISSON, seed: 11, split: Split::Test, resolution: 128 };
    let truth = Generator::new(identity).unwrap().record(1).unwrap().fields;
    for (name, truth, scale, offset) in
        [("u", &truth.u, 400.0, 102.5), ("a", &truth.a, -100.0 * 400.0 / 250_000.0, 0.0)]
    {
        let mean = field(&island.join(format!("{name}.npy")));
        let deviation = field(&island.join(format!("{name}_sd.npy")));
        let scores: Vec<f64> = (0..mean.len())
            .filter(|k| deviation[*k] > 0.0)
            .map(|k| (f64::from(mean[k]) - (scale * truth[k] + offset)).abs() / f64::from(deviation[k]))
            .collect();
        let within =
            |limit: f64| scores.iter().filter(|score| **score < limit).count() as f64 / scores.len() as f64;
        assert!(
            (0.5..0.9).contains(&within(1.0)) && within(2.0) > 0.85,
            "{name}: {} {}",
            within(1.0),
            within(2.0)
        );
    }
    let springs = fs::read_to_string(island.join("at.csv")).unwrap();
    assert!(springs.starts_with("x,y,a,a_sd,u,u_sd\n2120,4310,"), "{springs}");
    assert_eq!(springs.lines().count(), 4);
    let pixels = fs::read_to_string(root.path().join("island-csv/fields.csv")).unwrap();
    assert_eq!(pixels.lines().count(), 1 + 64 * 64);
    assert!(pixels.lines().last().unwrap().starts_with("2500,4500,"));
    assert_eq!(summary(&root.path().join("island-network"))["problems"][0]["calibrated"]["records"], 40);
}
