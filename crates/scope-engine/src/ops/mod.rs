//! Operations: one a file, with its formula, its shapes, its gradient and the kernels it calls.

mod absolute;
mod activate;
pub(crate) mod add;
mod attention;
mod batch_norm;
mod channels;
mod choose;
mod concat;
mod conv3x3;
mod crop_or_pad;
mod distance;
mod expansion;
mod fit_points;
mod layer_norm;
mod linear;
mod linear_heads;
mod local_fit;
mod map_axis;
mod mean_square;
mod mix_modes;
mod patchify;
mod per_channel;
mod pixels;
mod pool_odd_channels;
mod project;
mod sliced;
mod slices;
mod spread;
mod strided;
mod unpatchify;

pub use activate::Activation;
pub use batch_norm::{BatchNorm, BatchStatistics};
pub(crate) use conv3x3::{ConvRecord, Window};
pub use fit_points::FitPoint;
pub(crate) use layer_norm::EPSILON as NORM_EPSILON;
pub use layer_norm::Norm;
pub(crate) use linear::LinearRecord;
pub use linear::{Epilogue, Linear};
pub(crate) use linear_heads::HeadsRecord;
pub(crate) use local_fit::{
    BASIS, BASIS_FACTORS, CLAMP, EDGE_WEIGHT, FitSizes, LEAST_PIVOT, MOST_FIELDS, POWERS,
    factors as fit_factors,
};
pub use local_fit::{BasisFunction, LocalFit};
pub use map_axis::AxisMap;
pub(crate) use map_axis::Matrix;
pub(crate) use mix_modes::Mixing;
pub(crate) use patchify::Patches;
pub use sliced::Sliced;
pub(crate) use slices::{SLICE_EPSILON, Slices, TEMPERATURES};
pub use spread::SpreadOfAll;
pub(crate) use strided::Windows;

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
