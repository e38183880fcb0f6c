//! What the other sensors say of each: leave-one-out residuals in closed form, and sensors that do not fit the rest.
//!
//! With W = (K + s^2)^-1 and w = W y, the other sensors expect y_i - w_i / W_ii of sensor i, and its own value differs
//! from that with variance 1 / W_ii. Leaving sensor j out for good takes c c^T / W_jj from W, with c its column: what
//! remains needs no new factor. Where the prior was estimated, held-out fields say how far readings usually are from
//! that.

use std::collections::{HashMap, HashSet};

use crate::{
    chi_square,
    deviations::CLOSED_FORM_LIMIT,
    error::PosteriorError,
    held_out::HeldOutReadings,
    model_check::{CONTRADICTION, ModelCheck, wrong_zeros},
    posterior::Posterior,
    progress::{Progress, Stage, UNHEARD, tell},
    sensors::{Sensors, Used},
};

/// Sound sensors of the model are suspected with this probability, all of them together.
const FALSE_ALARM: f64 = 1e-4;

/// At most this share of all sensors, and this many, are suspected.
const MOST_SHARE: f64 = 0.1;
const MOST: usize = 50;

/// This many where each takes conjugate gradients.
const MOST_ITERATIVE: usize = 5;

/// Readings whose squares are on average so many times what they should be are no measure for others: then the model is
/// wrong for all of them, and no few are to blame.
const MOST_SCATTER: f64 = 10.0;

/// What the other sensors say of a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The value that sensors at other places make us expect; suspects are not asked.
    pub expected: f64,
    /// The standard deviation of the reading about it.
    pub deviation: f64,
    /// Whether the reading does not fit the others.
    pub suspect: bool,
}

/// Each reading beside what the others say.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaveOneOut {
    /// What the others say of each reading, in the order of the readings.
    pub predictions: Vec<Prediction>,
    /// The test of the readings that are not suspected.
    pub rest: ModelCheck,
}

impl Prediction {
    /// How far a reading is from what is expected, in standard deviations.
    pub fn score(&self, value: f64) -> f64 {
        let apart = value - self.expected;
        if apart == 0.0 { 0.0 } else { apart / self.deviation }
    }
}

