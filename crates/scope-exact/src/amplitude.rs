//! The amplitude of readings and their noise, both the most likely ones.
//!
//! Readings y of fields that are U times as large as the prior's have the covariance A K + v N, with A = U^2, K what
//! the prior says of them and N the shape of their noise. In the eigenvectors of N^(-1/2) K N^(-1/2) with eigenvalues
//! lambda they are independent numbers z with variances A lambda + v, so that for each v / A the best A is a mean, and
//! one search finds both.

use scope_data::PerChannel;
use scope_pde::linear::{
    cholesky::dot,
    eigen::{Eigen, symmetric_eigen},
};

use crate::{
    chi_square, error::PosteriorError, field_prior::FieldPrior, progress::UNHEARD, reading::Reading,
    sensors::Sensors,
};

/// Sound readings are left out with this probability, all of them together.
const FALSE_ALARM: f64 = 1e-4;
/// At most this share of the readings is left out, in so many rounds.
const MOST_LEFT_OUT: f64 = 0.1;
const ROUNDS: usize = 10;
/// Readings whose squared distance is less than this share of the worst may be the victims of worse ones.
const BESIDE_WORST: f64 = 0.25;
/// The search: so many steps of logarithms, and then so many halvings between the best ones.
const STEPS: usize = 240;
const HALVINGS: usize = 60;
/// Noise and fields are looked for within so many orders of magnitude of each other.
const ORDERS: f64 = 18.0;
/// Eigenvalues are right to this many roundings of the largest.
const ROUNDINGS: f64 = 8.0;

/// An amplitude, and the noise that goes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amplitude {
    /// U: how many times as large as the prior's fields are.
    pub ratio: f64,
    /// The relative standard deviation of U.
    pub deviation: f64,
    /// sqrt(v): how many times the noise that was given is as large.
    pub noise: f64,
    /// How many readings were left out for not fitting the others.
    pub left_out: usize,
}

/// A and v of readings, and what they are worth.
#[derive(Clone, Copy)]
struct Estimate {
    amplitude: f64,
    noise: f64,
    /// Whether v could not be less.
    bound: bool,
}

/// Readings in coordinates where they are independent.
struct Independent {
    eigen: Eigen,
    /// The readings in units of their noise, and along the eigenvectors.
    values: Vec<f64>,
    along: Vec<f64>,
}

/// The most likely amplitude and noise of readings of a prior's fields; `shape` is what the noise is a multiple of, and
/// `least` the least multiple. None without readings that say anything.
pub fn estimate_amplitude_and_noise(
    prior: &dyn FieldPrior,
    readings: &[Reading],
    shape: PerChannel<f64>,
    least: f64,
) -> Result<Option<Amplitude>, PosteriorError> {
    let sensors = Sensors::new(prior, readings, shape, UNHEARD)?;
    let all = sensors.len();
    if sensors.values.iter().all(|value| *value == 0.0) {
        return Ok(None);
    }
    let mut matrix = prior.sensor_covariance(sensors.stencils(), UNHEARD)?;
    (0..all).for_each(|k| matrix[k * all + k] += sensors.interpolation[k]);
    let noise: Vec<f64> = (0..all).map(|k| (sensors.noise[k] - sensors.interpolation[k]).sqrt()).collect();
    let mut kept: Vec<usize> = (0..all).collect();
    let fewest = all - (MOST_LEFT_OUT * all as f64) as usize;
    let mut rounds = 0;
    loop {
        let independent = Independent::new(&matrix, &sensors.values, &noise, &kept);
        let estimate = independent.estimate(least * least);
        let doubtful = independent.unlike(estimate);
        rounds += 1;
        if doubtful.is_empty() || kept.len() - doubtful.len() < fewest || rounds > ROUNDS {
            let ratio = estimate.amplitude.sqrt();
            let found = Amplitude {
                ratio,
                deviation: independent.deviation(estimate),
                noise: estimate.noise.sqrt(),
                left_out: all - kept.len(),
            };
            return Ok((ratio.is_finite() && ratio > 0.0).then_some(found));
        }
        let mut place = 0..;
        kept.retain(|_| place.next().is_some_and(|place| !doubtful.contains(&place)));
    }
}

