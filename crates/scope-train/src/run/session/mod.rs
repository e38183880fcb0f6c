//! A run under way: stages, batches and steps until all draws are taken.

mod files;
mod saving;

use std::time::Instant;

use scope_data::Dataset;

pub(super) use files::RunFiles;

use super::{
    RunOutcome,
    callback::Callback,
    checkpoint::Position,
    config::RunConfig,
    data_loader::{DataLoader, SamplerConfig},
    divergence::DivergenceMonitor,
    metrics::MetricsLine,
    options::RunOptions,
};
use crate::{error::TrainError, trainer::Trainer};

/// A run under way.
pub(super) struct Session<'a> {
    /// What it leaves; none where another rank keeps it.
    files: Option<RunFiles<'a>>,
    config: &'a RunConfig,
    data: &'a Dataset,
    options: RunOptions,
    position: Position,
    saved: Instant,
    monitor: DivergenceMonitor,
}

impl<'a> Session<'a> {
    /// A session that goes on from a position of a run.
    pub(super) fn begin(
        files: Option<RunFiles<'a>>,
        config: &'a RunConfig,
        data: &'a Dataset,
        options: RunOptions,
        position: Position,
    ) -> Self {
        let monitor = DivergenceMonitor::default();
        Self { files, config, data, options, position, saved: Instant::now(), monitor }
    }

    /// Trains until all draws are taken or the callback asks to stop.
    pub(super) fn train(
        mut self,
        trainer: &mut Trainer,
        callback: &mut dyn Callback,
    ) -> Result<RunOutcome, TrainError> {
        let batch = self.config.recipe.batch as u64;
        let first = self.config.first_batch() + self.position.draws / batch;
        let sampler = SamplerConfig { first, ..self.config.sampler(self.config.conditions()) };
        let rows = trainer.rows(self.config.recipe.batch);
        let mut loader =
            DataLoader::of_rows(self.data, trainer.device(), sampler, rows, self.options.threads)?;
        if !self.position.milestone && self.at_milestone(batch) {
            // The checkpoint that the run resumes from was no milestone when it was written: nobody had asked for
            // milestones.
            self.save(trainer, true, callback)?;
        }
        let mut is_due = false;
        while self.position.draws < self.config.total() {
            // All ranks save together; the clock is that of the one that keeps the files.
            let [stop, save] = trainer.agree([callback.should_stop(), is_due])?;
            if stop || save {
                self.save(trainer, false, callback)?;
            }
            if stop {
                return Ok(RunOutcome::Interrupted);
            }
            self.enter_stage(trainer)?;
            self.step(trainer, &mut loader, callback)?;
            if self.at_milestone(batch) {
                self.save(trainer, true, callback)?;
            }
            is_due = self.files.is_some() && self.saved.elapsed() >= self.options.save_every;
        }
        self.save(trainer, true, callback)?;
        Ok(RunOutcome::Finished)
    }

    /// Moves on to the next stage when the current one is done.
    fn enter_stage(&mut self, trainer: &mut Trainer) -> Result<(), TrainError> {
        let end: u64 = self.config.stages[..=self.position.stage].iter().map(|stage| stage.draws).sum();
        if self.position.draws >= end {
            self.position.stage += 1;
            trainer.begin_stage(&self.config.stages[self.position.stage].objective)?;
        }
        Ok(())
    }

    /// Takes one step, and logs what it tells.
    fn step(
        &mut self,
        trainer: &mut Trainer,
        loader: &mut DataLoader<'_>,
        callback: &mut dyn Callback,
    ) -> Result<(), TrainError> {
        let stage = &self.config.stages[self.position.stage];
        let before: u64 = self.config.stages[..self.position.stage].iter().map(|stage| stage.draws).sum();
        let within = self.position.draws - before;
        let rates = self.config.schedule(stage).at(within);
        let batch = loader.next_batch()?;
        self.position.counters = trainer.counters;
        let learnt = trainer.train_on_batch(loader, &batch, rates);
        let report = match learnt {
            Err(TrainError::Data(source)) => return Err(self.without_data(trainer, source, callback)?),
            Err(TrainError::Parallel(source)) => return Err(self.without_rank(trainer, source, callback)?),
            learnt => learnt?.read()?,
        };
        let step = within / self.config.recipe.batch as u64 + 1;
        if let Some((what, value)) = report.not_finite() {
            // The step left the trainer's buffers alone; only its counter went on, and that is not saved.
            trainer.require_one_state(self.position.draws)?;
            self.write_checkpoint(trainer, false, callback)?;
            let draws = self.position.draws;
            let records = batch.records;
            return Err(TrainError::NotFinite { what, value, step, draws, records });
        }
        let warnings = self.monitor.observe(stage.objective.std_floor, &report);
        let line = MetricsLine { stage: stage.name.clone(), draws: self.position.draws, step, report };
        self.position.draws += self.config.recipe.batch as u64;
        let last = self.position.draws >= self.config.total();
        if (step - 1).is_multiple_of(self.config.log_every) || last {
            self.files.as_mut().map_or(Ok(()), |files| files.log(&line))?;
        }
        warnings.iter().for_each(|warning| callback.on_warning(warning));
        callback.on_step(&line, self.position.draws, self.config.total());
        Ok(())
    }
}
