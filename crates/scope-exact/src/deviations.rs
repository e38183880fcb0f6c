//! How uncertain each pixel is.

use scope_data::Fields;
use scope_pde::linear::cholesky::Cholesky;

use crate::{
    error::PosteriorError,
    posterior::{Method, Posterior, Simulated},
    progress::{Progress, Stage, Step, UNHEARD, in_parallel},
};

/// Draws from which a spread is estimated where it has no closed form: its own standard error is then 9%.
pub const SPREAD_SAMPLES: usize = 64;

/// The same where each draw takes hundreds of steps of conjugate gradients: 18%.
pub const FEW_SPREAD_SAMPLES: usize = 16;

/// Steps of conjugate gradients up to which draws are cheap, if sensors are not many more than this.
const CHEAP_ITERATIONS: usize = 250;
const CHEAP_SENSORS: usize = 16_384;

/// Up to this many sensors standard deviations are computed in closed form, which takes n^2 products for each pixel.
pub const CLOSED_FORM_LIMIT: usize = 2048;

/// The seed of the draws that standard deviations are estimated from.
const PROBE_SEED: u64 = 0;

/// How a standard deviation was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It was computed in closed form.
    Exact,
    /// It was estimated from this many draws.
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

/// What draws from the prior tell, each recovered from readings of itself.
pub(crate) struct Probes {
    /// Mean squares of the errors of a and, where it is linear, of u: the variance of what was computed, whether it is
    /// the posterior's mean or what conjugate gradients had come to.
    squares: Fields<f64>,
    /// \[n\]: mean squares of (K + s^2)^-1 y, whose expectation is the diagonal of (K + s^2)^-1.
    pub(crate) diagonal: Vec<f64>,
    /// Mean squares of the errors at all sensors, where some were left out.
    pub(crate) at_all: Vec<f64>,
    /// The number of draws.
    count: usize,
}

/// What one draw tells.
struct Probe {
    errors: Fields<f64>,
    /// \[n\]: (K + s^2)^-1 y.
    weights: Vec<f64>,
    /// What all sensors would say of the error, where some were left out.
    at_all: Vec<f64>,
}

impl Posterior<'_> {
    /// The standard deviation of every pixel: in closed form where the posterior is Gaussian and has no more than
    /// [`CLOSED_FORM_LIMIT`] sensors, else from draws: 64 or 16. The seed is that of draws of a u that is not linear.
    /// What lies below the square root of n machine epsilons of the prior's, n the number of sensors, is rounding error
    /// and reported as that much.
    pub fn deviations(&self, seed: u64) -> Result<Deviations, PosteriorError> {
        self.deviations_watched(seed, UNHEARD)
    }

    /// As [`Self::deviations`], with progress that is told and can be stopped.
    pub fn deviations_watched(&self, seed: u64, progress: Progress) -> Result<Deviations, PosteriorError> {
        let (mut fields, a) = match &self.factor {
            Some(factor) if self.sensors.len() <= CLOSED_FORM_LIMIT => {
                (self.closed_form(factor, progress)?, How::Exact)
            }
            _ => {
                let probes = self.probes(progress)?;
                let roots = |field: &Vec<f64>| field.iter().map(|square| square.sqrt()).collect();
                (probes.squares.each_ref().map(roots), How::Samples(probes.count))
            }
        };
        let u = if self.prior.is_linear() {
            a
        } else {
            fields.u = self.spread_of_response(seed, progress)?;
            How::Samples(SPREAD_SAMPLES)
        };
        Ok(Deviations { fields, a, u })
    }

    /// What draws tell; they are made once.
    pub(crate) fn probes(&self, progress: Progress) -> Result<&Probes, PosteriorError> {
        if let Some(probes) = self.probes.get() {
            return Ok(probes);
        }
        let load = self.sensors.len().div_ceil(CHEAP_SENSORS);
        let count = match self.method() {
            Method::ConjugateGradients { iterations, .. } if iterations * load > CHEAP_ITERATIONS => {
                FEW_SPREAD_SAMPLES
            }
            _ => SPREAD_SAMPLES,
        };
        let at_once = rayon::current_num_threads();
        let probe = |index: usize| {
            let inner = |_: Step| progress(Step { stage: Stage::Deviations, done: index, of: count });
            self.probe(index as u64, &inner)
        };
        let all = in_parallel(progress, Stage::Deviations, count, at_once, probe)?;
        let pixels = self.prior.resolution().points();
        let mut squares = Fields { a: vec![0.0; pixels], u: vec![0.0; pixels] };
        let mut diagonal = vec![0.0; self.sensors.len()];
        let mut at_all = vec![0.0; self.all.as_ref().map_or(0, |all| all.len())];
        for probe in all {
            add_squares(&mut squares.a, &probe.errors.a);
            add_squares(&mut squares.u, &probe.errors.u);
            add_squares(&mut diagonal, &probe.weights);
            add_squares(&mut at_all, &probe.at_all);
        }
        let mean = |mut sums: Vec<f64>| {
            sums.iter_mut().for_each(|sum| *sum /= count as f64);
            sums
        };
        let squares = squares.map(mean);
        let probes = Probes { squares, diagonal: mean(diagonal), at_all: mean(at_all), count };
        Ok(self.probes.get_or_init(|| probes))
    }

    /// A draw from the prior minus what its own readings make us expect.
    fn probe(&self, index: u64, progress: Progress) -> Result<Probe, PosteriorError> {
        let Simulated { mut latent, readings } = self.simulate(PROBE_SEED, index);
        let expected = self.expect(readings, progress)?;
        latent.iter_mut().zip(&expected.latent).for_each(|(x, expected)| *x -= expected);
        let at_all = self.all.as_ref().map_or(Vec::new(), |all| all.observe(self.prior, &latent));
        let errors = self.prior.linear_fields(&latent);
        Ok(Probe { errors, weights: expected.weights, at_all })
    }

    /// What the sensors leave of the variance of every pixel.
    fn closed_form(&self, factor: &Cholesky, progress: Progress) -> Result<Fields<f64>, PosteriorError> {
        let before = self.prior.variances();
        let known = self.prior.explained(self.sensors.stencils(), factor, progress)?;
        let resolution = self.sensors.len() as f64 * f64::EPSILON;
        let remaining = |before: &[f64], known: &[f64]| -> Vec<f64> {
            let rest = before.iter().zip(known);
            rest.map(|(before, known)| (before - known).max(before * resolution).sqrt()).collect()
        };
        Ok(Fields { a: remaining(&before.a, &known.a), u: remaining(&before.u, &known.u) })
    }

    /// The spread of draws of u about their own mean.
    fn spread_of_response(&self, seed: u64, progress: Progress) -> Result<Vec<f64>, PosteriorError> {
        let samples = self.samples_watched(seed, SPREAD_SAMPLES, progress)?;
        let count = samples.len() as f64;
        let pixel = |at: usize| {
            let mean = samples.iter().map(|sample| sample.u[at]).sum::<f64>() / count;
            let squares: f64 = samples.iter().map(|sample| (sample.u[at] - mean).powi(2)).sum();
            (squares / (count - 1.0)).sqrt()
        };
        Ok((0..self.prior.resolution().points()).map(pixel).collect())
    }
}

