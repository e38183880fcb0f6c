//! Records of one's own, of which one is recovered.

use std::path::{Path, PathBuf};

use scope_data::Dataset;
use scope_pde::Pde;

/// A held-out set, and where the training set beside it is.
pub(super) struct OwnSet {
    held_out: Dataset,
    training: PathBuf,
}

impl OwnSet {
    /// Opens a set, or the one called `test` in a folder.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        let inside = folder.join("test");
        let held_out = if inside.is_dir() { inside } else { folder.to_owned() };
        let training = held_out.with_file_name("train");
        Ok(Self { held_out: Dataset::open(&held_out)?, training })
    }

    pub(super) fn pde(&self) -> Pde {
        self.held_out.meta().pde
    }

    pub(super) fn held_out(&self) -> &Dataset {
        &self.held_out
    }

    /// The training set beside it.
    pub(super) fn training(&self) -> anyhow::Result<Dataset> {
        anyhow::ensure!(
            self.training.is_dir(),
            "there is no {} to train a model on: name one with --model",
            self.training.display()
        );
        Ok(Dataset::open(&self.training)?)
    }
}
