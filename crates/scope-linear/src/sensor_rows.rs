//! Sensors as linear functionals of modes and residuals.

use std::collections::BTreeMap;

use rayon::prelude::*;
use scope_data::{Channel, observation::Stencil};
use scope_exact::Stencils;

use crate::{
    prior::LinearPrior,
    product::{add_scaled, mixed_dot},
};

/// Sensors of a prior, those of a before those of u.
pub(crate) struct SensorRows<'a> {
    prior: &'a LinearPrior,
    sensors: Vec<(Channel, &'a Stencil)>,
}

impl<'a> SensorRows<'a> {
    pub(crate) fn new(prior: &'a LinearPrior, sensors: Stencils<'a>) -> Self {
        let of = |channel: Channel| sensors[channel].iter().map(move |stencil| (channel, stencil));
        Self { prior, sensors: of(Channel::A).chain(of(Channel::U)).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.sensors.len()
    }

    /// \[r\]: h^T B of one sensor.
    pub(crate) fn row(&self, k: usize) -> Vec<f64> {
        let (channel, stencil) = self.sensors[k];
        let mut row = vec![0.0; self.prior.modes()];
        for (point, weight) in &stencil.weights {
            let pixel = self.prior.pixel(channel, *point);
            add_scaled(&mut row, weight * self.prior.scale(pixel), self.prior.mode_row(pixel));
        }
        row
    }

    /// \[n, r\]: h^T B of some sensors.
    pub(crate) fn rows(&self, range: std::ops::Range<usize>) -> Vec<f64> {
        range.into_par_iter().flat_map_iter(|k| self.row(k)).collect()
    }

    /// h_p times the standard deviation of what modes leave out, by pixel.
    pub(crate) fn residuals(&self, k: usize) -> impl Iterator<Item = (usize, f64)> {
        let (channel, stencil) = self.sensors[k];
        stencil.weights.iter().map(move |(point, weight)| {
            let pixel = self.prior.pixel(channel, *point);
            (pixel, weight * self.prior.residual(pixel))
        })
    }

    /// The sensors that see each pixel, with the weights of [`Self::residuals`].
    pub(crate) fn by_pixel(&self) -> BTreeMap<usize, Vec<(usize, f64)>> {
        let mut all: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
        for k in 0..self.len() {
            self.residuals(k).for_each(|(pixel, weight)| all.entry(pixel).or_default().push((k, weight)));
        }
        all
    }

    /// What each says of coefficients z and residuals e.
    pub(crate) fn observe(&self, z: &[f64], e: &[f64]) -> Vec<f64> {
        let of_sensor = |(channel, stencil): &(Channel, &Stencil)| {
            stencil.sum(|point| {
                let pixel = self.prior.pixel(*channel, point);
                self.prior.scale(pixel) * mixed_dot(self.prior.mode_row(pixel), z)
                    + self.prior.residual(pixel) * e[pixel]
            })
        };
        self.sensors.par_iter().map(of_sensor).collect()
    }
}
