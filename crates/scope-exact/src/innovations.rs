//! Whether readings are like those of a prior, from coarse scales to fine ones.
//!
//! Taken in the order of what remains unknown, each reading says something beyond those before it. With L L^T = K + s^2
//! in that order (a pivoted Cholesky factor), e = L^-1 y are independent standard normal numbers if fields are draws
//! from the prior and the noise is as stated. The first of them are of the coarsest scales, the last of the finest.
//! Noise, and fields that are smoother or rougher than the prior's, show in the last ones, where a sum over all of them
//! may hide them.

use std::collections::HashSet;

use scope_data::{Channel, PerChannel};
use scope_pde::linear::cholesky::dot;

use crate::{
    error::PosteriorError, field_prior::FieldPrior, model_check::ModelCheck, progress::UNHEARD,
    reading::Reading, sensors::Sensors,
};

/// So many readings of each field are looked at, taken from all of them in pairs of neighbours. Those of u cost a
/// solution each.
const MOST: PerChannel<usize> = PerChannel { a: 512, u: 512 };
/// Readings that say less than this beyond the others, as a share of their field's variance, are not looked at: there
/// errors of less than a thousandth of the field's deviation decide. A noise of a thousandth takes seven points from
/// the 68% band of Poisson's a about 500 sensors of u, one of half of that three, and rounding to four digits none.
const LEAST: f64 = 7e-7;
/// The scales that readings are judged by, besides all together.
const SCALES: usize = 3;
/// Readings of the prior's own fields are taken to be unlike them with this probability.
const FALSE_ALARM: f64 = 1e-4;

/// In which order readings at some places are taken, and what each says beyond those before it, whatever the values
/// are.
#[derive(Clone, Debug)]
pub struct Innovations {
    /// The numbers of the readings, in the order given.
    order: Vec<usize>,
    /// What they are expected to be before any is known.
    means: Vec<f64>,
    /// The rows of L up to the diagonal.
    rows: Vec<Vec<f64>>,
}

impl Innovations {
    /// For readings of a prior's fields with a noise; `deviations` are those of the fields.
    pub fn plan(
        prior: &dyn FieldPrior,
        readings: &[Reading],
        noise: PerChannel<f64>,
        deviations: PerChannel<f64>,
    ) -> Result<Self, PosteriorError> {
        let numbers = looked_at(readings);
        let chosen: Vec<Reading> = numbers.iter().map(|number| readings[*number]).collect();
        let sensors = Sensors::new(prior, &chosen, noise, UNHEARD)?;
        let n = sensors.len();
        let mut of_sensor = vec![0; n];
        for (number, used) in numbers.iter().zip(&sensors.readings) {
            used.sensor.into_iter().for_each(|sensor| of_sensor[sensor] = *number);
        }
        let mut matrix = prior.sensor_covariance(sensors.stencils(), UNHEARD)?;
        (0..n).for_each(|k| matrix[k * n + k] += sensors.noise[k]);
        let scales: Vec<f64> = (0..n).map(|k| deviations[sensors.channel(k)].powi(2)).collect();
        let (taken, rows) = pivoted_factor(&matrix, &scales);
        let order = taken.iter().map(|k| of_sensor[*k]).collect();
        let means = taken.iter().map(|k| sensors.means[*k]).collect();
        Ok(Self { order, means, rows })
    }

    /// Those of the readings at the places planned for that are looked at.
    pub fn looked_at(&self, readings: &[Reading]) -> Vec<Reading> {
        self.order.iter().map(|number| readings[*number]).collect()
    }

    /// e = L^-1 (y - mean) of readings at the places planned for.
    pub fn of(&self, readings: &[Reading]) -> Vec<f64> {
        let mut whitened: Vec<f64> = Vec::with_capacity(self.order.len());
        for ((number, mean), row) in self.order.iter().zip(&self.means).zip(&self.rows) {
            let pivot = row[whitened.len()];
            let known = dot(&row[..whitened.len()], &whitened);
            whitened.push((readings[*number].value - mean - known) / pivot);
        }
        whitened
    }

    /// The test of the scale at which readings are least like the prior's, of all that fail it: the sum of squares of
    /// its innovations is far larger or far smaller than their number.
    pub fn least_alike(&self, readings: &[Reading]) -> Option<ModelCheck> {
        let whitened = self.of(readings);
        let share = whitened.len().div_ceil(SCALES).max(1);
        let scales = whitened.chunks(share).chain([&whitened[..]]).filter(|scale| !scale.is_empty());
        let checks = scales.map(|scale| ModelCheck::new(dot(scale, scale), scale.len()));
        let either_side = |check: &ModelCheck| check.probability().min(1.0 - check.probability());
        let each = FALSE_ALARM / (2.0 * (SCALES + 1) as f64);
        checks
            .filter(|check| either_side(check) < each)
            .min_by(|one, other| either_side(one).total_cmp(&either_side(other)))
    }
}

