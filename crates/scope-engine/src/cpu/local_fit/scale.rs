//! One scale of the fits: what a sensor counts for at the points of an axis.

use std::borrow::Cow;

use crate::ops::{FitSizes, LocalFit, POWERS, fit_factors};

/// What one scale needs to know along each axis.
pub(super) struct Scale {
    axes: [Axis; 2],
}

/// A scale along one axis.
struct Axis {
    scale: f64,
    length: usize,
    periodic: bool,
    /// See [`LocalFit::limits`].
    limits: [f64; 2],
    /// Where the points are.
    places: Vec<f64>,
    /// Numbers from one power to the next.
    stride: usize,
    /// The weights of sensors on pixels, one after the other.
    on_pixels: Vec<f64>,
}

impl Scale {
    /// `stride` numbers lie from one power to the next: at least one for each point of axis 1.
    pub(super) fn new(fit: &LocalFit, scale: f64, sizes: FitSizes, stride: usize) -> Self {
        let axis = |axis: usize, length: usize, stride: usize| {
            let (limits, periodic) = (fit.limits(scale, axis, length), fit.periodic[axis]);
            let places = (0..length / fit.stride).map(|point| fit.place(point)).collect();
            let mut axis = Axis { scale, length, periodic, limits, places, stride, on_pixels: Vec::new() };
            axis.on_pixels = (0..length).flat_map(|q| axis.compute(q as f64)).collect();
            axis
        };
        let rows = sizes.points(fit.stride)[0];
        Self { axes: [axis(0, sizes.height, rows), axis(1, sizes.width, stride)] }
    }

    /// W_k(q - p) of a sensor at q for the points p of an axis, \[9, stride\]: zero where it is out of reach.
    pub(super) fn weights(&self, axis: usize, q: f64) -> Cow<'_, [f64]> {
        let axis = &self.axes[axis];
        if q.fract() == 0.0 {
            let each = POWERS * axis.stride;
            return Cow::Borrowed(&axis.on_pixels[q as usize * each..][..each]);
        }
        Cow::Owned(axis.compute(q))
    }

    /// Numbers from one power to the next of an axis's weights.
    pub(super) fn stride(&self, axis: usize) -> usize {
        self.axes[axis].stride
    }
}

impl Axis {
    fn compute(&self, q: f64) -> Vec<f64> {
        let mut weights = vec![0.0; POWERS * self.stride];
        let [far, half] = self.limits;
        for turn in (-1..=1).filter(|turn| self.periodic || *turn == 0) {
            let q = q + (turn * self.length as i64) as f64;
            for (point, place) in self.places.iter().enumerate() {
                let apart = q - place;
                if apart.abs() <= far && apart.abs() < half {
                    let factors = fit_factors(apart / self.scale);
                    factors.iter().enumerate().for_each(|(k, w)| weights[k * self.stride + point] = *w);
                }
            }
        }
        weights
    }
}
