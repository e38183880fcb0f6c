//! A pair of fields in physical units.

/// Both fields, \[S, S\] each, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// The input field.
    pub a: Vec<f64>,
    /// The response field.
    pub u: Vec<f64>,
}