impl Posterior<'_> {
    /// \[n\]: the diagonal of W, in closed form or from draws.
    pub(crate) fn inverse_diagonal(&self, progress: Progress) -> Result<Vec<f64>, PosteriorError> {
        let n = self.sensors.len();
        match &self.factor {
            Some(factor) if n <= CLOSED_FORM_LIMIT => {
                tell(progress, Stage::Residuals, 0, n)?;
                Ok(factor.inverse_diagonal())
            }
            _ => Ok(self.probes(progress)?.diagonal.clone()),
        }
    }

    /// Each reading beside what the others say; none where conjugate gradients did not come to an end. For more than
    /// [`CLOSED_FORM_LIMIT`] sensors variances are estimated from draws; of sensors that were left out anyway, those
    /// kept say what is expected.
    pub fn leave_one_out(&self) -> Option<LeaveOneOut> {
        self.leave_one_out_watched(UNHEARD).ok()?
    }

    /// As [`Self::leave_one_out`], with progress that is told and can be stopped.
    pub fn leave_one_out_watched(&self, progress: Progress) -> Result<Option<LeaveOneOut>, PosteriorError> {
        let sensors = &self.sensors;
        let stopped = self.is_approximate() && self.all.is_none();
        let Some(check) = self.check.filter(|_| !stopped) else { return Ok(None) };
        let held_out = self.of_held_out(progress)?;
        let usual = held_out.map_or(1.0, |held_out| held_out.distance);
        let stands_out = held_out.map_or(0.0, |held_out| held_out.largest.range(FALSE_ALARM)[1]);
        let limit = usual * threshold(sensors.len() + wrong_zeros(sensors).count()).max(stands_out);
        let mut remaining = Remaining::new(self, check.statistic, progress)?;
        let suspects = remaining.leave_out_suspects(limit, progress)?;
        let unused =
            self.all.as_deref().map(|all| Unused::new(self, all, &remaining, progress)).transpose()?;
        // Readings that were not used, or are of what is zero by definition, are to blame only if the others are not.
        let others = (sensors.len() - suspects.len()) as f64;
        let blamed = remaining.statistic < MOST_SCATTER * remaining.usual_scatter() * others.max(1.0);
        let other_limit = if blamed { limit } else { f64::INFINITY };
        let of_sensor = |sensor: usize, reading: &Used| {
            let (residual, variance) = remaining.residual(sensor);
            // A reading that shares its place with others has more noise than their mean.
            let variance = variance + reading.noise * (1.0 - 1.0 / sensors.repeats[sensor]);
            let expected = sensors.means[sensor] + sensors.values[sensor] - residual;
            Prediction { expected, deviation: usual * variance.sqrt(), suspect: suspects.contains(&sensor) }
        };
        let predict = |reading: &Used| match (reading.sensor, &unused) {
            (Some(sensor), None) => of_sensor(sensor, reading),
            (Some(sensor), Some(unused)) => match unused.kept.get(&sensor) {
                Some(kept) => of_sensor(*kept, reading),
                None => unused.predict(sensor, reading, other_limit),
            },
            (None, _) => {
                let deviation = reading.noise.sqrt();
                Prediction {
                    expected: 0.0,
                    deviation,
                    suspect: reading.value.abs() > other_limit * deviation,
                }
            }
        };
        let readings = &self.all.as_deref().unwrap_or(sensors).readings;
        let mut predictions: Vec<Prediction> = readings.iter().map(predict).collect();
        acquit_sound_ones(readings, &mut predictions, limit / usual);
        Ok(Some(LeaveOneOut { predictions, rest: remaining.check(other_limit) }))
    }
}

/// Of several readings of a suspected place those are to blame that are beyond a limit themselves, if any is.
fn acquit_sound_ones(readings: &[Used], predictions: &mut [Prediction], limit: f64) {
    let is_far = |(reading, prediction): (&Used, &Prediction)| {
        prediction.suspect && prediction.score(reading.value).abs() > limit
    };
    let far: Vec<bool> = readings.iter().zip(&*predictions).map(is_far).collect();
    let blamed: HashSet<usize> = readings
        .iter()
        .zip(&far)
        .filter(|(_, far)| **far)
        .filter_map(|(reading, _)| reading.sensor)
        .collect();
    for ((reading, prediction), far) in readings.iter().zip(predictions).zip(far) {
        prediction.suspect &= far || !reading.sensor.is_some_and(|sensor| blamed.contains(&sensor));
    }
}

/// Sensors that were left out for being too many, beside what those kept say of them.
struct Unused {
    /// The numbers, among those kept, of sensors that were.
    kept: HashMap<usize, usize>,
    /// What is expected of all sensors.
    expected: Vec<f64>,
    /// The variances of means over readings about it.
    variances: Vec<f64>,
}

impl Unused {
    fn new(
        posterior: &Posterior,
        all: &Sensors,
        remaining: &Remaining,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        let latent = posterior.sensors.spread(posterior.prior, &remaining.weights);
        let kept = all.thinned_to(posterior.sensors.len());
        Ok(Self {
            kept: kept.into_iter().enumerate().map(|(new, old)| (old, new)).collect(),
            expected: (all.observe(posterior.prior, &latent).iter().zip(&all.means))
                .map(|(expected, mean)| expected + mean)
                .collect(),
            variances: posterior
                .probes(progress)?
                .at_all
                .iter()
                .zip(&all.interpolation)
                .map(|(x, y)| x + y)
                .collect(),
        })
    }

