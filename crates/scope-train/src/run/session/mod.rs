//! A run under way: stages, batches and steps until all draws are taken.

mod saving;

use std::{collections::BTreeSet, time::Instant};

use scope_data::Dataset;

use super::{
    RunOutcome,
    callback::Callback,
    checkpoint::Position,
    config::RunConfig,
    data_loader::{Conditions, DataLoader, SamplerConfig},
    divergence::DivergenceMonitor,
    fit_normaliser,
    folder::RunFolder,
    metrics::{Metrics, MetricsLine},
    options::RunOptions,
    tensorboard::EventFile,
};
use crate::{error::TrainError, trainer::Trainer};

/// A run under way.
pub(super) struct Session<'a> {
    folder: &'a RunFolder,
    config: &'a RunConfig,
    data: &'a Dataset,
    options: RunOptions,
    metrics: Metrics,
    events: EventFile,
    position: Position,
    saved: Instant,
    monitor: DivergenceMonitor,
    /// What was said of checkpoints that could not be removed.
    said: BTreeSet<String>,
}

impl<'a> Session<'a> {
    /// A session that goes on from a position of a run.
    pub(super) fn begin(
        folder: &'a RunFolder,
        config: &'a RunConfig,
        data: &'a Dataset,
        options: RunOptions,
        position: Position,
        callback: &mut dyn Callback,
    ) -> Result<Self, TrainError> {
        Ok(Self {
            folder,
            config,
            data,
            options,
            metrics: Metrics::open(&folder.metrics(), position.metrics_bytes, callback)?,
            events: EventFile::create(folder.path())?,
            position,
            saved: Instant::now(),
            monitor: DivergenceMonitor::default(),
            said: BTreeSet::new(),
        })
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
        if self.position.draws == 0 {
            self.measure_fits(trainer)?;
        }
        let mut loader = DataLoader::new(self.data, trainer.device(), sampler, self.options.threads)?;
        if !self.position.milestone && self.at_milestone(batch) {
            // The checkpoint that the run resumes from was no milestone when it was written: nobody had asked for
            // milestones.
            self.save(trainer, true, callback)?;
        }
        while self.position.draws < self.config.total() {
            if callback.should_stop() {
                self.save(trainer, false, callback)?;
                return Ok(RunOutcome::Interrupted);
            }
            self.enter_stage(trainer)?;
            self.step(trainer, &mut loader, callback)?;
            let milestone = self.at_milestone(batch);
            if milestone || self.saved.elapsed() >= self.options.save_every {
                self.save(trainer, milestone, callback)?;
            }
        }
        self.save(trainer, true, callback)?;
        Ok(RunOutcome::Finished)
    }

    /// Gives a network the scale of its local fits, if it has any whose scale is not known yet.
    fn measure_fits(&self, trainer: &mut Trainer) -> Result<(), TrainError> {
        let fits = self.config.model.scope().and_then(|sizes| sizes.fits.as_ref());
        let Some(fits) = fits.filter(|_| self.config.measured_fits().is_some()) else { return Ok(()) };
        let sampler = self.config.sampler(Conditions::Mixed);
        let threads = self.options.threads;
        let fit = fits.local_fit();
        let divisors = fit_normaliser::measure(self.data, trainer.device(), &fit, sampler, threads)?;
        trainer.set_fit_normaliser(&divisors)
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
        if let Err(TrainError::Data(source)) = learnt {
            return Err(self.without_data(trainer, source, callback)?);
        }
        let report = learnt?.read()?;
        let step = within / self.config.recipe.batch as u64 + 1;
        if let Some((what, value)) = report.not_finite() {
            // The step left the trainer's buffers alone; only its counter went on, and that is not saved.
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
            self.metrics.append(&line)?;
            self.events.add(&line)?;
        }
        warnings.iter().for_each(|warning| callback.on_warning(warning));
        callback.on_step(&line, self.position.draws, self.config.total());
        Ok(())
    }
}
