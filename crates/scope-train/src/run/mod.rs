//! A training run: stages, batches, logs, checkpoints.

mod checkpoint;
mod config;
mod deployed;
mod feed;
mod fit_normaliser;
mod folder;
mod learner;
mod length;
mod metrics;
mod plan;
mod shown;
mod teacher;
mod tensorboard;
mod watch;

use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

use scope_data::{DataError, Dataset, write_atomic};
use scope_engine::Device;
use scope_model::View;

pub use checkpoint::Position;
pub use config::{AdaptConfig, DataIdentity, Earlier, Length, RunConfig, Stage};
pub use feed::{Conditions, Feed, Order};
pub use folder::RunFolder;
pub use learner::{Counters, Deployable, Learner};
pub use length::stages;
pub use metrics::Line;
pub use plan::{Ask, MakeLearner, learner, plan};
pub use teacher::{Teacher, saved_teacher};

use crate::{error::TrainError, step::Measured};
use deployed::Deployed;
use metrics::Metrics;
use tensorboard::EventFile;
use watch::Watch;

/// Number of threads whose masks keep ahead of any step on a CPU.
const CPU_THREADS: usize = 2;

/// How a run is conducted; none of this changes what it computes.
#[derive(Clone, Copy, Debug)]
pub struct Conduct {
    /// Threads that make batches.
    pub threads: usize,
    /// Time between two checkpoints.
    pub save_every: Duration,
    /// Checkpoints kept beside milestones.
    pub keep: usize,
    /// Checkpoints kept for good, evenly over the run, each with the model of that moment.
    pub milestones: u64,
}

impl Default for Conduct {
    /// Settings for a CPU, with a checkpoint every five minutes.
    fn default() -> Self {
        Self { threads: CPU_THREADS, save_every: Duration::from_secs(300), keep: 2, milestones: 0 }
    }
}

impl Conduct {
    /// The threads that keep ahead of a device's steps. On a GPU 125 draws may take a millisecond, and their masks take four.
    pub fn threads_for(device: &Device) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match device {
            Device::Cuda(_) => (cores / 2).clamp(CPU_THREADS, 8),
            _ => CPU_THREADS,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All draws are taken.
    Finished,
    /// They had been taken before; nothing was changed.
    WasFinished,
    /// They had been taken before, but the model of the last state was missing, or another: now it is written.
    ModelWritten,
    /// It was asked to stop; the state is saved.
    Interrupted,
}

/// Who watches a run.
pub trait Observer {
    /// A step is done; `total` draws are to be taken.
    fn step(&mut self, line: &Line, draws: u64, total: u64);
    /// Something looks wrong, though the run goes on.
    fn alarm(&mut self, text: &str);
    /// Whether the run is to stop after the current step.
    fn stop(&self) -> bool;
}

/// Nobody watches, and nobody asks to stop.
impl Observer for () {
    fn step(&mut self, _: &Line, _: u64, _: u64) {}
    fn alarm(&mut self, _: &str) {}
    fn stop(&self) -> bool {
        false
    }
}

/// A run under way.
struct Session<'a> {
    folder: &'a RunFolder,
    config: &'a RunConfig,
    data: &'a Dataset,
    conduct: Conduct,
    metrics: Metrics,
    events: EventFile,
    position: Position,
    saved: Instant,
    watch: Watch,
    /// What was said of checkpoints that could not be removed.
    said: BTreeSet<String>,
}