fn add_squares(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prior, Reading, rounding_noise, sensors::Sensors};
    use scope_data::{Channel, Constants, PerChannel};
    use scope_pde::Pde;

    fn mean_square(field: &[f64]) -> f64 {
        field.iter().map(|x| x * x).sum::<f64>() / field.len() as f64
    }

    /// What draws say of standard deviations and of the diagonal of the inverse is what closed forms say, within what
    /// so many draws can tell: 12.5% in each square, far less in means over many.
    #[test]
    fn draws_estimate_what_closed_forms_give() {
        let size = 32;
        let prior = Prior::new(Pde::POISSON, size).unwrap();
        let noise = PerChannel { a: 0.02, u: 1e-4 };
        for channel in Channel::BOTH {
            let reading = |k: usize| Reading::of_pixel(channel, 33 + 5 * k, size, 0.0);
            let readings: Vec<Reading> = (0..180).map(reading).collect();
            let posterior = prior.given(&readings, noise).unwrap();
            let exact = posterior.deviations(0).unwrap();
            assert_eq!((exact.a, exact.u), (How::Exact, How::Exact));
            let probes = posterior.probes(UNHEARD).unwrap();
            for field in Channel::BOTH {
                let ratio = probes.squares[field].iter().sum::<f64>()
                    / (mean_square(&exact.fields[field]) * (size * size) as f64);
                assert!((0.8..1.25).contains(&ratio), "{channel:?} {field:?}: {ratio}");
            }
            let diagonal = posterior.factor.as_ref().unwrap().inverse_diagonal();
            let ratio = probes.diagonal.iter().zip(&diagonal).map(|(drawn, exact)| drawn / exact);
            let ratio = ratio.sum::<f64>() / diagonal.len() as f64;
            assert!((0.95..1.05).contains(&ratio), "{channel:?}: {ratio}");
        }
    }

    /// Where conjugate gradients are stopped early, what is said of the errors is true of what they had come to: more
    /// than the posterior's own deviations, and as large as errors are.
    #[test]
    fn deviations_of_an_answer_that_was_stopped_early_are_its_own() {
        let size = 64;
        let prior = Prior::new(Pde::POISSON, size).unwrap();
        let points: Vec<usize> = (0..size * size).filter(|point| point % 5 != 0).collect();
        let noise = rounding_noise(&Constants::generated(Pde::POISSON));
        let zeros: Vec<Reading> =
            points.iter().map(|point| Reading::of_pixel(Channel::U, *point, size, 0.0)).collect();
        let mut sensors = Sensors::new(&prior, &zeros, noise, UNHEARD).unwrap();
        let of_zeros = Posterior::iterative(&prior, sensors.clone(), UNHEARD).unwrap();
        sensors.values = of_zeros.simulate(9, 0).readings;
        let stopped = Posterior::iterative(&prior, sensors, UNHEARD).unwrap();
        assert!(stopped.is_approximate());
        let stated = stopped.deviations(0).unwrap();
        assert_eq!(stated.a, How::Samples(FEW_SPREAD_SAMPLES));
        let mut errors = 0.0;
        for index in 0..2 {
            let simulated = stopped.simulate(9, index);
            let expected = stopped.expect(simulated.readings, UNHEARD).unwrap().latent;
            let apart: Vec<f64> = simulated.latent.iter().zip(&expected).map(|(x, y)| x - y).collect();
            errors += mean_square(&apart) / 2.0;
        }
        let ratio = (errors / mean_square(&stated.fields.a)).sqrt();
        assert!((0.75..1.33).contains(&ratio), "{ratio}");
    }
}
