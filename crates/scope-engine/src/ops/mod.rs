//! Operations: one a file, with its formula, its shapes, its gradient and its dispatch to a device.

pub(crate) mod add;
mod attention;
mod channels;
mod conv3x3;
mod distance;
mod layer_norm;
mod linear;
mod mean_square;
mod patches;
mod spread;
mod tiles;
mod visibility;

pub(crate) use conv3x3::{ConvRecord, Window};
pub(crate) use layer_norm::EPSILON as NORM_EPSILON;
pub use layer_norm::Norm;
pub(crate) use linear::LinearRecord;
pub use linear::{Epilogue, Linear};
pub(crate) use patches::Patches;

/// Splits a shape into all but its last axis, multiplied, and its last axis.
fn rows_of(shape: &[usize]) -> (usize, usize) {
    match shape.split_last() {
        Some((last, rest)) => (rest.iter().product(), *last),
        None => (1, 1),
    }
}

/// A shape with another last axis.
fn with_last(shape: &[usize], last: usize) -> Vec<usize> {
    let mut out = shape.to_vec();
    if let Some(end) = out.last_mut() {
        *end = last;
    }
    out
}
