//! What a field of a pair is.

/// One of the two fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// What it is, in the singular and without an article: "pressure".
    pub name: &'static str,
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
    /// One of two values at every point. Between pixels the field is what it is on the nearest one, and a recovery of a is
    /// scored by its bit error rate too.
    TwoValued {
        /// The lower value.
        low: f64,
        /// The upper value.
        high: f64,
    },
}

impl Field {
    /// A continuous field of which nothing else is known.
    pub const fn continuous(name: &'static str) -> Self {
        Self { name, kind: FieldKind::Continuous, edge: None, minimum: None, ordinary: None }
    }

    /// The value that parts the two of a two-valued field.
    pub fn threshold(&self) -> Option<f64> {
        match self.kind {
            FieldKind::Continuous => None,
            FieldKind::TwoValued { low, high } => Some(0.5 * (low + high)),
        }
    }
}
