//! What a run keeps on its way: checkpoints, milestones and its model.

use std::time::Instant;

use scope_data::{DataError, write_atomic};
use scope_engine::Device;
use scope_parallel::ParallelError;

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
        let Some(files) = &self.files else { return Ok(source.into()) };
        Ok(TrainError::DataLost { source, draws, checkpoint: files.folder().checkpoint(draws) })
    }

    /// Keeps the state before a step that a lost rank did not finish, and says where it is. A state that was being
    /// changed is not kept: the checkpoint before it stands.
    pub(super) fn without_rank(
        &mut self,
        trainer: &Trainer,
        source: ParallelError,
        callback: &mut dyn Callback,
    ) -> Result<TrainError, TrainError> {
        let draws = self.position.draws;
        match &self.files {
            Some(files) if !trainer.is_torn() => {
                let checkpoint = files.folder().checkpoint(draws);
                self.write_checkpoint(trainer, false, callback)?;
                Ok(TrainError::RankLost { source, draws, checkpoint })
            }
            _ => Ok(source.into()),
        }
    }

    /// Whether the draws so far have just completed one of the evenly spaced parts of the run.
    pub(super) fn at_milestone(&self, batch: u64) -> bool {
        let part = |draws: u64| {
            u128::from(draws) * u128::from(self.options.milestones) / u128::from(self.config.total())
        };
        part(self.position.draws) > part(self.position.draws.saturating_sub(batch))
    }

    /// Writes a checkpoint and the model after a step, at which all ranks are: a state that they do not have in common
    /// is refused.
    pub(super) fn save(
        &mut self,
        trainer: &mut Trainer,
        milestone: bool,
        callback: &mut dyn Callback,
    ) -> Result<(), TrainError> {
        trainer.require_one_state(self.position.draws)?;
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
        let Some(files) = &mut self.files else { return Ok(()) };
        self.position.metrics_bytes = files.sync()?;
        let folder = files.folder();
        let model = Deployed::of(trainer, self.config, self.data, self.position.draws)?;
        if milestone && self.position.draws < self.config.total() {
            // Before its checkpoint: a run that resumes from there would not write it any more.
            files.keep_model(&model, self.position.draws)?;
        }
        let position = Position { milestone, ..self.position.clone() };
        checkpoint::save(&folder.state(), trainer, &position)?;
        model.write(&folder.model())?;
        if let Device::Cuda(cuda) = trainer.device() {
            write_atomic(&folder.algorithms(), cuda.algorithms().as_bytes())?;
        }
        // Last: whatever becomes of older checkpoints, the newest has its model.
        for error in checkpoint::prune(&folder.state(), self.options.keep)? {
            let warning =
                format!("{error}; this older checkpoint is passed over and stays, and training goes on");
            if files.is_new(&warning) {
                callback.on_warning(&warning);
            }
        }
        self.saved = Instant::now();
        Ok(())
    }
}
