//! How far a recovery has come, and whether it is to be stopped.

use scope_data::DataError;
use scope_exact::Step;

use crate::terminal::{Interrupt, Progress};

/// Shows progress and listens for a request to stop.
pub(super) struct Watch {
    progress: Progress,
    interrupt: Interrupt,
    /// What a problem counts for: the fresh records that its bands are measured on, which take nearly all of the time,
    /// or itself alone.
    each: usize,
}

impl Watch {
    /// Shows the progress of so many problems, with bands measured on so many fresh records each, if they are.
    pub(super) fn begin(problems: usize, calibrate: Option<usize>) -> anyhow::Result<Self> {
        let label = if calibrate.is_some() { "measuring error bands" } else { "recovering" };
        let each = calibrate.unwrap_or(1);
        Ok(Self { progress: Progress::new(label, problems * each), interrupt: Interrupt::listen()?, each })
    }

    /// Tells how many problems are done, and how many fresh records of the next; returns whether to go on.
    pub(super) fn at(&self, problems: usize, records: usize) -> bool {
        self.progress.at(problems * self.each + records);
        !self.interrupt.requested()
    }

    /// Tells how far the exact posterior of a problem has come; returns whether to go on.
    pub(super) fn during(&self, step: Step) -> bool {
        self.progress.note(&format!("{}, {}%", step.stage, 100 * step.done / step.of.max(1)));
        !self.interrupt.requested()
    }

    /// Refuses to go on where the user wants to stop.
    pub(super) fn require_no_interrupt(&self) -> Result<(), DataError> {
        if self.interrupt.requested() { Err(DataError::Interrupted) } else { Ok(()) }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.progress.finish();
    }
}
