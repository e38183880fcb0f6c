//! The two errors that tables compare methods by.

use scope_data::observation::{Condition, Task};
use scope_model::Measure;
use scope_pde::Pde;

use crate::protocol::Protocol;

/// Which error is a task's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// u from a.
    Forward,
    /// a from u.
    Inverse,
}

impl Endpoint {
    /// Both.
    pub const ALL: [Self; 2] = [Endpoint::Forward, Endpoint::Inverse];

    /// The task.
    pub fn task(self) -> Task {
        match self {
            Endpoint::Forward => Task::Forward,
            Endpoint::Inverse => Task::Inverse,
        }
    }

    /// The measure of its error: Darcy's inverse is a classification.
    pub fn measure(self, pde: Pde) -> Measure {
        match self {
            Endpoint::Forward => Measure::U,
            Endpoint::Inverse if pde == Pde::Darcy => Measure::BitErrorRate,
            Endpoint::Inverse => Measure::A,
        }
    }

    /// The condition that tables compare at: 500 uniform points.
    pub fn condition(self, pde: Pde) -> Option<Condition> {
        Protocol::Uniform500.condition(pde, self.task())
    }
}
