//! The model that a run leaves to be used.

use std::path::Path;

use scope_data::Dataset;
use scope_engine::Params;
use scope_model::{About, Quantisation, WeightFile};

use super::config::RunConfig;
use crate::{error::TrainError, trainer::Trainer};

/// A trainer's model as of now, and what its file says about it.
pub(super) struct Deployed {
    params: Params,
    about: About,
}

impl Deployed {
    /// The model of a trainer that has taken so many draws of a run.
    pub(super) fn of(
        trainer: &Trainer,
        config: &RunConfig,
        data: &Dataset,
        draws: u64,
    ) -> Result<Self, TrainError> {
        let (architecture, params) = trainer.deployable(&config.model)?;
        let meta = data.meta();
        let pde = meta.pde;
        let constants = meta.constants();
        let training = Some(config.training(draws));
        Ok(Self { params, about: About { pde, constants, config: architecture, training } })
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), TrainError> {
        Ok(WeightFile::write(path, &self.params, &self.about, Quantisation::F32, None)?)
    }

    /// Whether a file holds these parameters; one that cannot be read does not. What else it says is left alone: an
    /// older program may have put it differently, and evaluations are of the file as it is.
    pub(super) fn is_in(&self, path: &Path) -> Result<bool, TrainError> {
        let Ok(file) = WeightFile::read(path) else { return Ok(false) };
        let mut held = Params::zeros(self.params.device(), self.params.layout().clone())?;
        if file.fill(&mut held).is_err() {
            return Ok(false);
        }
        Ok(held.flat().to_vec::<f32>()? == self.params.flat().to_vec::<f32>()?)
    }
}
