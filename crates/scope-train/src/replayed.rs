//! Steps with one loss that a card replays without being asked for each operation again.

use scope_data::schedule::Batch;
use scope_engine::{AdamW, Cuda, Device, Graph, StepScalars, Tensor};
use scope_model::Architecture;

use crate::{
    error::TrainError,
    examples::Examples,
    input::Input,
    objective::Objective,
    run::{Counters, Deployable, Feed, Learner},
    step::StepReport,
};

/// A learner whose every step is the same work on another batch.
pub trait OneLoss: Learner {
    /// The settings of AdamW, which a step's pace depends on.
    fn settings(&self) -> &AdamW;

    /// A step that is not counted, with a learning rate that may change after it was recorded.
    fn step_at(&mut self, examples: &Examples, pace: &StepScalars) -> Result<StepReport, TrainError>;

    /// The number of steps taken, to be counted on.
    fn steps_mut(&mut self) -> &mut u64;
}

/// A learner on a card: its first step is recorded, the others are replays of it.
#[derive(Debug)]
pub struct Replayed<T> {
    /// The state; its steps are counted here too.
    pub trainer: T,
    cuda: Cuda,
    recording: Option<Recording>,
}

#[derive(Debug)]
struct Recording {
    input: Input,
    pace: StepScalars,
    graph: Graph,
    /// Where its numbers are after each replay.
    report: StepReport,
}

impl<T: OneLoss> Replayed<T> {
    /// Will record on a card.
    pub fn new(cuda: &Cuda, trainer: T) -> Self {
        Self { trainer, cuda: cuda.clone(), recording: None }
    }

    /// Takes a step on examples that stay where they are, for measuring.
    pub fn step_on(&mut self, examples: &Examples, rate: f64) -> Result<StepReport, TrainError> {
        match self.recording {
            Some(_) => self.replay(rate),
            None => self.record(Input::Given(examples.clone()), rate),
        }
    }

    /// The first step, which is recorded as well.
    fn record(&mut self, input: Input, rate: f64) -> Result<StepReport, TrainError> {
        let Self { trainer, cuda, recording } = self;
        let next = *trainer.steps_mut() + 1;
        let pace = StepScalars::new(trainer.device(), trainer.settings(), next, rate, 1.0)?;
        // The work is done once before it is recorded; that step's numbers are in the first report.
        let mut done = None;
        let work = || -> Result<StepReport, TrainError> {
            let report = trainer.step_at(&input.examples()?, &pace)?;
            done.get_or_insert_with(|| report.clone());
            Ok(report)
        };
        let (graph, report) = Graph::record(cuda, work)?;
        *trainer.steps_mut() = next;
        let done = done.unwrap_or_else(|| report.clone());
        *recording = Some(Recording { input, pace, graph, report });
        Ok(done)
    }

    /// One more step. The report's numbers stay until the next one.
    fn replay(&mut self, rate: f64) -> Result<StepReport, TrainError> {
        let missing = || TrainError::Request("no step was recorded".to_owned());
        let Recording { pace, graph, report, .. } = self.recording.as_mut().ok_or_else(missing)?;
        let next = *self.trainer.steps_mut() + 1;
        pace.change(self.trainer.settings(), next, rate, 1.0)?;
        graph.replay()?;
        *self.trainer.steps_mut() = next;
        Ok(report.clone())
    }
}

impl<T: OneLoss> Learner for Replayed<T> {
    fn learn(&mut self, feed: &Feed<'_>, batch: &Batch, rate: f64, _: f64) -> Result<StepReport, TrainError> {
        match &mut self.recording {
            Some(recording) => {
                recording.input.change(feed, batch)?;
                self.replay(rate)
            }
            None => self.record(Input::new(feed, batch, self.device())?, rate),
        }
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
