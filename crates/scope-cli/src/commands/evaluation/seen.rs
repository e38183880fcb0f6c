//! Whether a model has seen the records that it is evaluated on.

use std::path::Path;

use scope_eval::DataIdentity;
use scope_model::{Found, RUN_CONFIG};
use scope_train::RunConfig;

use crate::terminal::warn;

/// Marks records that a model is known to have been trained on.
pub(super) fn mark(data: &mut DataIdentity, found: &Found) {
    data.trained_on = training_data(found).is_some_and(|hash| hash == data.blake3);
}

/// Says that records are no test of a model.
pub(super) fn warn_of(data: &DataIdentity, folder: &Path) {
    let folder = folder.display();
    if data.trained_on {
        warn(&format!(
            "{folder} holds the very records that the model was trained on: errors on them say little; generate others with \
             --split test and another --seed"
        ));
    } else if !data.is_held_out() {
        warn(&format!("{folder} is a training set: errors on records a model has seen say little"));
    }
}

/// BLAKE3 of what a model was trained on, where that is known: from its card, or from the run that its weight file lies in.
fn training_data(found: &Found) -> Option<String> {
    let of_card = found.card.as_ref().map(|card| card.data.blake3.clone());
    of_card.or_else(|| of_run(found.path()?))
}

/// The hash of the training set of the run that has a weight file in its folder, or among its milestones.
fn of_run(weights: &Path) -> Option<String> {
    let configs = weights.ancestors().skip(1).take(2).map(|folder| folder.join(RUN_CONFIG));
    let mut readable = configs.filter_map(|path| RunConfig::read(&path).ok());
    readable.next().map(|config| config.data.blake3)
}
