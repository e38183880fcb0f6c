//! What a run calls after each step, and asks whether to stop.

use super::metrics::MetricsLine;

/// What a run calls on its way.
pub trait Callback {
    /// A step is done; `total` draws are to be taken.
    fn on_step(&mut self, line: &MetricsLine, draws: u64, total: u64);
    /// Something looks wrong, though the run goes on.
    fn on_warning(&mut self, text: &str);
    /// Whether the run is to stop after the current step.
    fn should_stop(&self) -> bool;
}

/// Nothing is told, and nobody asks to stop.
impl Callback for () {
    fn on_step(&mut self, _: &MetricsLine, _: u64, _: u64) {}
    fn on_warning(&mut self, _: &str) {}
    fn should_stop(&self) -> bool {
        false
    }
}
