//! What is claimed of the models that come with the program, checked on their cards.

use std::{
    fs,
    path::{Path, PathBuf},
};

use scope_eval::report::{Published, grouped};
use scope_model::{Card, ConditionErrors};
use scope_pde::Pde;

/// Uniform sensors of the protocol.
const SENSORS: [usize; 7] = [500, 1024, 2048, 4096, 8192, 12288, 16384];
/// Curves of error against sensors: what is seen, and which field it tells.
const CURVES: [(&str, &str); 4] = [("forward", "u"), ("inverse", "a"), ("joint", "a"), ("joint", "u")];
/// With more sensors an error may be larger by so many points of percent at most.
const MOST_RISE: f64 = 0.05;
/// The most bytes that all models and their cards may have.
const MOST_BYTES: u64 = 38_500_000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn card(pde: Pde) -> Card {
    Card::read(&root().join(format!("models/{}.toml", pde.name()))).unwrap()
}

/// The error of a field as the results page tells it: of Darcy's a the share of wrong pixels.
fn told(errors: &ConditionErrors, field: &str) -> f64 {
    match field {
        "u" => errors.u.unwrap(),
        _ => errors.ber.or(errors.a).unwrap(),
    }
}

/// Errors of a field against the number of uniform sensors.
fn curve(card: &Card, task: &str, field: &str) -> Vec<f64> {
    let error = |sensors| {
        let condition = format!("{task}/uniform/{sensors}").parse().unwrap();
        told(&card.held_out.conditions[&condition], field)
    };
    SENSORS.map(error).to_vec()
}

#[test]
fn they_are_complete_and_small() {
    let mut bytes = 0;
    for pde in Pde::ALL {
        let card = card(pde);
        assert_eq!(card.pde, pde);
        // A network with local fits has an embedding of its own for them.
        let fits = if card.training.recipe == "muon-fits" { 61_696 } else { 0 };
        assert_eq!(card.parameters, 6_786_178 + fits, "{pde}");
        assert!(card.held_out.records >= 1000 && card.bands.is_some(), "{pde}");
        let weights = fs::metadata(root().join("models").join(&card.weights.file)).unwrap().len();
        assert_eq!(weights, card.weights.bytes, "{pde}");
        bytes += weights + fs::metadata(root().join(format!("models/{}.toml", pde.name()))).unwrap().len();
    }
    assert!(bytes <= MOST_BYTES, "{bytes}");
}

#[test]
fn more_sensors_do_no_harm() {
    for pde in Pde::ALL {
        for (task, field) in CURVES {
            let errors = curve(&card(pde), task, field);
            assert!(
                errors.windows(2).all(|pair| pair[1] < pair[0] + MOST_RISE),
                "{pde}, {task}, {field}: {errors:?}"
            );
        }
    }
}

#[test]
fn a_hidden_field_is_recovered_better_once_it_is_measured_too() {
    for pde in Pde::ALL {
        let card = card(pde);
        for (task, field) in [("forward", "u"), ("inverse", "a")] {
            let alone = curve(&card, task, field);
            let jointly = curve(&card, "joint", field);
            assert!(alone.iter().zip(&jointly).all(|(alone, jointly)| jointly < alone), "{pde}, {field}");
        }
    }
}

#[test]
fn they_are_ahead_of_the_papers_operators() {
    let mut published = Published::read().unwrap().compared;
    published.retain(|row| row.source == "the paper, 100 epochs");
    assert_eq!(published.len(), 4);
    for pde in [Pde::POISSON, Pde::HELMHOLTZ, Pde::DARCY, Pde::NAVIER_STOKES] {
        let card = card(pde);
        let own = [curve(&card, "forward", "u")[0], curve(&card, "inverse", "a")[0]];
        for row in &published {
            let theirs = row.errors[&pde];
            let theirs = [theirs.forward, theirs.inverse].map(Option::unwrap);
            assert!(own[0] < theirs[0] && own[1] < theirs[1], "{pde}, {}: {own:?}, {theirs:?}", row.method);
        }
    }
}

/// The numbers of the row that begins so, in the part of the page under a heading.
fn row<'a>(page: &'a str, heading: &str, begin: &str) -> Vec<&'a str> {
    let part = page.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let part = part.split("\n## ").next().unwrap_or_default();
    let line = part.lines().find_map(|line| line.strip_prefix(&format!("| {begin} |"))).unwrap();
    line.trim_end_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn the_results_page_tells_what_the_cards_tell() {
    let page = fs::read_to_string(root().join("docs/RESULTS.md")).unwrap();
    let two_digits = |errors: &[f64]| errors.iter().map(|error| format!("{error:.2}")).collect::<Vec<_>>();
    // In the order of the main table's columns.
    let parts = [
        (Pde::POISSON, "Poisson"),
        (Pde::HELMHOLTZ, "Helmholtz"),
        (Pde::DARCY, "Darcy"),
        (Pde::NAVIER_STOKES, "Navier-Stokes"),
        (Pde::CYLINDER, "Flow past a cylinder"),
    ];
    let mut shipped = Vec::new();
    for (pde, heading) in parts {
        let card = card(pde);
        for (task, field) in CURVES {
            let name = if field == "a" && pde == Pde::DARCY { "wrong pixels of a" } else { field };
            let errors = two_digits(&curve(&card, task, field));
            assert_eq!(row(&page, heading, &format!("{task}: {name}")), errors, "{heading}");
            if task != "joint" && pde != Pde::CYLINDER {
                shipped.push(format!("**{}**", errors[0]));
            }
        }
        let draws = format!("{} draws", grouped(card.training.draws as usize));
        assert!(page.contains(&draws), "{heading}: {draws}");
    }
    let main = page.lines().find(|line| line.starts_with("| **ours, as shipped** |")).unwrap();
    let cells: Vec<&str> = main.trim_end_matches('|').split('|').map(str::trim).skip(3).collect();
    assert_eq!(cells, shipped);
}
