//! One scale of the fits: what a sensor counts for at the points of an axis.

use std::{borrow::Cow, collections::HashMap};

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
            let limits = fit.limits(scale, axis, length);
            let periodic = fit.periodic[axis];
            let places = (0..length / fit.stride).map(|point| fit.place(point)).collect();
            let mut axis = Axis { scale, length, periodic, limits, places, stride, on_pixels: Vec::new() };
            axis.on_pixels = axis.pixels();
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
    /// The weights of a sensor at q, as [`Scale::weights`] tells them.
    fn compute(&self, q: f64) -> Vec<f64> {
        let mut weights = vec![0.0; POWERS * self.stride];
        self.fill(q, &mut weights, |apart| fit_factors(apart / self.scale));
        weights
    }

    /// The weights of all pixels. Few distances occur, many times each.
    fn pixels(&self) -> Vec<f64> {
        let mut known: HashMap<u64, [f64; POWERS]> = HashMap::new();
        let mut weights = vec![0.0; self.length * POWERS * self.stride];
        for (q, weights) in weights.chunks_mut((POWERS * self.stride).max(1)).enumerate() {
            self.fill(q as f64, weights, |apart| {
                *known.entry(apart.to_bits()).or_insert_with(|| fit_factors(apart / self.scale))
            });
        }
        weights
    }

    /// Writes the factors of the distances from q to the points within its reach.
    fn fill(&self, q: f64, weights: &mut [f64], mut factors: impl FnMut(f64) -> [f64; POWERS]) {
        let [far, half] = self.limits;
        for turn in (-1..=1).filter(|turn| self.periodic || *turn == 0) {
            let q = q + (turn * self.length as i64) as f64;
            for (point, place) in self.places.iter().enumerate() {
                let apart = q - place;
                if apart.abs() <= far && apart.abs() < half {
                    let factors = factors(apart);
                    factors.iter().enumerate().for_each(|(k, w)| weights[k * self.stride + point] = *w);
                }
            }
        }
    }
}
