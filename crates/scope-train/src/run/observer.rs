//! Who watches a run, and may ask it to stop.

use super::metrics::Line;

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
