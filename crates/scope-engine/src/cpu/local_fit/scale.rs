//! One scale of the fits: how far it reaches, and what a sensor at a distance counts for.

use std::borrow::Cow;

use crate::ops::{FitSizes, LocalFit, fit_factors};

/// What one scale needs to know.
pub(super) struct Scale {
    scale: f64,
    axes: [Axis; 2],
}

/// The reach of a scale along one axis.
struct Axis {
    length: usize,
    periodic: bool,
    /// How many pixels it reaches from a pixel.
    reach: usize,
    /// See [`LocalFit::limits`].
    limits: [f64; 2],
    /// W_k(q - p) of a sensor on pixel q, for p = q - reach to q + reach.
    table: Powers,
}

/// W_k at several places, for k = 0 to 4.
type Powers = [Vec<f64>; 5];

/// W_k(q - p) of one sensor along an axis, for the pixels p from the first on; some of them may lie beyond the ends.
pub(super) struct Window<'a> {
    pub(super) first: i64,
    pub(super) weights: Cow<'a, Powers>,
}

impl Scale {
    pub(super) fn new(fit: &LocalFit, scale: f64, sizes: FitSizes) -> Self {
        let axis = |axis: usize, length: usize| {
            let (reach, limits) = (fit.reach(scale, axis, length), fit.limits(scale, axis, length));
            let table = powers((0..=2 * reach).map(|at| (reach as f64 - at as f64) / scale));
            Axis { length, periodic: fit.periodic[axis], reach, limits, table }
        };
        Self { scale, axes: [axis(0, sizes.height), axis(1, sizes.width)] }
    }

    /// The pixels along axis 1 that a sensor at column q counts for.
    pub(super) fn window(&self, q: f64) -> Window<'_> {
        let axis = &self.axes[1];
        if q.fract() == 0.0 {
            return Window { first: q as i64 - axis.reach as i64, weights: Cow::Borrowed(&axis.table) };
        }
        let [far, half] = axis.limits;
        let (mut first, mut last) = ((q - far).ceil(), (q + far).floor());
        if axis.periodic {
            (first, last) = (first.max((q - half).floor() + 1.0), last.min((q + half).ceil() - 1.0));
        } else {
            (first, last) = (first.max(0.0), last.min(axis.length as f64 - 1.0));
        }
        let (first, last) = (first as i64, last as i64);
        let weights = powers((first..=last).map(|p| (q - p as f64) / self.scale));
        Window { first, weights: Cow::Owned(weights) }
    }

    /// How far columns, or lines, are from where they come in at the other end.
    pub(super) fn shifts(&self, axis: usize) -> impl Iterator<Item = i64> + use<> {
        let Axis { length, periodic, .. } = self.axes[axis];
        (-1..=1).filter(move |turn| periodic || *turn == 0).map(move |turn| turn * length as i64)
    }

    /// W_k(q - p) along axis 0 of a line of sensors at q for the line p of pixels, if it reaches that far.
    pub(super) fn line_weights(&self, q: f64, p: usize) -> Option<[f64; 5]> {
        let (axis, apart) = (&self.axes[0], q - p as f64);
        if apart.abs() > axis.limits[0] || apart.abs() >= axis.limits[1] {
            return None;
        }
        if apart.fract() != 0.0 {
            return Some(fit_factors(apart / self.scale));
        }
        let at = (axis.reach as i64 - apart as i64) as usize;
        Some(std::array::from_fn(|power| axis.table[power][at]))
    }
}

/// W_k of several distances, in scales.
fn powers(distances: impl Iterator<Item = f64>) -> Powers {
    let mut powers = Powers::default();
    for t in distances {
        powers.iter_mut().zip(fit_factors(t)).for_each(|(power, factor)| power.push(factor));
    }
    powers
}