    fn predict(&self, sensor: usize, reading: &Used, limit: f64) -> Prediction {
        let expected = self.expected[sensor];
        let deviation = (self.variances[sensor] + reading.noise).sqrt();
        Prediction { expected, deviation, suspect: (reading.value - expected).abs() > limit * deviation }
    }
}

/// A sensor is suspected beyond so many standard deviations: none of n sound ones lies there, with a probability of all
/// but
/// [`FALSE_ALARM`].
fn threshold(n: usize) -> f64 {
    chi_square::quantile(FALSE_ALARM / n.max(1) as f64, 1).sqrt()
}

/// Sensors of which some have been left out.
struct Remaining<'a> {
    posterior: &'a Posterior<'a>,
    /// What held-out fields say of the sensors, if any were asked.
    held_out: Option<&'a HeldOutReadings>,
    /// \[n\]: w = W y of those that remain.
    weights: Vec<f64>,
    /// \[n\]: the diagonal of W.
    diagonal: Vec<f64>,
    /// The chi-square statistic y^T W y.
    statistic: f64,
    /// Those left out, in order.
    left_out: Vec<usize>,
    /// \[n\] each: c / sqrt(W_jj), c the column of W when j was left out.
    columns: Vec<Vec<f64>>,
    /// w_j / sqrt(W_jj) when j was left out.
    shares: Vec<f64>,
}

impl<'a> Remaining<'a> {
    fn new(posterior: &'a Posterior<'a>, statistic: f64, progress: Progress) -> Result<Self, PosteriorError> {
        let held_out = posterior.of_held_out(progress)?;
        let diagonal = match held_out {
            Some(held_out) => held_out.diagonal.clone(),
            None => posterior.inverse_diagonal(progress)?,
        };
        let weights = posterior.weights.clone();
        let left_out = Vec::new();
        let columns = Vec::new();
        let shares = Vec::new();
        Ok(Self { posterior, held_out, weights, diagonal, statistic, left_out, columns, shares })
    }

    /// The statistic over the number of sensors that fields of the prior usually have.
    fn usual_scatter(&self) -> f64 {
        self.held_out.map_or(1.0, |held_out| held_out.scatter)
    }

    /// The test of those that remain, with readings up to a limit of what is zero by definition.
    fn check(&self, limit: f64) -> ModelCheck {
        let sensors = &self.posterior.sensors;
        let zeros = wrong_zeros(sensors).map(|reading| reading.value.powi(2) / reading.noise);
        let sound: Vec<f64> = zeros.filter(|square| square.sqrt() <= limit).collect();
        let statistic = self.statistic + sound.iter().sum::<f64>();
        let degrees = sensors.len() - self.left_out.len() + sound.len();
        let usual = self.held_out.map(|held_out| held_out.statistic.range(CONTRADICTION));
        ModelCheck { statistic, degrees, usual }
    }

    /// The square of each sensor's distance from what the others expect, in standard deviations: what the statistic
    /// loses without it.
    fn square(&self, i: usize) -> f64 {
        self.weights[i].powi(2) / self.diagonal[i]
    }

    /// The worst of those that remain.
    fn worst(&self) -> Option<usize> {
        let present = (0..self.weights.len()).filter(|i| !self.left_out.contains(i));
        present.max_by(|i, j| self.square(*i).total_cmp(&self.square(*j)))
    }

