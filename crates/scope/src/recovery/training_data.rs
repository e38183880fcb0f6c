//! What a model has learned from, so that nobody takes errors on the same records for a test.

use std::path::Path;

use scope_model::{Found, RUN_CONFIG};
use scope_train::RunConfig;

/// BLAKE3 of what a model was trained on, where that is known: from its card, or from the run that its weight file lies
/// in.
pub fn training_data(found: &Found) -> Option<String> {
    let of_card = found.card.as_ref().map(|card| card.data.blake3.clone());
    of_card.or_else(|| of_run(found.path()?))
}

/// What the run has learned from that has a weight file in its folder, or among its milestones.
fn of_run(weights: &Path) -> Option<String> {
    let configs = weights.ancestors().skip(1).take(2).map(|folder| folder.join(RUN_CONFIG));
    let mut readable = configs.filter_map(|path| RunConfig::read(&path).ok());
    readable.next().map(|config| config.data.blake3)
}
