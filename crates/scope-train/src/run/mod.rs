//! A training run: stages, batches, logs, checkpoints.

mod build;
mod callback;
mod checkpoint;
mod config;
mod context;
mod data_loader;
mod deployed;
mod divergence;
mod fit_normaliser;
mod fit_ridge;
mod folder;
mod length;
mod metrics;
mod options;
mod plan;
mod session;
mod teacher;
mod tensorboard;
mod units;

use scope_data::Dataset;

pub use build::{BuildTrainer, build_trainer};
pub use callback::Callback;
pub use checkpoint::Position;
pub use config::{AdaptConfig, InitialWeights, Length, RunConfig, Stage, TrainingSet};
pub use data_loader::{Conditions, DataLoader, SamplerConfig};
pub use folder::RunFolder;
pub use length::stages;
pub use metrics::MetricsLine;
pub use options::RunOptions;
pub use plan::{RunRequest, plan, plan_or_resume};
pub use teacher::{Teacher, saved_teacher};

use crate::{error::TrainError, trainer::Trainer};
use deployed::Deployed;
use session::{RunFiles, Session};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The run has taken all its draws.
    Finished,
    /// They had been taken before; nothing was changed.
    WasFinished,
    /// They had been taken before, but the model of the last state was missing, or another: now it is written.
    ModelWritten,
    /// It was asked to stop; the state is saved.
    Interrupted,
}

/// Trains until all draws are taken or the callback asks to stop. Resumes from the folder's newest checkpoint, if it
/// has one. The trainer may be rank 0 of a team.
pub fn run(
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    trainer: &mut Trainer,
    options: RunOptions,
    callback: &mut dyn Callback,
) -> Result<RunOutcome, TrainError> {
    let outcome = take_up(folder, config, data, trainer, options, callback).and_then(|position| {
        if position.draws >= config.total() {
            return complete(folder, &Deployed::of(trainer, config, data, position.draws)?);
        }
        let files = RunFiles::open(folder, position.metrics_bytes, callback)?;
        Session::begin(Some(files), config, data, options, position).train(trainer, callback)
    });
    part(trainer, outcome)
}

/// Trains with rank 0 of a team, which keeps the run: state and position come from there, and nothing is written here.
pub fn follow(
    config: &RunConfig,
    data: &Dataset,
    trainer: &mut Trainer,
    options: RunOptions,
    callback: &mut dyn Callback,
) -> Result<RunOutcome, TrainError> {
    let position = Position::start(trainer);
    let outcome = share(config, trainer, position).and_then(|position| {
        if position.draws >= config.total() {
            return Ok(RunOutcome::WasFinished);
        }
        Session::begin(None, config, data, options, position).train(trainer, callback)
    });
    part(trainer, outcome)
}

/// Ends with all other ranks, or tells them why this one ends.
fn part(trainer: &mut Trainer, outcome: Result<RunOutcome, TrainError>) -> Result<RunOutcome, TrainError> {
    match &outcome {
        Ok(_) => trainer.end_together(),
        Err(error) => trainer.abort(error),
    }
    outcome
}

/// Gives the position and state of rank 0 to all.
fn share(config: &RunConfig, trainer: &mut Trainer, position: Position) -> Result<Position, TrainError> {
    trainer.share_state(position, |stage| config.stages.get(stage).map(|stage| stage.objective))
}

/// The position and state that a run goes on from: those of its newest checkpoint, or of its beginning.
fn take_up(
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    trainer: &mut Trainer,
    options: RunOptions,
    callback: &mut dyn Callback,
) -> Result<Position, TrainError> {
    let mut position = Position::start(trainer);
    if !folder.config().exists() {
        config.write(&folder.config())?;
    }
    for error in checkpoint::sweep(&folder.state())? {
        callback
            .on_warning(&format!("{error}; what a stopped process left there stays, and training goes on"));
    }
    if let Some(checkpoint) = checkpoint::newest(&folder.state())? {
        position = checkpoint.position.clone();
        if !config.holds(&position) {
            let problem = format!("it is of stage {} after {} draws", position.stage, position.draws);
            return Err(TrainError::malformed(&checkpoint.path(), problem + ", where this run never is"));
        }
        if position.stage > 0 {
            trainer.begin_stage(&config.stages[position.stage].objective)?;
        }
        checkpoint.restore(trainer)?;
    }
    if position.draws == 0 {
        measure_fits(config, data, trainer, options.threads)?;
    }
    share(config, trainer, position)
}

/// Gives a network the scale of its local fits, if it has any whose scale is not known yet.
fn measure_fits(
    config: &RunConfig,
    data: &Dataset,
    trainer: &mut Trainer,
    threads: usize,
) -> Result<(), TrainError> {
    let fits = config.model.scope().and_then(|sizes| sizes.fits.as_ref());
    let Some(fits) = fits.filter(|_| config.measured_fits().is_some()) else { return Ok(()) };
    let sampler = config.sampler(Conditions::Mixed);
    let divisors = fit_normaliser::measure(data, trainer.device(), &fits.local_fit(), sampler, threads)?;
    trainer.set_fit_normaliser(&divisors)
}

/// Sees to it that a run whose last state is saved has the model of it: its last save may have been cut short.
fn complete(folder: &RunFolder, model: &Deployed) -> Result<RunOutcome, TrainError> {
    if model.is_in(&folder.model())? {
        return Ok(RunOutcome::WasFinished);
    }
    model.write(&folder.model())?;
    Ok(RunOutcome::ModelWritten)
}
