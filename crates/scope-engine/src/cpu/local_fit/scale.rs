//! One scale of the fits: what a sensor counts for at the points around it.

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
    /// The windows of sensors on pixels.
    on_pixels: Vec<Window>,
}

/// The points that a sensor counts for along an axis; where the ends meet there may be two runs of them.
pub(super) type Window = Vec<Run>;

/// Neighbouring points, and W_k(q - p) of one sensor at each, for k = 0 to 8.
#[derive(Clone)]
pub(super) struct Run {
    pub(super) first: usize,
    pub(super) weights: [Vec<f64>; POWERS],
}

impl Scale {
    pub(super) fn new(fit: &LocalFit, scale: f64, sizes: FitSizes) -> Self {
        let axis = |axis: usize, length: usize| {
            let (limits, periodic) = (fit.limits(scale, axis, length), fit.periodic[axis]);
            let places = (0..length / fit.stride).map(|point| fit.place(point)).collect();
            let mut axis = Axis { scale, length, periodic, limits, places, on_pixels: Vec::new() };
            axis.on_pixels = (0..length).map(|q| axis.compute(q as f64)).collect();
            axis
        };
        Self { axes: [axis(0, sizes.height), axis(1, sizes.width)] }
    }

    /// The points along an axis that a sensor at q counts for.
    pub(super) fn window(&self, axis: usize, q: f64) -> Cow<'_, Window> {
        let axis = &self.axes[axis];
        if q.fract() == 0.0 {
            return Cow::Borrowed(&axis.on_pixels[q as usize]);
        }
        Cow::Owned(axis.compute(q))
    }
}

impl Axis {
    fn compute(&self, q: f64) -> Window {
        let turns = (-1..=1).filter(|turn| self.periodic || *turn == 0);
        turns.filter_map(|turn| self.run(q + (turn * self.length as i64) as f64)).collect()
    }

    /// The points within reach of a sensor at q, which may lie beyond an end.
    fn run(&self, q: f64) -> Option<Run> {
        let [far, half] = self.limits;
        let near = |place: &f64| (q - place).abs() <= far && (q - place).abs() < half;
        let first = self.places.iter().position(near)?;
        let mut weights = <[Vec<f64>; POWERS]>::default();
        for place in self.places[first..].iter().take_while(|place| near(place)) {
            let factors = fit_factors((q - place) / self.scale);
            weights.iter_mut().zip(factors).for_each(|(weights, factor)| weights.push(factor));
        }
        Some(Run { first, weights })
    }
}
