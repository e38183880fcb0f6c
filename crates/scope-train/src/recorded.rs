//! Steps that a card replays without being asked for each operation again.

use scope_engine::{Cuda, Graph, Pace};

use crate::{
    error::TrainError,
    examples::Examples,
    step::{StepReport, Trainer},
};

/// A trainer on a card whose step is recorded. Batches are written over the one it was recorded with.
#[derive(Debug)]
pub struct RecordedTrainer {
    /// The state of the stage; its steps are counted here too.
    pub trainer: Trainer,
    examples: Examples,
    pace: Pace,
    graph: Graph,
    report: StepReport,
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
        trainer.steps += 1;
        let device = trainer.params.device().clone();
        let pace = Pace::new(&device, &trainer.settings, trainer.steps, rate, momentum)?;
        let (graph, report) = Graph::record(cuda, || trainer.step_at(&examples, &pace))?;
        Ok(Self { trainer, examples, pace, graph, report })
    }

    /// The batch of the next step.
    pub fn examples(&mut self) -> &mut Examples {
        &mut self.examples
    }

    /// One step. The report's numbers are those of the latest step.
    pub fn step(&mut self, rate: f64, momentum: f64) -> Result<&StepReport, TrainError> {
        self.trainer.steps += 1;
        self.pace.change(&self.trainer.settings, self.trainer.steps, rate, momentum)?;
        self.graph.replay()?;
        Ok(&self.report)
    }
}
