//! Models by name: weight files with a card beside each.

mod card;
mod check;
mod find;
mod held_out;
mod hugging_face;
mod run_folder;

pub use card::{Card, CardData, CardEarlier, CardTraining, CardWeights};
pub use find::{Catalogue, Embedded, Found, Listing};
pub use held_out::{ConditionErrors, HeldOut};
pub use run_folder::{RUN_CONFIG, RUN_EVALUATIONS, RUN_WEIGHTS};
