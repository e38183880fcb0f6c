//! A small model trained on the spot, for a demonstration.

use std::path::{Path, PathBuf};

use scope_data::{DataError, Dataset, Request, generate};
use scope_engine::Device;
use scope_model::Preset;
use scope_pde::{Identity, Pde, Split};
use scope_train::{Length, Recipe, RunConfig, RunFolder, RunOptions, RunOutcome, RunRequest};

use super::live::Live;
use crate::terminal::{Interrupt, Progress};

/// The seed of the records and of the training.
const SEED: u64 = 20_260_913;
/// Coarse, so that a minute of a laptop teaches something.
const RESOLUTION: usize = 64;
/// Written at the end only.
const SAVE_EVERY: std::time::Duration = std::time::Duration::from_secs(3600);

/// Makes records, trains `tiny` on them for some minutes, and returns its weight file. The folder is scratch: who
/// interrupts it is left with nothing.
pub(crate) fn train_on_the_spot(
    pde: Pde,
    device: &Device,
    minutes: f64,
    folder: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<PathBuf> {
    let set = folder.join("data");
    let identity = Identity { pde, seed: SEED, split: Split::Train, resolution: RESOLUTION };
    let count = pde.descriptor().records_in_seconds;
    let progress = Progress::new(&format!("generate {pde}"), count);
    let made = generate(&Request { identity, count, shard: None }, &set, |done| {
        progress.at(done);
        !interrupt.requested()
    });
    made.map_err(|error| match error {
        DataError::Interrupted => interrupted(),
        other => other.into(),
    })?;
    progress.finish();
    train_tiny(&Dataset::open(&set)?, device, minutes, folder, interrupt)
}

/// Trains `tiny` on a set for some minutes, and returns its weight file.
pub(crate) fn train_tiny(
    data: &Dataset,
    device: &Device,
    minutes: f64,
    folder: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<PathBuf> {
    let request = RunRequest {
        recipe: Recipe::resolve("fo", &["batch=8".to_owned(), "peak_rate=1e-3".to_owned()])?,
        model: Preset::Tiny.config(data.meta().resolution).into(),
        length: Some(Length::Minutes(minutes)),
        seed: SEED,
        log_every: 10,
        from: None,
        adapt: None,
    };
    let build = |config: &RunConfig| scope_train::build_trainer(config, device, None);
    let config = scope_train::plan(request, data, &build, 1)?;
    let run = RunFolder::open(&folder.join("run"), false)?;
    let options = RunOptions { threads: 1, save_every: SAVE_EVERY, keep: 1, milestones: 0 };
    let mut live = Live::new(&config)?;
    // From here on the run itself listens.
    anyhow::ensure!(!interrupt.requested(), interrupted());
    let ending = scope_train::run(&run, &config, data, &mut build(&config)?, options, &mut live);
    live.finish();
    match ending? {
        RunOutcome::Interrupted => Err(interrupted()),
        RunOutcome::Finished | RunOutcome::WasFinished | RunOutcome::ModelWritten => Ok(run.model()),
    }
}

/// What is left to someone who did not wait for the model.
fn interrupted() -> anyhow::Error {
    anyhow::anyhow!("interrupted: no model was trained, and nothing was recovered")
}
