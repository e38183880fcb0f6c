//! Whether measurements contradict the model: the prior, the solver and the noise that was stated.

use scope_data::PerChannel;
use scope_pde::linear::cholesky::{Cholesky, dot};

use crate::{
    chi_square,
    posterior::Posterior,
    progress::UNHEARD,
    sensors::{Sensors, Used},
};

/// Measurements of the model itself are taken to contradict it with this probability.
pub(crate) const CONTRADICTION: f64 = 1e-4;

/// The noise at which measurements would agree with the model is found from this many of them at most.
const NOISE_SENSORS: usize = 500;

/// The range of shares of a field's standard deviation among which a noise is looked for, and how often it is halved.
const SHARES: [f64; 2] = [1e-9, 1e9];
const HALVINGS: usize = 40;

/// A chi-square test of the whitened measurements: y^T (K + s^2)^-1 y has a chi-square distribution with as many
/// degrees of freedom as there are measurements, if fields are draws from the prior and the noise is as stated. Where
/// the prior was estimated, it is compared with what held-out fields have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelCheck {
    /// y^T (K + s^2)^-1 y.
    pub statistic: f64,
    /// The number of measurements, those of one place counted once.
    pub degrees: usize,
    /// The least and the largest statistic over the number of measurements that are not unusual, where held-out fields
    /// say so.
    pub usual: Option<[f64; 2]>,
}

impl ModelCheck {
    /// A test by the chi-square distribution.
    pub(crate) fn new(statistic: f64, degrees: usize) -> Self {
        Self { statistic, degrees, usual: None }
    }

    /// The probability that measurements of the model give a larger statistic.
    pub fn probability(&self) -> f64 {
        chi_square::survival(self.statistic, self.degrees)
    }

    /// Whether the model and the measurements cannot both be right.
    pub fn contradicts(&self) -> bool {
        match self.usual {
            Some([_, most]) => self.ratio() > most,
            None => self.probability() < CONTRADICTION,
        }
    }

    /// Whether the measurements scatter less than the noise that was stated: it is too large.
    pub fn is_too_calm(&self) -> bool {
        match self.usual {
            Some([least, _]) => self.ratio() < least,
            None => 1.0 - self.probability() < CONTRADICTION,
        }
    }

    pub(crate) fn ratio(&self) -> f64 {
        self.statistic / self.degrees.max(1) as f64
    }
}

impl Posterior<'_> {
    /// The test of the measurements, or of as many as were factored; none without any.
    pub fn model_check(&self) -> Option<ModelCheck> {
        let edge = wrong_zeros(&self.sensors).map(|reading| reading.value.powi(2) / reading.noise);
        let ModelCheck { statistic, degrees, .. } = self.check?;
        let statistic = statistic + edge.sum::<f64>();
        let degrees = degrees + wrong_zeros(&self.sensors).count();
        // Held-out fields were looked at before, or are now: nobody waits to stop that.
        let held_out = self.of_held_out(UNHEARD).ok()?;
        let usual = held_out.map(|readings| readings.statistic.range(CONTRADICTION));
        (degrees > 0).then_some(ModelCheck { statistic, degrees, usual })
    }

    /// The noise with which the measurements would agree with the model, as a share of the standard deviations of the
    /// fields that are given: where y^T (K + s^2)^-1 y is what it is expected to be. Of many sensors some are asked.
    /// None where no noise does.
    pub fn consistent_noise(&self, deviations: PerChannel<f64>) -> Option<f64> {
        let few = self.sensors.thinned(NOISE_SENSORS.min(self.sensors.len()));
        let expected = (few.len() + wrong_zeros(&few).count()) as f64;
        let kernel = self.prior.sensor_covariance(few.stencils(), UNHEARD).ok()?;
        let squares = deviations.map(|deviation| deviation.powi(2));
        let is_consistent = |share: f64| {
            let noise = squares.map(|square| square * share.powi(2));
            let edge = wrong_zeros(&few).map(|reading| reading.value.powi(2) / noise[reading.channel]);
            statistic(&few, &kernel, noise) + edge.sum::<f64>() <= expected
        };
        let [mut low, mut high] = SHARES.map(f64::ln);
        if expected == 0.0 || !is_consistent(high.exp()) {
            return None;
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if is_consistent(middle.exp()) { high = middle } else { low = middle }
        }
        Some(high.exp())
    }
}

/// Readings that are not zero of what is zero by definition. Those that are zero say nothing: whoever writes them down
/// has not measured them.
pub(crate) fn wrong_zeros(sensors: &Sensors) -> impl Iterator<Item = &Used> {
    sensors.silent().filter(|reading| reading.value != 0.0)
}

/// y^T (K + s^2)^-1 y for another noise of all sensors; infinite where K + s^2 cannot be factored.
fn statistic(sensors: &Sensors, kernel: &[f64], noise: PerChannel<f64>) -> f64 {
    let n = sensors.len();
    let mut matrix = kernel.to_vec();
    for k in 0..n {
        matrix[k * n + k] += if sensors.is_known[k] {
            sensors.noise[k]
        } else {
            noise[sensors.channel(k)] / sensors.repeats[k] + sensors.interpolation[k]
        };
    }
    let Ok(factor) = Cholesky::new(matrix, n) else { return f64::INFINITY };
    let mut weights = sensors.values.clone();
    factor.solve(&mut weights);
    dot(&sensors.values, &weights)
}
