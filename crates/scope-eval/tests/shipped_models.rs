//! The models that come with the program are whole: each has a card that is true of its weight file.

use std::{fs, path::Path};

use scope_model::Card;
use scope_pde::Pde;

/// The most bytes that all models and their cards may have.
const MOST_BYTES: u64 = 38_500_000;

#[test]
fn they_are_complete_and_small() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut bytes = 0;
    for pde in Pde::ALL {
        let file = models.join(format!("{pde}.toml"));
        let card = Card::read(&file).unwrap();
        assert_eq!(card.pde, pde);
        // A network with local fits has an embedding of its own for them.
        let fits = if card.training.recipe == "muon-fits" { 61_696 } else { 0 };
        assert_eq!(card.parameters, 6_786_178 + fits, "{pde}");
        assert!(card.held_out.records >= 1000 && card.bands.is_some(), "{pde}");
        let weights = fs::metadata(models.join(&card.weights.file)).unwrap().len();
        assert_eq!(weights, card.weights.bytes, "{pde}");
        bytes += weights + fs::metadata(file).unwrap().len();
    }
    assert!(bytes <= MOST_BYTES, "{bytes}");
}
