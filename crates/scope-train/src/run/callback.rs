//! What a run calls after each step, and asks whether to stop.

use super::metrics::MetricsLine;

/// What a run calls on its way. What is not implemented does nothing, and stops nothing.
pub trait Callback {
    /// A step is done; `total` draws are to be taken.
    fn on_step(&mut self, _line: &MetricsLine, _draws: u64, _total: u64) {}
    /// Something looks wrong, though the run goes on.
    fn on_warning(&mut self, _text: &str) {}
    /// Whether the run is to stop after the current step.
    fn should_stop(&self) -> bool {
        false
    }
}

impl Callback for () {}