/// Trains until all draws are taken or the observer asks to stop. Resumes from the folder's newest checkpoint, if it
/// has one.
pub fn run(
    folder: &RunFolder,
    config: &RunConfig,
    data: &Dataset,
    learner: &mut dyn Learner,
    conduct: Conduct,
    observer: &mut dyn Observer,
) -> Result<Ending, TrainError> {
    let mut position =
        Position { stage: 0, draws: 0, counters: learner.counters(), metrics_bytes: 0, milestone: false };
    if !folder.config().exists() {
        config.write(&folder.config())?;
    }
    for error in checkpoint::sweep(&folder.state())? {
        observer.alarm(&format!("{error}; what a stopped process left there stays, and training goes on"));
    }
    if let Some(checkpoint) = checkpoint::newest(&folder.state())? {
        position = checkpoint.position.clone();
        if !config.holds(&position) {
            let problem = format!("it is of stage {} after {} draws", position.stage, position.draws);
            return Err(TrainError::malformed(&checkpoint.path(), problem + ", where this run never is"));
        }
        if position.stage > 0 {
            learner.begin_stage(&config.stages[position.stage].objective)?;
        }
        checkpoint.restore(learner)?;
        if position.draws >= config.total() {
            return complete(folder, &Deployed::of(learner, config, data, position.draws)?);
        }
    }
    let metrics = Metrics::open(&folder.metrics(), position.metrics_bytes, observer)?;
    let events = EventFile::create(folder.path())?;
    let saved = Instant::now();
    let watch = Watch::default();
    let said = BTreeSet::new();
    Session { folder, config, data, conduct, metrics, events, position, saved, watch, said }
        .train(learner, observer)
}

/// Sees to it that a run whose last state is saved has the model of it: its last save may have been cut short.
fn complete(folder: &RunFolder, model: &Deployed) -> Result<Ending, TrainError> {
    if model.is_in(&folder.model())? {
        return Ok(Ending::WasFinished);
    }
    model.write(&folder.model())?;
    Ok(Ending::ModelWritten)
}

