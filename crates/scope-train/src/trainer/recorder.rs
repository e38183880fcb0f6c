//! Steps that a GPU replays without being asked for each operation again: CUDA graphs.

use scope_data::schedule::Batch;
use scope_engine::{Cuda, Graph, StepScalars, Tensor};

use super::{DeviceReport, Trainer, gradients::Passes, input::Input};
use crate::{error::TrainError, examples::Examples, objective::Component, run::DataLoader, schedule::Rates};

/// Records the first step of each kind that a trainer takes in a stage, and replays it from then on.
#[derive(Debug)]
pub(super) struct Recorder {
    cuda: Cuda,
    recording: Option<Recording>,
}

/// Recorded steps. Batches are written over the one they were recorded with.
#[derive(Debug)]
struct Recording {
    input: Input,
    scalars: StepScalars,
    measuring: Option<Measuring>,
    together: Option<Together>,
}

/// A step that measures the cap, or one without anything to cap.
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
    report: DeviceReport,
}

impl Recorder {
    /// Will record on a GPU.
    pub(super) fn new(cuda: &Cuda) -> Self {
        Self { cuda: cuda.clone(), recording: None }
    }

    /// Forgets what was recorded.
    pub(super) fn forget(&mut self) {
        self.recording = None;
    }

    /// One step on a batch of a loader.
    pub(super) fn train_on_batch(
        &mut self,
        trainer: &mut Trainer,
        loader: &DataLoader<'_>,
        batch: &Batch,
        rates: Rates,
    ) -> Result<DeviceReport, TrainError> {
        let recording = match &mut self.recording {
            Some(recording) => {
                recording.input.change(loader, batch)?;
                recording
            }
            none => {
                none.insert(Recording::new(trainer, Input::new(loader, batch, trainer.device())?, rates)?)
            }
        };
        recording.step(trainer, &self.cuda, rates)
    }

    /// One step on examples that stay where they are.
    pub(super) fn repeat(
        &mut self,
        trainer: &mut Trainer,
        examples: &Examples,
        rates: Rates,
    ) -> Result<DeviceReport, TrainError> {
        let recording = match &mut self.recording {
            Some(recording) => recording,
            none => none.insert(Recording::new(trainer, Input::Given(examples.clone()), rates)?),
        };
        recording.step(trainer, &self.cuda, rates)
    }
}

impl Recording {
    /// Nothing is recorded yet but where steps find their batch.
    fn new(trainer: &Trainer, input: Input, rates: Rates) -> Result<Self, TrainError> {
        Ok(Self { input, scalars: trainer.scalars(rates)?, measuring: None, together: None })
    }

    /// One more step, recorded if it is the first of its kind. The report's numbers stay until the next one.
    fn step(&mut self, trainer: &mut Trainer, cuda: &Cuda, rates: Rates) -> Result<DeviceReport, TrainError> {
        let Rates { learning_rate, ema_momentum } = rates;
        let number = trainer.counters.steps + 1;
        self.scalars.change(&trainer.optimizer.adamw, number, learning_rate, ema_momentum)?;
        let report = if trainer.measures_cap() {
            let report = self.measure(trainer, cuda, rates)?;
            if trainer.cap_every > 1 {
                trainer.counters.alpha = report.measured_alpha()?.unwrap_or(1.0);
            }
            report
        } else {
            self.go_together(trainer, cuda, rates)?
        };
        trainer.counters.steps = number;
        Ok(DeviceReport { rates, alpha: trainer.counters.alpha, ..report })
    }

    /// Does a step once and records it, in the memory of what was recorded before.
    fn record(
        &self,
        cuda: &Cuda,
        mut step: impl FnMut() -> Result<DeviceReport, TrainError>,
    ) -> Result<(Replay, DeviceReport), TrainError> {
        // The work is done once before it is recorded; that step's numbers are in the first report.
        let mut reports = Vec::new();
        let work = || -> Result<DeviceReport, TrainError> {
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

    /// A step that measures the cap, or has none.
    fn measure(
        &mut self,
        trainer: &mut Trainer,
        cuda: &Cuda,
        rates: Rates,
    ) -> Result<DeviceReport, TrainError> {
        let Some(measuring) = &mut self.measuring else {
            let input = &self.input;
            let scalars = &self.scalars;
            let (long, done) = self
                .record(cuda, || trainer.step_on_device(&input.examples()?, scalars, rates, Passes::All))?;
            let mut short = None;
            if trainer.objective.has(Component::Variance) {
                let work =
                    || trainer.step_on_device(&input.examples()?, scalars, rates, Passes::AllButVariance);
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

    /// A step between two measurements of the cap.
    fn go_together(
        &mut self,
        trainer: &mut Trainer,
        cuda: &Cuda,
        rates: Rates,
    ) -> Result<DeviceReport, TrainError> {
        let components = trainer.objective.components();
        let numbers: Vec<f32> = components.map(|component| trainer.factor(component) as f32).collect();
        let Some(together) = &mut self.together else {
            let factor = |number: &f32| Tensor::from_slice(trainer.device(), &[1], &[*number]);
            let factors: Vec<Tensor> = numbers.iter().map(factor).collect::<Result<_, _>>()?;
            let input = &self.input;
            let scalars = &self.scalars;
            let passes = Passes::Together(&factors);
            let (replay, done) =
                self.record(cuda, || trainer.step_on_device(&input.examples()?, scalars, rates, passes))?;
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
