//! Sensors as linear functionals of the latent field.

use rayon::prelude::*;
use scope_data::Channel;

use crate::{
    error::ExactError,
    noise::Noise,
    prior::{Prior, Response},
    reading::Reading,
};

/// Sensors that say something, those of a before those of u.
#[derive(Clone, Debug)]
pub(crate) struct Sensors {
    /// Points of a, then points of u.
    points: Vec<usize>,
    /// How many of them are of a.
    of_a: usize,
    /// What was measured.
    pub(crate) values: Vec<f64>,
    /// The square of each measurement's noise.
    pub(crate) noise: Vec<f64>,
}

impl Sensors {
    pub(crate) fn new(prior: &Prior, readings: &[Reading], noise: Noise) -> Result<Self, ExactError> {
        noise.require_sensible()?;
        let size = prior.resolution();
        for (number, reading) in readings.iter().enumerate() {
            if reading.point >= size * size {
                return Err(ExactError::Outside { reading: number, point: reading.point, size });
            }
            if !reading.value.is_finite() {
                return Err(ExactError::NotFinite(number));
            }
            if reading.channel == Channel::U && !prior.is_linear() {
                return Err(ExactError::NonlinearSensors(prior.pde()));
            }
        }
        let mut sensors = Self { points: Vec::new(), of_a: 0, values: Vec::new(), noise: Vec::new() };
        for channel in Channel::BOTH {
            let variance = noise.of(channel).powi(2);
            for reading in readings.iter().filter(|reading| reading.channel == channel) {
                if says_something(prior, reading) {
                    sensors.points.push(reading.point);
                    sensors.values.push(reading.value);
                    sensors.noise.push(variance);
                }
            }
            if channel == Channel::A {
                sensors.of_a = sensors.points.len();
            }
        }
        Ok(sensors)
    }

    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// Each sensor's variance under the prior.
    pub(crate) fn variances(&self, prior: &Prior) -> Vec<f64> {
        let (of_a, of_u) = self.points();
        let variances = prior.variances();
        of_a.iter().map(|p| variances.a[*p]).chain(of_u.iter().map(|p| variances.u[*p])).collect()
    }

    /// As many of them, evenly spread over their order.
    pub(crate) fn thinned(&self, count: usize) -> Self {
        let kept: Vec<usize> = (0..count).map(|k| k * self.len() / count).collect();
        let of = |values: &[f64]| kept.iter().map(|k| values[*k]).collect();
        Self {
            points: kept.iter().map(|k| self.points[*k]).collect(),
            of_a: kept.iter().filter(|k| **k < self.of_a).count(),
            values: of(&self.values),
            noise: of(&self.noise),
        }
    }

    /// sum_k (y_k - (H f)_k)^2 / s_k^2, or without the noise where there is none.
    pub(crate) fn misfit(&self, prior: &Prior, latent: &[f64]) -> f64 {
        let expected = self.observe(prior, latent);
        let apart = self.values.iter().zip(expected).map(|(value, expected)| (value - expected).powi(2));
        apart.zip(&self.noise).map(|(square, noise)| if *noise > 0.0 { square / noise } else { square }).sum()
    }

    /// Takes at least this share of each sensor's variance under the prior for its noise's.
    pub(crate) fn raise_noise(&mut self, share: f64, variances: &[f64]) {
        for (variance, noise) in variances.iter().zip(&mut self.noise) {
            *noise = noise.max(share * variance);
        }
    }

    /// Points where a is measured, and where u is.
    fn points(&self) -> (&[usize], &[usize]) {
        self.points.split_at(self.of_a)
    }

    /// What the sensors would say of a latent field, without noise.
    pub(crate) fn observe(&self, prior: &Prior, latent: &[f64]) -> Vec<f64> {
        let (of_a, of_u) = self.points();
        let mut values: Vec<f64> = of_a.iter().map(|p| latent[*p]).collect();
        if let (Response::Linear(problem), false) = (&prior.response, of_u.is_empty()) {
            let u = problem.solve(latent);
            values.extend(of_u.iter().map(|p| u[*p]));
        }
        values
    }

    /// cov(f, y) w = C (sum_p w_p delta_p + G sum_q w_q delta_q): one solve and one pair of transforms.
    pub(crate) fn spread(&self, prior: &Prior, weights: &[f64]) -> Vec<f64> {
        prior.covariance.apply(self.sources(prior, weights))
    }

    /// The transpose of [`Self::observe`]: sum_p w_p delta_p + G sum_q w_q delta_q, p the sensors of a and q of u.
    pub(crate) fn sources(&self, prior: &Prior, weights: &[f64]) -> Vec<f64> {
        let (of_a, of_u) = self.points();
        let (weights_a, weights_u) = weights.split_at(self.of_a);
        let mut sources = vec![0.0; prior.resolution().pow(2)];
        if let (Response::Linear(problem), false) = (&prior.response, of_u.is_empty()) {
            add_at(of_u, weights_u, &mut sources);
            sources = problem.solve(&sources);
        }
        add_at(of_a, weights_a, &mut sources);
        sources
    }

    /// cov(y_k, f), \[S, S\].
    pub(crate) fn covariance_row(&self, prior: &Prior, k: usize) -> Vec<f64> {
        let mut row = vec![0.0; prior.resolution().pow(2)];
        let point = self.points[k];
        match &prior.response {
            Response::Linear(problem) if k >= self.of_a => {
                row[point] = 1.0;
                prior.covariance.apply(problem.solve(&row))
            }
            _ => {
                prior.covariance.row(point, &mut row);
                row
            }
        }
    }

    /// K = cov(y, y) without noise, \[n, n\].
    pub(crate) fn covariance(&self, prior: &Prior) -> Vec<f64> {
        let n = self.len();
        let mut matrix = vec![0.0; n * n];
        let fill = |(k, row): (usize, &mut [f64])| {
            if k < self.of_a {
                for (entry, q) in row[..=k].iter_mut().zip(&self.points) {
                    *entry = prior.covariance.between(self.points[k], *q);
                }
            } else {
                let values = self.observe(prior, &self.covariance_row(prior, k));
                row[..=k].copy_from_slice(&values[..=k]);
            }
        };
        matrix.par_chunks_mut(n.max(1)).enumerate().for_each(fill);
        for i in 0..n {
            for j in 0..i {
                matrix[j * n + i] = matrix[i * n + j];
            }
        }
        matrix
    }
}

/// Whether the value is not zero by definition.
fn says_something(prior: &Prior, reading: &Reading) -> bool {
    let size = prior.resolution();
    let inside = [reading.point / size, reading.point % size].iter().all(|k| (1..size - 1).contains(k));
    match (&prior.response, reading.channel) {
        (Response::Linear(_), Channel::U) => inside,
        (Response::Linear(problem), Channel::A) => inside || !problem.zero_edge(),
        (Response::Flow(_), _) => true,
    }
}

fn add_at(points: &[usize], weights: &[f64], field: &mut [f64]) {
    for (point, weight) in points.iter().zip(weights) {
        field[*point] += weight;
    }
}