impl Independent {
    /// Some of the readings with a covariance \[all, all\].
    fn new(matrix: &[f64], values: &[f64], noise: &[f64], kept: &[usize]) -> Self {
        let all = values.len();
        let entry = |k: usize, l: usize| matrix[k * all + l] / (noise[k] * noise[l]);
        let whitened: Vec<f64> =
            kept.iter().flat_map(|k| kept.iter().map(move |l| (*k, *l))).map(|(k, l)| entry(k, l)).collect();
        let mut eigen = symmetric_eigen(&whitened, kept.len());
        let floor =
            ROUNDINGS * kept.len() as f64 * f64::EPSILON * eigen.values.first().copied().unwrap_or(0.0);
        eigen.values.iter_mut().for_each(|value| *value = value.max(floor));
        let values: Vec<f64> = kept.iter().map(|k| values[*k] / noise[*k]).collect();
        let along = eigen.vectors.iter().map(|vector| dot(vector, &values)).collect();
        Self { eigen, values, along }
    }

    /// -2 ln of the likelihood, but for a constant.
    fn unlikelihood(&self, amplitude: f64, noise: f64) -> f64 {
        let of = |(lambda, z): (&f64, &f64)| {
            let variance = amplitude * lambda + noise;
            variance.ln() + z * z / variance
        };
        self.eigen.values.iter().zip(&self.along).map(of).sum()
    }

    /// The best A where v is so many times as large.
    fn amplitude_at(&self, ratio: f64) -> f64 {
        let squares = self.eigen.values.iter().zip(&self.along).map(|(lambda, z)| z * z / (lambda + ratio));
        squares.sum::<f64>() / self.along.len() as f64
    }

    /// The most likely A and v, with v no less than `least`.
    fn estimate(&self, least: f64) -> Estimate {
        let largest = self.eigen.values[0];
        let range = [(largest * 10f64.powf(-ORDERS)).ln(), (largest * 10f64.powf(0.25 * ORDERS)).ln()];
        let ratio = minimum(range, |ratio| {
            let ratio = ratio.exp();
            let amplitude = self.amplitude_at(ratio);
            self.unlikelihood(amplitude, ratio * amplitude)
        });
        let ratio = ratio.exp();
        let amplitude = self.amplitude_at(ratio);
        if ratio * amplitude >= least {
            // Beside eigenvalues that are no better known, no noise is.
            let bound = ratio < *self.eigen.values.last().unwrap_or(&0.0);
            return Estimate { amplitude, noise: ratio * amplitude, bound };
        }
        let middle = (least / largest).ln();
        let wide = 10f64.ln() * ORDERS;
        let amplitude =
            minimum([middle - 0.25 * wide, middle + wide], |ln| self.unlikelihood(ln.exp(), least)).exp();
        Estimate { amplitude, noise: least, bound: true }
    }

    /// The relative standard deviation of U, from Fisher's information of ln A and, where it is free, ln v.
    fn deviation(&self, Estimate { amplitude, noise, bound }: Estimate) -> f64 {
        let shares = self.eigen.values.iter().map(|lambda| amplitude * lambda / (amplitude * lambda + noise));
        let [of_field, of_both, of_noise] = shares.fold([0.0; 3], |[field, both, rest], share| {
            let other = 1.0 - share;
            [field + 0.5 * share * share, both + 0.5 * share * other, rest + 0.5 * other * other]
        });
        let known =
            if bound { of_field } else { of_field - of_both * of_both / of_noise.max(f64::MIN_POSITIVE) };
        0.5 / known.max(f64::MIN_POSITIVE).sqrt()
    }

    /// The places of those readings that are far from what the others say of them.
    fn unlike(&self, Estimate { amplitude, noise, .. }: Estimate) -> Vec<usize> {
        let n = self.values.len();
        let inverse: Vec<f64> =
            self.eigen.values.iter().map(|lambda| 1.0 / (amplitude * lambda + noise)).collect();
        let limit = chi_square::quantile(FALSE_ALARM / n as f64, 1);
        let square = |k: usize| {
            let [mut weight, mut diagonal] = [0.0; 2];
            for ((vector, inverse), z) in self.eigen.vectors.iter().zip(&inverse).zip(&self.along) {
                weight += vector[k] * inverse * z;
                diagonal += vector[k] * inverse * vector[k];
            }
            weight * weight / diagonal
        };
        let squares: Vec<f64> = (0..n).map(square).collect();
        let worst = squares.iter().copied().fold(0.0, f64::max);
        (0..n).filter(|k| squares[*k] > limit.max(BESIDE_WORST * worst)).collect()
    }
}

