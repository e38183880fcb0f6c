//! What a field of a pair is.

use super::extent::with_unit;

/// One of the two fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// What it is, in the singular and without an article: "pressure".
    pub name: &'static str,
    /// The unit of its values, if they have one.
    pub unit: &'static str,
    /// Which values it takes.
    pub kind: FieldKind,
    /// The value on the outermost grid points, in physical units, where a boundary condition fixes it there.
    pub edge: Option<f64>,
    /// The least value that it can have, in physical units, where it cannot have any.
    pub minimum: Option<f64>,
    /// The values of all but a few records, where the others are worth a note of `data check`.
    pub ordinary: Option<[f64; 2]>,
}

/// Which values a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldKind {
    /// Any values, which vary smoothly enough to be interpolated.
    Continuous,
    /// One of two values at every point. Between pixels the field is what it is on the nearest one, and a recovery of a
    /// is scored by its bit error rate too.
    TwoValued {
        /// The lower value.
        low: f64,
        /// The upper value.
        high: f64,
    },
    /// The problem has one field only, and this is not it: stored values are zero, and nothing measures, recovers or
    /// scores it.
    Absent,
}

impl Field {
    /// No field, in a problem that has one only.
    pub const ABSENT: Field = Field { kind: FieldKind::Absent, ..Field::continuous("none") };

    /// A continuous field of which nothing else is known.
    pub const fn continuous(name: &'static str) -> Self {
        Self { name, unit: "", kind: FieldKind::Continuous, edge: None, minimum: None, ordinary: None }
    }

    /// Whether there is such a field.
    pub fn is_present(&self) -> bool {
        self.kind != FieldKind::Absent
    }

    /// Whether it takes one of two values at every point.
    pub fn is_two_valued(&self) -> bool {
        matches!(self.kind, FieldKind::TwoValued { .. })
    }

    /// What it is called, with its unit.
    pub fn label(&self) -> String {
        with_unit(self.name, self.unit)
    }

    /// The value that parts the two of a two-valued field.
    pub fn threshold(&self) -> Option<f64> {
        match self.kind {
            FieldKind::Continuous | FieldKind::Absent => None,
            FieldKind::TwoValued { low, high } => Some(0.5 * (low + high)),
        }
    }
}
