//! Steps that a card replays without being asked for each operation again.

use scope_engine::{Cuda, Graph, Pace};

use crate::{
    error::TrainError,
    examples::Examples,
    objective::Component,
    step::{StepReport, Trainer},
};

/// A recorded step, and where its numbers are after each replay.
#[derive(Debug)]
struct Recording {
    graph: Graph,
    report: StepReport,
}

/// A trainer on a card whose step is recorded. Batches are written over the one it was recorded with.
///
/// A variance term that is exactly zero needs no backward pass. With one in the objective there are two recordings:
/// the short one leaves its backward pass out, and is void if the term turns out not to be zero; then the long one
/// repeats the step. So the result is always that of the long one.
#[derive(Debug)]
pub struct RecordedTrainer {
    /// The state of the stage; its steps are counted here too.
    pub trainer: Trainer,
    examples: Examples,
    pace: Pace,
    long: Recording,
    short: Option<Recording>,
    /// Whether the variance term was zero in the latest step.
    idle: bool,
}

impl RecordedTrainer {
    /// Takes one step and records it.
    pub fn new(
        cuda: &Cuda,
        mut trainer: Trainer,
        examples: Examples,
        rate: f64,
        momentum: f64,
    ) -> Result<Self, TrainError> {
        let device = trainer.params.device().clone();
        let pace = Pace::new(&device, &trainer.settings, trainer.steps + 1, rate, momentum)?;
        let (graph, report) = Graph::record(cuda, || trainer.step_unread(&examples, &pace, true))?;
        let long = Recording { graph, report };
        let mut short = None;
        if trainer.objective.has(Component::Variance) {
            let work = || trainer.step_unread(&examples, &pace, false);
            let (graph, report) = long.graph.record_beside(work)?;
            short = Some(Recording { graph, report });
        }
        trainer.steps += 1;
        Ok(Self { trainer, examples, pace, long, short, idle: false })
    }

    /// The batch of the next step, to be overwritten.
    pub fn examples(&mut self) -> &mut Examples {
        &mut self.examples
    }

    /// One step. The report's numbers are those of the latest step.
    pub fn step(&mut self, rate: f64, momentum: f64) -> Result<&StepReport, TrainError> {
        self.trainer.steps += 1;
        self.pace.change(&self.trainer.settings, self.trainer.steps, rate, momentum)?;
        let Some(short) = &self.short else {
            self.long.graph.replay()?;
            return Ok(&self.long.report);
        };
        if self.idle {
            short.graph.replay()?;
            self.idle = short.report.loss(Component::Variance)? == 0.0;
            if self.idle {
                return Ok(&short.report);
            }
        }
        self.long.graph.replay()?;
        self.idle = self.long.report.loss(Component::Variance)? == 0.0;
        Ok(&self.long.report)
    }
}
