//! Steps that a card replays without being asked for each operation again.

use scope_data::schedule::Batch;
use scope_engine::{Cuda, Device, Graph, Pace, Selection, Table, Tensor};
use scope_model::Architecture;

use crate::{
    error::TrainError,
    examples::Examples,
    objective::{Component, Objective},
    run::{Counters, Deployable, Feed, Learner},
    step::{StepReport, Trainer},
};

/// A trainer on a card whose step is recorded when the first batch of a stage arrives, and replayed from then on.
#[derive(Debug)]
pub struct RecordedTrainer {
    /// The state of the stage; its steps are counted here too.
    pub trainer: Trainer,
    cuda: Cuda,
    recording: Option<StepRecording>,
}

/// A recorded step. Batches are written over the one it was recorded with.
///
/// A variance term that is exactly zero needs no backward pass. With one in the objective there are two graphs: the
/// short one leaves its backward pass out, and is void if the term turns out not to be zero; then the long one repeats
/// the step. So the result is always that of the long one.
#[derive(Debug)]
struct StepRecording {
    input: Input,
    pace: Pace,
    long: Replay,
    short: Option<Replay>,
    /// Whether the variance term was zero in the latest step.
    idle: bool,
}

/// A graph, and where its numbers are after each replay.
#[derive(Debug)]
struct Replay {
    graph: Graph,
    report: StepReport,
}

/// Where a recorded step finds its batch.
#[derive(Debug)]
enum Input {
    /// Copied to the card whole, for data that do not fit on it.
    Given(Examples),
    /// Gathered on the card from all records; part of the recorded work.
    Selected(Table, Selection),
}

impl Input {
    /// The batch, as the step takes it.
    fn examples(&self) -> Result<Examples, TrainError> {
        match self {
            Input::Given(examples) => Ok(examples.clone()),
            Input::Selected(table, selection) => Ok(Examples::from(table.gather(selection)?)),
        }
    }
}

impl RecordedTrainer {
    /// Will record on a card.
    pub fn new(cuda: &Cuda, trainer: Trainer) -> Self {
        Self { trainer, cuda: cuda.clone(), recording: None }
    }

    /// Takes a step on examples that stay where they are, for measuring.
    pub fn step_on(
        &mut self,
        examples: &Examples,
        rate: f64,
        momentum: f64,
    ) -> Result<StepReport, TrainError> {
        if self.recording.is_none() {
            return self.record(Input::Given(examples.clone()), rate, momentum);
        }
        self.replay(rate, momentum)
    }

    /// Takes one step and records it.
    fn record(&mut self, input: Input, rate: f64, momentum: f64) -> Result<StepReport, TrainError> {
        let trainer = &mut self.trainer;
        let device = trainer.params.device().clone();
        let pace = Pace::new(&device, &trainer.settings, trainer.steps + 1, rate, momentum)?;
        // The work is done once before it is recorded; that step's numbers are in the first report.
        let mut reports = Vec::new();
        let (graph, report) = Graph::record(&self.cuda, || -> Result<StepReport, TrainError> {
            let report = trainer.step_unread(&input.examples()?, &pace, true)?;
            reports.push(report.clone());
            Ok(report)
        })?;
        let long = Replay { graph, report };
        let mut short = None;
        if trainer.objective.has(Component::Variance) {
            let work = || trainer.step_unread(&input.examples()?, &pace, false);
            let (graph, report) = long.graph.record_beside(work)?;
            short = Some(Replay { graph, report });
        }
        trainer.steps += 1;
        let done = reports.swap_remove(0);
        self.recording = Some(StepRecording { input, pace, long, short, idle: false });
        Ok(done)
    }

    /// One more step. The report's numbers stay until the next one.
    fn replay(&mut self, rate: f64, momentum: f64) -> Result<StepReport, TrainError> {
        let missing = || TrainError::Request("no step was recorded".to_owned());
        let recording = self.recording.as_mut().ok_or_else(missing)?;
        self.trainer.steps += 1;
        recording.pace.change(&self.trainer.settings, self.trainer.steps, rate, momentum)?;
        if let Some(short) = recording.short.as_ref().filter(|_| recording.idle) {
            short.graph.replay()?;
            recording.idle = short.report.loss(Component::Variance)? == 0.0;
            if recording.idle {
                return Ok(short.report.clone());
            }
        }
        recording.long.graph.replay()?;
        if recording.short.is_some() {
            recording.idle = recording.long.report.loss(Component::Variance)? == 0.0;
        }
        Ok(recording.long.report.clone())
    }
}

impl Learner for RecordedTrainer {
    fn learn(
        &mut self,
        feed: &Feed<'_>,
        batch: &Batch,
        rate: f64,
        momentum: f64,
    ) -> Result<StepReport, TrainError> {
        // Between measurements of the cap its factor is a number of the host's: those steps are not recorded.
        if self.trainer.cap_every > 1 {
            return self.trainer.learn(feed, batch, rate, momentum);
        }
        let Some(recording) = &mut self.recording else {
            let input = match feed.table() {
                Some(table) => {
                    let mut selection = Selection::new(table, batch.records.len())?;
                    feed.select(batch, &mut selection)?;
                    Input::Selected(table.clone(), selection)
                }
                None => Input::Given(feed.examples(batch, self.trainer.params.device())?),
            };
            return self.record(input, rate, momentum);
        };
        match &mut recording.input {
            Input::Selected(_, selection) => feed.select(batch, selection)?,
            Input::Given(examples) => feed.overwrite(batch, examples)?,
        }
        self.replay(rate, momentum)
    }

    fn begin_stage(&mut self, objective: &Objective) -> Result<(), TrainError> {
        self.recording = None;
        self.trainer.begin_stage(objective)
    }

    fn device(&self) -> &Device {
        self.trainer.device()
    }

    fn buffers(&self) -> Vec<(&'static str, &Tensor)> {
        self.trainer.buffers()
    }

    fn counters(&self) -> Counters {
        self.trainer.counters()
    }

    fn restore(
        &mut self,
        buffers: &dyn Fn(&str) -> Option<Tensor>,
        counters: Counters,
    ) -> Result<(), TrainError> {
        self.recording = None;
        self.trainer.restore(buffers, counters)
    }

    fn deployable(&self, trained: &Architecture) -> Result<Deployable, TrainError> {
        self.trainer.deployable(trained)
    }
}