    /// Leaves out the worst sensors one by one, as long as any may be suspected, and takes back what went too far:
    /// suspects are as many of them as possible of which the last stands out from those that remain, whose own scatter
    /// may be larger than the noise that was stated (a generalised extreme Studentised deviate test). They are given in
    /// order.
    fn leave_out_suspects(&mut self, limit: f64, progress: Progress) -> Result<Vec<usize>, PosteriorError> {
        let n = self.weights.len();
        let affordable = if self.posterior.is_direct() { MOST } else { MOST_ITERATIVE };
        let most = ((MOST_SHARE * n as f64) as usize).clamp(1, affordable).min(n.saturating_sub(2));
        let mut states = vec![(self.weights.clone(), self.diagonal.clone(), self.statistic)];
        let mut suspects = 0;
        for step in 1..=most {
            let Some(worst) = self.worst().filter(|worst| self.square(*worst) > limit * limit) else { break };
            tell(progress, Stage::Residuals, step, most)?;
            let column = self.column(worst, progress)?;
            // An estimate of the diagonal may have been too small.
            self.diagonal[worst] = column[worst];
            let square = self.square(worst);
            if square <= limit * limit {
                continue;
            }
            self.leave_out(worst, column);
            states.push((self.weights.clone(), self.diagonal.clone(), self.statistic));
            let scatter = self.statistic / ((n - self.left_out.len()) as f64 * self.usual_scatter());
            let scatter = scatter.max(1.0);
            if scatter < MOST_SCATTER && square > limit * limit * scatter {
                suspects = self.left_out.len();
            }
        }
        let (weights, diagonal, statistic) = states.swap_remove(suspects);
        self.weights = weights;
        self.diagonal = diagonal;
        self.statistic = statistic;
        self.left_out.truncate(suspects);
        self.columns.truncate(suspects);
        self.shares.truncate(suspects);
        Ok(self.left_out.clone())
    }

    /// How far a sensor is from what the remaining others expect, and the variance of that.
    fn residual(&self, i: usize) -> (f64, f64) {
        match self.left_out.iter().position(|left_out| *left_out == i) {
            Some(place) => self.residual_of_left_out(place),
            None => (self.weights[i] / self.diagonal[i], 1.0 / self.diagonal[i]),
        }
    }

    /// Those left out have W_RR = T T^T with T(l, k) = v_k(j_l), v_k the kept columns: T is lower triangular, as a
    /// sensor that is gone has no entry. Their residuals are T^-T s, s the shares, with covariance T^-T T^-1.
    fn residual_of_left_out(&self, place: usize) -> (f64, f64) {
        // Row `place` of T^-T, that is column `place` of T^-1, by forward substitution.
        let count = self.left_out.len();
        let mut inverse = vec![0.0; count];
        for l in place..count {
            let unit = f64::from(u8::from(l == place));
            let known: f64 = (place..l).map(|k| self.columns[k][self.left_out[l]] * inverse[k]).sum();
            inverse[l] = (unit - known) / self.columns[l][self.left_out[l]];
        }
        let residual = inverse.iter().zip(&self.shares).map(|(x, share)| x * share).sum();
        (residual, inverse.iter().map(|x| x * x).sum())
    }

    /// The column of W of a sensor, given those that remain.
    fn column(&self, j: usize, progress: Progress) -> Result<Vec<f64>, PosteriorError> {
        let mut unit = vec![0.0; self.weights.len()];
        unit[j] = 1.0;
        let mut column = self.posterior.expect(unit, progress)?.weights;
        for earlier in &self.columns {
            let share = earlier[j];
            column.iter_mut().zip(earlier).for_each(|(x, earlier)| *x -= share * earlier);
        }
        Ok(column)
    }

    fn leave_out(&mut self, j: usize, mut column: Vec<f64>) {
        let scale = 1.0 / column[j].sqrt();
        column.iter_mut().for_each(|x| *x *= scale);
        let share = self.weights[j] * scale;
        self.statistic -= share * share;
        self.weights.iter_mut().zip(&column).for_each(|(w, c)| *w -= share * c);
        // Of an estimate nothing may be left: it is then looked at anew.
        let left = |w: f64, c: f64| (w - c * c).max(f64::MIN_POSITIVE);
        self.diagonal.iter_mut().zip(&column).for_each(|(w, c)| *w = left(*w, *c));
        self.left_out.push(j);
        self.shares.push(share);
        self.columns.push(column);
    }
}
