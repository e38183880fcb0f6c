//! How uncertain each pixel is.

use rayon::prelude::*;
use scope_data::Fields;
use scope_pde::linear::cholesky::Cholesky;

use crate::{
    error::ExactError,
    posterior::Posterior,
    prior::{Prior, Response},
    sensors::Sensors,
};

/// Draws from which a spread is estimated where it has no closed form: its own standard error is then 9%.
pub const SPREAD_SAMPLES: usize = 64;

/// Pixels whose variances are computed together.
const COLUMNS: usize = 256;

/// Rows that are summed together.
const ROWS: usize = 32;

/// How a standard deviation was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// In closed form.
    Exact,
    /// From this many draws.
    Samples(usize),
}

/// Pixelwise posterior standard deviations in physical units.
#[derive(Clone, Debug, PartialEq)]
pub struct Deviations {
    /// \[S, S\] of a and of u.
    pub fields: Fields<f64>,
    /// How those of a were found.
    pub a: How,
    /// How those of u were found.
    pub u: How,
}

impl Posterior<'_> {
    /// The standard deviation of every pixel: in closed form where the posterior is Gaussian and its covariance is
    /// factored, else from [`SPREAD_SAMPLES`] draws of the seed. What lies below the square root of n machine epsilons
    /// of the prior's, n the number of sensors, is rounding error and reported as that much.
    pub fn deviations(&self, seed: u64) -> Result<Deviations, ExactError> {
        let drawn = How::Samples(SPREAD_SAMPLES);
        let Some(factor) = &self.factor else {
            return Ok(Deviations { fields: self.sampled(seed)?, a: drawn, u: drawn });
        };
        let mut fields = self.closed_form(factor);
        let u = match self.prior.is_linear() {
            true => How::Exact,
            false => {
                fields.u = self.sampled(seed)?.u;
                drawn
            }
        };
        Ok(Deviations { fields, a: How::Exact, u })
    }

    /// C(x, x) - |V(., x)|^2 with V = L^-1 cov(y, f); for u the rows of V go through the solver first.
    fn closed_form(&self, factor: &Cholesky) -> Fields<f64> {
        let before = self.prior.variances();
        let known = explained(self.prior, &self.sensors, factor);
        let resolution = self.sensors.len() as f64 * f64::EPSILON;
        let remaining = |before: &[f64], known: &[f64]| -> Vec<f64> {
            let rest = before.iter().zip(known);
            rest.map(|(before, known)| (before - known).max(before * resolution).sqrt()).collect()
        };
        Fields { a: remaining(&before.a, &known.a), u: remaining(&before.u, &known.u) }
    }

    /// The spread of draws about their own mean.
    fn sampled(&self, seed: u64) -> Result<Fields<f64>, ExactError> {
        let samples = self.samples(seed, SPREAD_SAMPLES)?;
        let count = samples.len() as f64;
        let spread = |field: fn(&Fields<f64>) -> &[f64]| -> Vec<f64> {
            let pixel = |at: usize| {
                let mean = samples.iter().map(|sample| field(sample)[at]).sum::<f64>() / count;
                let squares: f64 = samples.iter().map(|sample| (field(sample)[at] - mean).powi(2)).sum();
                (squares / (count - 1.0)).sqrt()
            };
            (0..self.prior.resolution().pow(2)).map(pixel).collect()
        };
        Ok(Fields { a: spread(|sample| &sample.a), u: spread(|sample| &sample.u) })
    }
}

/// The variances that the sensors explain: sum_k V(k, x)^2, and of the rows of V carried through the solver.
fn explained(prior: &Prior, sensors: &Sensors, factor: &Cholesky) -> Fields<f64> {
    let (n, pixels) = (sensors.len(), prior.resolution().pow(2));
    let rows: Vec<Vec<f64>> = (0..n).into_par_iter().map(|k| sensors.covariance_row(prior, k)).collect();
    // Columns of V do not touch each other: each strip of pixels is one task.
    let strips: Vec<Vec<f64>> = (0..pixels.div_ceil(COLUMNS))
        .into_par_iter()
        .map(|strip| {
            let range = strip * COLUMNS..((strip + 1) * COLUMNS).min(pixels);
            let mut columns: Vec<f64> = rows.iter().flat_map(|row| &row[range.clone()]).copied().collect();
            factor.forward_substitute(&mut columns, range.len());
            columns
        })
        .collect();
    drop(rows);
    let row = |k: usize| -> Vec<f64> {
        strips
            .iter()
            .flat_map(|strip| &strip[k * strip.len() / n..(k + 1) * strip.len() / n])
            .copied()
            .collect()
    };
    // Sums of a fixed number of rows, added in order: no bit depends on the threads.
    let parts: Vec<Fields<f64>> = (0..n.div_ceil(ROWS))
        .into_par_iter()
        .map(|part| {
            let mut sums = Fields { a: vec![0.0; pixels], u: vec![0.0; pixels] };
            for k in part * ROWS..((part + 1) * ROWS).min(n) {
                let latent = row(k);
                add_squares(&mut sums.a, &latent);
                if let Response::Linear(problem) = &prior.response {
                    add_squares(&mut sums.u, &problem.solve(&latent));
                }
            }
            sums
        })
        .collect();
    let mut total = Fields { a: vec![0.0; pixels], u: vec![0.0; pixels] };
    for part in parts {
        total.a.iter_mut().zip(part.a).for_each(|(total, part)| *total += part);
        total.u.iter_mut().zip(part.u).for_each(|(total, part)| *total += part);
    }
    total
}

fn add_squares(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * value);
}