impl Session<'_> {
    fn train(mut self, learner: &mut dyn Learner, observer: &mut dyn Observer) -> Result<Ending, TrainError> {
        let batch = self.config.recipe.batch as u64;
        let conditions = match &self.config.adapt {
            Some(adapt) if adapt.view == View::Sparse => Conditions::Alternating,
            _ => Conditions::Mixed,
        };
        let first = self.config.first_batch() + self.position.draws / batch;
        let order = Order { first, ..self.config.order(conditions) };
        if self.position.draws == 0 {
            self.measure_fits(learner)?;
        }
        let mut feed = Feed::new(self.data, learner.device(), order, self.conduct.threads)?;
        if !self.position.milestone && self.at_milestone(batch) {
            // The checkpoint that the run resumes from was no milestone when it was written: nobody had asked for milestones.
            self.save(learner, true, observer)?;
        }
        while self.position.draws < self.config.total() {
            if observer.stop() {
                self.save(learner, false, observer)?;
                return Ok(Ending::Interrupted);
            }
            self.enter_stage(learner)?;
            self.step(learner, &mut feed, observer)?;
            let milestone = self.at_milestone(batch);
            if milestone || self.saved.elapsed() >= self.conduct.save_every {
                self.save(learner, milestone, observer)?;
            }
        }
        self.save(learner, true, observer)?;
        Ok(Ending::Finished)
    }

    /// Gives a network that begins with initial parameters the scale of its local fits, if it has any.
    fn measure_fits(&self, learner: &mut dyn Learner) -> Result<(), TrainError> {
        let fits = self.config.model.scope().and_then(|sizes| sizes.fits.as_ref());
        match fits {
            Some(fits) if self.config.from.is_none() && self.config.adapt.is_none() => {
                let order = self.config.order(Conditions::Mixed);
                let threads = self.conduct.threads;
                let fit = fits.local_fit();
                let divisors = fit_normaliser::measure(self.data, learner.device(), &fit, order, threads)?;
                learner.set_fit_normaliser(&divisors)
            }
            _ => Ok(()),
        }
    }

    /// Moves on to the next stage when the current one is done.
    fn enter_stage(&mut self, learner: &mut dyn Learner) -> Result<(), TrainError> {
        let end: u64 = self.config.stages[..=self.position.stage].iter().map(|stage| stage.draws).sum();
        if self.position.draws >= end {
            self.position.stage += 1;
            learner.begin_stage(&self.config.stages[self.position.stage].objective)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        learner: &mut dyn Learner,
        feed: &mut Feed<'_>,
        observer: &mut dyn Observer,
    ) -> Result<(), TrainError> {
        let stage = &self.config.stages[self.position.stage];
        let before: u64 = self.config.stages[..self.position.stage].iter().map(|stage| stage.draws).sum();
        let within = self.position.draws - before;
        let rates = self.config.schedule(stage).at(within);
        let batch = feed.next_batch()?;
        self.position.counters = learner.counters();
        let learnt = learner.learn(feed, &batch, rates.learning_rate, rates.ema_momentum);
        if let Err(TrainError::Data(source)) = learnt {
            return Err(self.without_data(learner, source, observer)?);
        }
        let measured = learnt?.read()?;
        let step = within / self.config.recipe.batch as u64 + 1;
        if let Some((what, value)) = not_finite(&measured) {
            // The step left the learner's buffers alone; only its counter went on, and that is not saved.
            self.write_checkpoint(learner, false, observer)?;
            let draws = self.position.draws;
            let records = batch.records;
            return Err(TrainError::NotFinite { what, value, step, draws, records });
        }
        let line = Line::new(
            &stage.name,
            self.position.draws,
            step,
            [rates.learning_rate, rates.ema_momentum],
            &measured,
        );
        self.position.draws += self.config.recipe.batch as u64;
        let last = self.position.draws >= self.config.total();
        if (step - 1).is_multiple_of(self.config.log_every) || last {
            self.metrics.append(&line)?;
            self.events.add(&line)?;
        }
        self.watch.see(stage.objective.std_floor, &measured).iter().for_each(|alarm| observer.alarm(alarm));
        observer.step(&line, self.position.draws, self.config.total());
        Ok(())
    }

    /// Keeps the state before a step whose records could not be read, and says where it is.
    fn without_data(
        &mut self,
        learner: &dyn Learner,
        source: DataError,
        observer: &mut dyn Observer,
    ) -> Result<TrainError, TrainError> {
        self.write_checkpoint(learner, false, observer)?;
        let draws = self.position.draws;
        Ok(TrainError::DataLost { source, draws, checkpoint: self.folder.checkpoint(draws) })
    }

    /// Whether the draws so far have just completed one of the evenly spaced parts of the run.
    fn at_milestone(&self, batch: u64) -> bool {
        let part = |draws: u64| {
            u128::from(draws) * u128::from(self.conduct.milestones) / u128::from(self.config.total())
        };
        part(self.position.draws) > part(self.position.draws.saturating_sub(batch))
    }

    /// Writes a checkpoint and the model after a step.
    fn save(
        &mut self,
        learner: &dyn Learner,
        milestone: bool,
        observer: &mut dyn Observer,
    ) -> Result<(), TrainError> {
        self.position.counters = learner.counters();
        self.write_checkpoint(learner, milestone, observer)
    }

    fn write_checkpoint(
        &mut self,
        learner: &dyn Learner,
        milestone: bool,
        observer: &mut dyn Observer,
    ) -> Result<(), TrainError> {
        self.position.metrics_bytes = self.metrics.sync()?;
        let model = Deployed::of(learner, self.config, self.data, self.position.draws)?;
        if milestone && self.position.draws < self.config.total() {
            // Before its checkpoint: a run that resumes from there would not write it any more.
            self.keep_model(&model)?;
        }
        let position = Position { milestone, ..self.position.clone() };
        checkpoint::save(&self.folder.state(), learner, &position)?;
        model.write(&self.folder.model())?;
        if let Device::Cuda(cuda) = learner.device() {
            write_atomic(&self.folder.algorithms(), cuda.algorithms().as_bytes())?;
        }
        // Last: whatever becomes of older checkpoints, the newest has its model.
        for error in checkpoint::prune(&self.folder.state(), self.conduct.keep)? {
            let alarm =
                format!("{error}; this older checkpoint is passed over and stays, and training goes on");
            if self.said.insert(alarm.clone()) {
                observer.alarm(&alarm);
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

/// The first number of a step that is not finite.
fn not_finite(measured: &Measured) -> Option<(String, f64)> {
    let losses =
        measured.losses.iter().map(|(component, loss)| (format!("the loss {}", component.letter()), *loss));
    let norm = std::iter::once(("the gradient's norm".to_owned(), measured.norm));
    losses.chain(norm).find(|(_, value)| !value.is_finite())
}
