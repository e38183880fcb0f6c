//! What a run keeps on its way: checkpoints, milestones and its model.

use std::{fs, time::Instant};

use scope_data::{DataError, write_atomic};
use scope_engine::Device;

use super::Session;
use crate::{
    error::TrainError,
    run::{
        callback::Callback,
        checkpoint::{self, Position},
        deployed::Deployed,
    },
    trainer::Trainer,
};

impl Session<'_> {
    /// Keeps the state before a step whose records could not be read, and says where it is.
    pub(super) fn without_data(
        &mut self,
        trainer: &Trainer,
        source: DataError,
        callback: &mut dyn Callback,
    ) -> Result<TrainError, TrainError> {
        self.write_checkpoint(trainer, false, callback)?;
        let draws = self.position.draws;
        Ok(TrainError::DataLost { source, draws, checkpoint: self.folder.checkpoint(draws) })
    }

    /// Whether the draws so far have just completed one of the evenly spaced parts of the run.
    pub(super) fn at_milestone(&self, batch: u64) -> bool {
        let part = |draws: u64| {
            u128::from(draws) * u128::from(self.options.milestones) / u128::from(self.config.total())
        };
        part(self.position.draws) > part(self.position.draws.saturating_sub(batch))
    }

    /// Writes a checkpoint and the model after a step.
    pub(super) fn save(
        &mut self,
        trainer: &Trainer,
        milestone: bool,
        callback: &mut dyn Callback,
    ) -> Result<(), TrainError> {
        self.position.counters = trainer.counters;
        self.write_checkpoint(trainer, milestone, callback)
    }

    /// Writes a checkpoint of the position, the model, and the algorithms of a GPU; removes older checkpoints.
    pub(super) fn write_checkpoint(
        &mut self,
        trainer: &Trainer,
        milestone: bool,
        callback: &mut dyn Callback,
    ) -> Result<(), TrainError> {
        self.position.metrics_bytes = self.metrics.sync()?;
        let model = Deployed::of(trainer, self.config, self.data, self.position.draws)?;
        if milestone && self.position.draws < self.config.total() {
            // Before its checkpoint: a run that resumes from there would not write it any more.
            self.keep_model(&model)?;
        }
        let position = Position { milestone, ..self.position.clone() };
        checkpoint::save(&self.folder.state(), trainer, &position)?;
        model.write(&self.folder.model())?;
        if let Device::Cuda(cuda) = trainer.device() {
            write_atomic(&self.folder.algorithms(), cuda.algorithms().as_bytes())?;
        }
        // Last: whatever becomes of older checkpoints, the newest has its model.
        for error in checkpoint::prune(&self.folder.state(), self.options.keep)? {
            let warning =
                format!("{error}; this older checkpoint is passed over and stays, and training goes on");
            if self.said.insert(warning.clone()) {
                callback.on_warning(&warning);
            }
        }
        self.saved = Instant::now();
        Ok(())
    }

    /// Writes the model of a milestone, unless a process that was stopped since has written it.
    fn keep_model(&self, model: &Deployed) -> Result<(), TrainError> {
        let path = self.folder.milestone(self.position.draws);
        if path.exists() {
            return Ok(());
        }
        let folder = self.folder.milestones();
        fs::create_dir_all(&folder).map_err(TrainError::io("create", &folder))?;
        model.write(&path)
    }
}