/// Where a function of a range is least: the best of equal steps, and then by golden sections about it.
fn minimum([low, high]: [f64; 2], of: impl Fn(f64) -> f64) -> f64 {
    let at = |step: usize| low + (high - low) * step as f64 / STEPS as f64;
    let best = (0..=STEPS).min_by(|x, y| of(at(*x)).total_cmp(&of(at(*y)))).unwrap_or(0);
    let [mut low, mut high] = [at(best.saturating_sub(1)), at((best + 1).min(STEPS))];
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..HALVINGS {
        let [left, right] = [high - golden * (high - low), low + golden * (high - low)];
        if of(left) < of(right) { high = right } else { low = left }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;
    use scope_data::{Channel, Constants};
    use scope_pde::{Pde, random::Coordinates};

    use super::*;
    use crate::{Prior, rounding_noise};

    const SIZE: usize = 32;

    /// Readings of a draw times an amplitude, with a noise in shares of the field's deviation and a few that are off by
    /// three of it.
    fn readings(prior: &Prior, record: u64, amplitude: f64, noise: f64, faulty: usize) -> Vec<Reading> {
        let sigma = amplitude * Constants::generated(Pde::POISSON).u.sigma;
        let mut stream = Coordinates::new("test-amplitude").number(record).stream();
        let latent = prior.draw(&mut stream);
        let field = prior.fields(latent).unwrap().u;
        (0..200)
            .map(|k| {
                let point = stream.random_range(0..SIZE * SIZE);
                let error: f64 = stream.sample(StandardNormal);
                let fault = if k < faulty { 3.0 } else { 0.0 };
                let value = amplitude * field[point] + sigma * (noise * error + fault);
                Reading::of_pixel(Channel::U, point, SIZE, value)
            })
            .collect()
    }

    /// Means over records of ln U / U0 and of what it is said to be off, in standard deviations; and the mean noise, in
    /// shares.
    fn estimated(noise: f64, faulty: usize, stated: Option<f64>) -> [f64; 3] {
        let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
        let constants = Constants::generated(Pde::POISSON);
        let sigma = constants.map(|scaling| scaling.sigma);
        let rounding = rounding_noise(&constants);
        let mut sums = [0.0; 3];
        const RECORDS: u64 = 12;
        for record in 0..RECORDS {
            let readings = readings(&prior, record, 2.5, noise, faulty);
            let shape = stated.map_or(sigma, |share| {
                sigma.map(|sigma| 2.5 * share * sigma).zip(rounding).map(|(x, y)| x.max(y))
            });
            let least = f64::from(u8::from(stated.is_some()));
            let found = estimate_amplitude_and_noise(&prior, &readings, shape, least).unwrap().unwrap();
            let apart = (found.ratio / 2.5).ln();
            let each = [apart, (apart / found.deviation).powi(2), found.noise * shape.u / (2.5 * sigma.u)];
            sums.iter_mut().zip(each).for_each(|(sum, x)| *sum += x / RECORDS as f64);
        }
        sums
    }

    #[test]
    fn amplitude_and_noise_are_told_apart() {
        for (noise, stated) in
            [(0.0, None), (0.05, None), (0.2, None), (0.05, Some(0.05)), (0.05, Some(0.01))]
        {
            let [apart, square, found] = estimated(noise, 0, stated);
            assert!(apart.abs() < 0.12, "{noise} {stated:?}: off by {apart}");
            assert!((0.2..3.0).contains(&square), "{noise} {stated:?}: {square}");
            assert!((found - noise).abs() < 0.15 * noise + 1e-3, "{noise} {stated:?}: {found}");
        }
    }

    #[test]
    fn faulty_readings_change_neither() {
        for noise in [0.0, 0.05] {
            let [apart, _, found] = estimated(noise, 6, None);
            assert!(apart.abs() < 0.12, "{noise}: off by {apart}");
            assert!((found - noise).abs() < 0.25 * noise + 1e-2, "{noise}: {found}");
        }
    }

    #[test]
    fn few_readings_are_said_to_tell_little() {
        let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
        let sigma = Constants::generated(Pde::POISSON).map(|scaling| scaling.sigma);
        let few = &readings(&prior, 0, 2.5, 0.0, 0)[..5];
        let found = estimate_amplitude_and_noise(&prior, few, sigma, 0.0).unwrap().unwrap();
        assert!(found.deviation > 0.2, "{found:?}");
        let zeros: Vec<Reading> = few.iter().map(|reading| Reading { value: 0.0, ..*reading }).collect();
        assert_eq!(estimate_amplitude_and_noise(&prior, &zeros, sigma, 0.0).unwrap(), None);
    }
}
