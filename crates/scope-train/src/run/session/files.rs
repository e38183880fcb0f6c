//! What a run under way writes beside its checkpoints: logs, and the models of milestones.

use std::{collections::BTreeSet, fs};

use crate::{
    error::TrainError,
    run::{
        callback::Callback,
        deployed::Deployed,
        folder::RunFolder,
        metrics::{Metrics, MetricsLine},
        tensorboard::EventFile,
    },
};

/// The files of a run, open for whoever keeps them.
pub(in crate::run) struct RunFiles<'a> {
    folder: &'a RunFolder,
    metrics: Metrics,
    events: EventFile,
    /// What was said of checkpoints that could not be removed.
    said: BTreeSet<String>,
}

impl<'a> RunFiles<'a> {
    /// Opens the logs of a run at the length that they had when its state was saved.
    pub(in crate::run) fn open(
        folder: &'a RunFolder,
        metrics_bytes: u64,
        callback: &mut dyn Callback,
    ) -> Result<Self, TrainError> {
        Ok(Self {
            folder,
            metrics: Metrics::open(&folder.metrics(), metrics_bytes, callback)?,
            events: EventFile::create(folder.path())?,
            said: BTreeSet::new(),
        })
    }

    pub(super) fn folder(&self) -> &'a RunFolder {
        self.folder
    }

    /// Logs a step.
    pub(super) fn log(&mut self, line: &MetricsLine) -> Result<(), TrainError> {
        self.metrics.append(line)?;
        self.events.add(line)
    }

    /// Makes the log durable; gives its length.
    pub(super) fn sync(&mut self) -> Result<u64, TrainError> {
        self.metrics.sync()
    }

    /// Whether a warning was not given before.
    pub(super) fn is_new(&mut self, warning: &str) -> bool {
        self.said.insert(warning.to_owned())
    }

    /// Writes the model of a milestone, unless a process that was stopped since has written it.
    pub(super) fn keep_model(&self, model: &Deployed, draws: u64) -> Result<(), TrainError> {
        let path = self.folder.milestone(draws);
        if path.exists() {
            return Ok(());
        }
        let folder = self.folder.milestones();
        fs::create_dir_all(&folder).map_err(TrainError::io("create", &folder))?;
        model.write(&path)
    }
}
