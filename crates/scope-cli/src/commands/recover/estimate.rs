//! How long an exact posterior takes, told before it begins.

use std::time::{Duration, Instant};

use scope_data::Channel;
use scope_exact::{
    CLOSED_FORM_LIMIT, DENSE_LIMIT, FEW_SPREAD_SAMPLES, FieldPrior, MAX_ITERATIONS, NO_NOISE, PosteriorError,
    Prior, Reading, SPREAD_SAMPLES,
};
use scope_pde::{Pde, linear::cholesky::Cholesky};

/// Sensors whose covariance is timed.
const TIMED_ROWS: usize = 48;

/// The side of the matrix whose factor is timed.
const TIMED_FACTOR: usize = 640;

/// Solving with a factor waits for memory: so many times as long as its products would take.
const MEMORY_BOUND: f64 = 3.0;

/// What this machine takes for the two kinds of work, on all threads.
struct Rates {
    /// Seconds for a row of the covariance.
    row: f64,
    /// Seconds for a multiplication and addition.
    product: f64,
}

impl Rates {
    fn measure(prior: &Prior) -> Result<Self, PosteriorError> {
        let size = prior.resolution().rows;
        let channel = if prior.is_linear() { Channel::U } else { Channel::A };
        let point = |k: usize| size + 1 + k * (size * size - 2 * size - 2) / TIMED_ROWS;
        let readings: Vec<Reading> =
            (0..TIMED_ROWS).map(|k| Reading::of_pixel(channel, point(k), size, 0.0)).collect();
        let begin = Instant::now();
        prior.given(&readings, NO_NOISE)?;
        let row = begin.elapsed().as_secs_f64() / TIMED_ROWS as f64;
        let n = TIMED_FACTOR;
        let mut matrix = vec![0.5; n * n];
        (0..n).for_each(|k| matrix[k * n + k] = n as f64);
        let begin = Instant::now();
        // It is definite; that it is factored is all that counts here.
        let _ = Cholesky::new(matrix, n);
        Ok(Self { row, product: begin.elapsed().as_secs_f64() / (n as f64).powi(3) * 3.0 })
    }

    /// Seconds for a factor of so many sensors and what is made with it.
    fn factored(&self, sensors: usize, pixels: f64, deviations: bool) -> f64 {
        let n = sensors as f64;
        let factor = n.powi(3) / 3.0 * self.product;
        let after = if sensors > CLOSED_FORM_LIMIT {
            SPREAD_SAMPLES as f64 * 2.0 * n * n * self.product * MEMORY_BOUND
        } else if deviations {
            factor + n * n * pixels * self.product + n * self.row
        } else {
            factor
        };
        n * self.row + factor + after
    }
}

/// The time that a problem of so many sensors takes, about and at most.
pub(super) fn time_of_exact(
    pde: Pde,
    resolution: usize,
    sensors: usize,
    deviations: bool,
) -> Result<Duration, PosteriorError> {
    let prior = Prior::new(pde, resolution)?;
    let rates = Rates::measure(&prior)?;
    let pixels = (resolution * resolution) as f64;
    let mut seconds = rates.factored(sensors.min(DENSE_LIMIT), pixels, deviations);
    if sensors > DENSE_LIMIT {
        // The mean on one thread, and draws on all. An iteration costs about two rows, and more the more sensors there
        // are; so does a look at every sensor between pixels.
        let threads = rayon::current_num_threads() as f64;
        let draws = if deviations { FEW_SPREAD_SAMPLES as f64 } else { 0.0 };
        let load = 1.0 + sensors as f64 / DENSE_LIMIT as f64;
        seconds += MAX_ITERATIONS as f64 * load * rates.row * (threads + draws) + sensors as f64 * rates.row;
    }
    Ok(Duration::from_secs_f64(seconds))
}
