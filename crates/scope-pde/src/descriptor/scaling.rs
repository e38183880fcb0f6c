//! How the equation of a problem changes with the units of its fields.

use crate::channel::PerChannel;

/// Scales that turn a dimensional problem into the solver's: x = L x', a = A a', u = U u', with x', a' and u' on the
/// unit square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// L: the side of the square.
    pub length: f64,
    /// A and U: the scales of the values of a and u.
    pub values: PerChannel<f64>,
    /// C: what stands before the operator of a linear equation.
    pub coefficient: f64,
}

/// What an equation makes of other scales.
#[derive(Clone, Copy, Debug)]
pub struct ScalingLaw {
    /// What ties the scales of the values to each other.
    pub amplitudes: Amplitudes,
    /// Whether the equation is the same when a constant is added to u, so that u may have any value on the edge.
    pub free_edge_value: bool,
    /// The equation that fields have in the user's units, for the user to compare with the own one; u has the given
    /// value on the edge.
    pub equation: fn(&Scale, f64) -> String,
}

/// What ties the scales A and U of the values of a and u to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amplitudes {
    /// C D u = a with a linear operator D of second order: a multiple of a solution is one, and A = C U / L^2.
    Linear,
    /// Both are the same kind of value at two times: A = U, above zero.
    Equal,
    /// Neither follows from the other, and both are above zero.
    Independent,
}

/// A number with the digits that people compare.
pub(crate) fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