/// The order in which the rows of a covariance \[n, n\] are taken, each time the one with the greatest variance left,
/// in units of its scale; and the rows of its factor, up to the diagonal. It ends where less than [`LEAST`] is left.
fn pivoted_factor(matrix: &[f64], scales: &[f64]) -> (Vec<usize>, Vec<Vec<f64>>) {
    let n = scales.len();
    let mut remaining: Vec<f64> = (0..n).map(|k| matrix[k * n + k]).collect();
    let mut free: Vec<usize> = (0..n).collect();
    let mut rows: Vec<Vec<f64>> = vec![Vec::new(); n];
    let mut taken = Vec::new();
    loop {
        let left = |k: &usize| remaining[*k] / scales[*k];
        free.retain(|k| left(k) > LEAST);
        let Some(next) = free.iter().copied().max_by(|k, l| left(k).total_cmp(&left(l))) else { break };
        free.retain(|k| *k != next);
        let pivot = remaining[next].sqrt();
        let row = rows[next].clone();
        rows[next].push(pivot);
        taken.push(next);
        for k in &free {
            let entry = (matrix[k * n + next] - dot(&rows[*k], &row)) / pivot;
            rows[*k].push(entry);
            remaining[*k] -= entry * entry;
        }
    }
    let rows = taken.iter().map(|k| std::mem::take(&mut rows[*k])).collect();
    (taken, rows)
}

/// The numbers of those readings that are looked at, one of each place.
fn looked_at(readings: &[Reading]) -> Vec<usize> {
    let mut numbers = Vec::new();
    for channel in Channel::BOTH {
        let of_channel = (0..readings.len()).filter(|number| readings[*number].channel == channel);
        let of_channel: Vec<usize> = of_channel.collect();
        let pairs: Vec<&[usize]> = of_channel.chunks(2).collect();
        let taken = pairs.len().min(MOST[channel] / 2);
        numbers.extend((0..taken).flat_map(|pair| pairs[pair * pairs.len() / taken]));
    }
    let mut places = HashSet::new();
    numbers.retain(|number| {
        let Reading { channel, spot, .. } = readings[*number];
        places.insert((channel, spot.at.map(f64::to_bits)))
    });
    numbers
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_distr::StandardNormal;
    use scope_data::Constants;
    use scope_pde::{Pde, random::Coordinates};

    use super::*;
    use crate::{Prior, rounding_noise};

    const SIZE: usize = 32;

    /// What 300 sensors of a field say of a draw that is changed, beside the plan for them.
    fn judged(
        prior: &Prior,
        channel: Channel,
        record: u64,
        change: impl Fn(f64, f64) -> f64,
    ) -> Option<ModelCheck> {
        let constants = Constants::generated(Pde::POISSON);
        let deviations = constants.map(|scaling| scaling.sigma);
        let mut stream = Coordinates::new("test-innovations").number(record).stream();
        let latent = prior.draw(&mut stream);
        let field = &prior.fields(latent).unwrap()[channel];
        let readings: Vec<Reading> = (0..300)
            .map(|_| {
                let point = stream.random_range(0..SIZE * SIZE);
                let error: f64 = stream.sample(StandardNormal);
                let value = change(field[point], deviations[channel] * error);
                Reading::of_pixel(channel, point, SIZE, value)
            })
            .collect();
        let plan = Innovations::plan(prior, &readings, rounding_noise(&constants), deviations).unwrap();
        plan.least_alike(&readings)
    }

    #[test]
    fn draws_are_like_the_prior_and_other_readings_are_not() {
        let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
        for channel in Channel::BOTH {
            for record in 0..40 {
                assert_eq!(judged(&prior, channel, record, |value, _| value), None, "{channel:?} {record}");
            }
            let larger = judged(&prior, channel, 0, |value, _| 2.0 * value).unwrap();
            let smaller = judged(&prior, channel, 0, |value, _| 0.5 * value).unwrap();
            assert!(larger.statistic > 2.0 * larger.degrees as f64);
            assert!(smaller.statistic < 0.5 * smaller.degrees as f64);
        }
    }

    #[test]
    fn a_noise_of_a_tenth_of_a_is_noticed() {
        let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
        for record in 0..5 {
            let noisy = judged(&prior, Channel::A, record, |value, error| value + 0.1 * error);
            let ModelCheck { statistic, degrees, .. } = noisy.unwrap();
            assert!(statistic > 1.2 * degrees as f64, "{statistic} of {degrees}");
        }
    }

    /// Bands about a that rest on curvatures of u do not hold beside errors that a look at the coarse scales does not
    /// show.
    #[test]
    fn a_noise_of_a_five_hundredth_of_u_is_noticed_and_four_digits_are_not() {
        let prior = Prior::new(Pde::POISSON, SIZE).unwrap();
        let four_digits = |value: f64, _: f64| format!("{value:.3e}").parse().unwrap();
        for record in 0..20 {
            let noisy = judged(&prior, Channel::U, record, |value, error| value + 2e-3 * error);
            assert!(noisy.is_some_and(|check| check.statistic > check.degrees as f64), "{record}: {noisy:?}");
            assert_eq!(judged(&prior, Channel::U, record, four_digits), None, "{record}");
        }
    }

    #[test]
    fn many_readings_are_looked_at_in_pairs_once_each() {
        let reading = |point: usize| Reading::of_pixel(Channel::U, point % 1000, SIZE, 0.0);
        let many: Vec<Reading> = (0..1000).map(reading).collect();
        let numbers = looked_at(&many);
        assert_eq!(numbers.len(), MOST.u);
        assert_eq!(numbers[..6], [0, 1, 2, 3, 6, 7]);
        assert_eq!(looked_at(&[reading(5), reading(5)]), [0]);
    }
}
