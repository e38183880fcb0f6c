//! The posterior mean for more sensors than a factor is affordable for.
//!
//! With f = C^(1/2) xi, xi white, and H the sensors' map divided by their noise, the mean is where
//! |y / s - H xi|^2 + |xi|^2 is least. Conjugate gradients on its normal equations (CGLS) lower that sum with every
//! iteration, each of which costs two solves and two pairs of transforms, whatever the number of sensors. What the
//! sensors say most clearly is found first: stopped early, the answer is a smoother one than the mean.

use scope_pde::linear::cholesky::dot;

use crate::{
    error::PosteriorError,
    field_prior::FieldPrior,
    progress::{Progress, Stage, tell},
    sensors::Sensors,
};

/// The iteration ends when the gradient has shrunk by this factor,
pub const TOLERANCE: f64 = 1e-8;
/// or after so many steps.
pub const MAX_ITERATIONS: usize = 2000;
/// Iterations between two words of progress.
const TOLD_EVERY: usize = 20;

/// An answer and what it took.
pub(crate) struct Solution {
    /// The latent vector.
    pub(crate) latent: Vec<f64>,
    /// \[n\]: (K + s^2)^-1 y = (y - H f) / s^2.
    pub(crate) weights: Vec<f64>,
    /// |y / s - H xi|^2 + |xi|^2, whose least value is y^T (K + s^2)^-1 y.
    pub(crate) least: f64,
    pub(crate) iterations: usize,
    /// The gradient left, as a share of the first.
    pub(crate) gradient: f64,
}

/// The latent field that the posterior expects if the sensors say `values`.
pub(crate) fn solve(
    prior: &dyn FieldPrior,
    sensors: &Sensors,
    values: &[f64],
    progress: Progress,
) -> Result<Solution, PosteriorError> {
    let precision: Vec<f64> = sensors.noise.iter().map(|variance| 1.0 / variance.sqrt()).collect();
    let mut xi = vec![0.0; prior.latent_length()];
    let mut residual = scaled(values, &precision);
    let mut direction = transpose_apply(prior, sensors, &scaled(&residual, &precision));
    let mut energy = dot(&direction, &direction);
    let first = energy;
    let mut iterations = 0;
    while energy > TOLERANCE * TOLERANCE * first && iterations < MAX_ITERATIONS {
        if iterations.is_multiple_of(TOLD_EVERY) {
            tell(progress, Stage::Mean, iterations, MAX_ITERATIONS)?;
        }
        let image = scaled(&apply(prior, sensors, &direction), &precision);
        let step = energy / (dot(&image, &image) + dot(&direction, &direction));
        add_scaled(&mut xi, step, &direction);
        add_scaled(&mut residual, -step, &image);
        let mut gradient = transpose_apply(prior, sensors, &scaled(&residual, &precision));
        add_scaled(&mut gradient, -1.0, &xi);
        let next = dot(&gradient, &gradient);
        add_scaled(&mut gradient, next / energy, &direction);
        direction = gradient;
        energy = next;
        iterations += 1;
    }
    let gradient = if first > 0.0 { (energy / first).sqrt() } else { 0.0 };
    let least = dot(&residual, &residual) + dot(&xi, &xi);
    let weights = scaled(&residual, &precision);
    Ok(Solution { latent: prior.covariance_root(xi), weights, least, iterations, gradient })
}

/// What the sensors say of C^(1/2) xi.
fn apply(prior: &dyn FieldPrior, sensors: &Sensors, xi: &[f64]) -> Vec<f64> {
    sensors.observe(prior, &prior.covariance_root(xi.to_vec()))
}

/// The transpose: weights at the sensors to a field.
fn transpose_apply(prior: &dyn FieldPrior, sensors: &Sensors, weights: &[f64]) -> Vec<f64> {
    prior.covariance_root(prior.sources(sensors.stencils(), weights))
}

fn scaled(x: &[f64], factors: &[f64]) -> Vec<f64> {
    x.iter().zip(factors).map(|(x, factor)| x * factor).collect()
}

/// y += a x.
fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}
