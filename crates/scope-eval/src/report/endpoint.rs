//! The two errors that tables compare methods by.

use scope_data::observation::{Condition, Task};
use scope_model::Measure;
use scope_pde::{Pde, descriptor::FieldKind};

use crate::protocol::Protocol;

/// Which error is a task's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The error of u recovered from a.
    Forward,
    /// The error of a recovered from u.
    Inverse,
}

impl Endpoint {
    /// The two endpoints.
    pub(crate) const ALL: [Self; 2] = [Endpoint::Forward, Endpoint::Inverse];

    /// The task that it is an error of.
    pub fn task(self) -> Task {
        match self {
            Endpoint::Forward => Task::Forward,
            Endpoint::Inverse => Task::Inverse,
        }
    }

    /// The measure of its error: the inverse of a two-valued field is a classification, and a problem of one field has
    /// that one's.
    pub fn measure(self, pde: Pde) -> Measure {
        let fields = pde.descriptor().fields;
        match self {
            Endpoint::Forward if fields.u.is_present() => Measure::U,
            Endpoint::Forward => Measure::A,
            Endpoint::Inverse => match fields.a.kind {
                FieldKind::TwoValued { .. } => Measure::BitErrorRate,
                FieldKind::Continuous => Measure::A,
                FieldKind::Absent => Measure::U,
            },
        }
    }

    /// Whether its error is a bit error rate.
    pub(super) fn is_classification(self, pde: Pde) -> bool {
        self.measure(pde) == Measure::BitErrorRate
    }

    /// What stands behind a problem's name where its error is another than that of the hidden field.
    pub(super) fn mark(self, pde: Pde) -> &'static str {
        match (self, self.measure(pde)) {
            (_, Measure::BitErrorRate) => " (BER)",
            (Endpoint::Forward, Measure::A) => " (a)",
            (Endpoint::Inverse, Measure::U) => " (u)",
            _ => "",
        }
    }

    /// The condition that tables compare at: 500 uniform points.
    pub fn condition(self, pde: Pde) -> Option<Condition> {
        Protocol::Uniform500.condition(pde, self.task())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_another_field_is_marked() {
        let one: Pde = serde_json::from_str(
            r#"{"name": "marked-lake", "fields": {"u": {"name": "level"}}, "grid": {"rows": 32, "columns": 40}}"#,
        )
        .unwrap();
        assert_eq!(Endpoint::ALL.map(|endpoint| endpoint.mark(one)), ["", " (u)"]);
        assert_eq!(Endpoint::ALL.map(|endpoint| endpoint.mark(Pde::DARCY)), ["", " (BER)"]);
        assert_eq!(Endpoint::ALL.map(|endpoint| endpoint.mark(Pde::POISSON)), ["", ""]);
    }
}
