//! Whether a model has seen the records that it is evaluated on.

use std::path::Path;

use scope::recovery::training_data;
use scope_eval::DataIdentity;
use scope_model::Found;

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
