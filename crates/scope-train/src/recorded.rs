//! Steps that a card replays without being asked for each operation again.

use scope_data::schedule::Batch;
use scope_engine::{Cuda, Device, Graph, StepScalars, Tensor};
use scope_model::Architecture;

use crate::{
    error::TrainError,
    examples::Examples,
    input::Input,
    objective::{Component, Objective},
    run::{Counters, Deployable, Feed, Learner},
    step::{Passes, StepReport, Trainer},
};

/// A trainer on a card whose steps are recorded when the first of their kind in a stage is taken, and replayed from then on.
#[derive(Debug)]
pub struct RecordedTrainer {
    /// The state of the stage; its steps are counted here too.
    pub trainer: Trainer,
    cuda: Cuda,
    recording: Option<StepRecording>,
}

/// Recorded steps. Batches are written over the one they were recorded with.
#[derive(Debug)]
struct StepRecording {
    input: Input,
    pace: StepScalars,
    measuring: Option<Measuring>,
    together: Option<Together>,
}

/// A step that measures the cap.
///
/// A variance term that is exactly zero needs no backward pass. With one in the objective there are two graphs: the
/// short one leaves its backward pass out, and is void if the term turns out not to be zero; then the long one repeats
/// the step. So the result is always that of the long one.
#[derive(Debug)]
struct Measuring {
    long: Replay,
    short: Option<Replay>,
    /// Whether the variance term was zero in the latest step.
    idle: bool,
}

/// A step between two measurements of the cap: one backward pass carries all components.
#[derive(Debug)]
struct Together {
    replay: Replay,
    /// What each component's loss is multiplied with.
    factors: Vec<Tensor>,
}

/// A graph, and where its numbers are after each replay.
#[derive(Debug)]
struct Replay {
    graph: Graph,
    report: StepReport,
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
            self.begin(Input::Given(examples.clone()), rate, momentum)?;
        }
        self.step(rate, momentum)
    }

    /// Nothing is recorded yet but where steps find their batch.
    fn begin(&mut self, input: Input, rate: f64, momentum: f64) -> Result<(), TrainError> {
        let trainer = &self.trainer;
        let pace =
            StepScalars::new(trainer.device(), &trainer.optimizer.adamw, trainer.steps + 1, rate, momentum)?;
        self.recording = Some(StepRecording { input, pace, measuring: None, together: None });
        Ok(())
    }

    /// One more step, recorded if it is the first of its kind. The report's numbers stay until the next one.
    fn step(&mut self, rate: f64, momentum: f64) -> Result<StepReport, TrainError> {
        let Self { trainer, cuda, recording } = self;
        let missing = || TrainError::Request("no step was recorded".to_owned());
        let recording = recording.as_mut().ok_or_else(missing)?;
        recording.pace.change(&trainer.optimizer.adamw, trainer.steps + 1, rate, momentum)?;
        let report = if trainer.measures_cap() {
            let report = recording.measure(trainer, cuda)?;
            if trainer.cap_every > 1 {
                trainer.alpha = report.measured_alpha()?.unwrap_or(1.0);
            }
            report
        } else {
            recording.go_together(trainer, cuda)?.with_alpha(trainer.alpha)
        };
        trainer.steps += 1;
        Ok(report)
    }
}

impl StepRecording {
    /// Does a step once and records it, in the memory of what was recorded before.
    fn record(
        &self,
        cuda: &Cuda,
        mut step: impl FnMut() -> Result<StepReport, TrainError>,
    ) -> Result<(Replay, StepReport), TrainError> {
        // The work is done once before it is recorded; that step's numbers are in the first report.
        let mut reports = Vec::new();
        let work = || -> Result<StepReport, TrainError> {
            let report = step()?;
            reports.push(report.clone());
            Ok(report)
        };
        let before = self.measuring.as_ref().map(|measuring| &measuring.long);
        let before = before.or(self.together.as_ref().map(|together| &together.replay));
        let (graph, report) = match before {
            Some(before) => before.graph.record_after(work)?,
            None => Graph::record(cuda, work)?,
        };
        Ok((Replay { graph, report }, reports.swap_remove(0)))
    }

    fn measure(&mut self, trainer: &mut Trainer, cuda: &Cuda) -> Result<StepReport, TrainError> {
        let Some(measuring) = &mut self.measuring else {
            let (input, pace) = (&self.input, &self.pace);
            let (long, done) =
                self.record(cuda, || trainer.step_unread(&input.examples()?, pace, Passes::All))?;
            let mut short = None;
            if trainer.objective.has(Component::Variance) {
                let work = || trainer.step_unread(&input.examples()?, pace, Passes::AllButVariance);
                let (graph, report) = long.graph.record_beside(work)?;
                short = Some(Replay { graph, report });
            }
            self.measuring = Some(Measuring { long, short, idle: false });
            return Ok(done);
        };
        let Measuring { long, short, idle } = measuring;
        if let Some(short) = short.as_ref().filter(|_| *idle) {
            short.graph.replay()?;
            *idle = short.report.loss(Component::Variance)? == 0.0;
            if *idle {
                return Ok(short.report.clone());
            }
        }
        long.graph.replay()?;
        if short.is_some() {
            *idle = long.report.loss(Component::Variance)? == 0.0;
        }
        Ok(long.report.clone())
    }

    fn go_together(&mut self, trainer: &mut Trainer, cuda: &Cuda) -> Result<StepReport, TrainError> {
        let components = trainer.objective.components();
        let numbers: Vec<f32> = components.map(|component| trainer.factor(component) as f32).collect();
        let Some(together) = &mut self.together else {
            let factor = |number: &f32| Tensor::from_slice(trainer.params.device(), &[1], &[*number]);
            let factors: Vec<Tensor> = numbers.iter().map(factor).collect::<Result<_, _>>()?;
            let (input, pace) = (&self.input, &self.pace);
            let (replay, done) = self
                .record(cuda, || trainer.step_unread(&input.examples()?, pace, Passes::Together(&factors)))?;
            self.together = Some(Together { replay, factors });
            return Ok(done);
        };
        for (factor, number) in together.factors.iter_mut().zip(&numbers) {
            factor.overwrite(&[*number])?;
        }
        together.replay.graph.replay()?;
        Ok(together.replay.report.clone())
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
        match &mut self.recording {
            Some(recording) => recording.input.change(feed, batch)?,
            None => self.begin(Input::new(feed, batch, self.device())?, rate, momentum)?,
        }
        self.step(rate, momentum)
    }

    fn begin_stage(&mut self, objective: &Objective) -> Result<(), TrainError> {
        self.recording = None;
        self.trainer.begin_stage(objective)
    }

    fn set_fit_normaliser(&mut self, divisors: &[f32]) -> Result<(), TrainError> {
        self.recording = None;
        self.trainer.set_fit_normaliser(divisors)
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
