//! What the statements of a posterior are worth, measured on fields that its prior was not made from.
//!
//! A prior that was estimated from records is not quite their distribution: modes follow the very records that they
//! were found in, fields are not Gaussian, and what modes leave out is not as rough as is assumed. So the same sensors
//! with the same noise look at fields that were held out, and what is made of these is measured.

use rand::RngExt;
use rand_distr::StandardNormal;
use scope_data::PerChannel;
use scope_pde::{linear::cholesky::dot, random::Coordinates};

use crate::{
    deviations::CLOSED_FORM_LIMIT,
    error::PosteriorError,
    observation_model::Stencils,
    posterior::Posterior,
    prediction_interval::PredictionInterval,
    progress::{Progress, Stage, in_parallel},
};

/// With fewer held-out fields than this nothing is said: 95% of the pixels could not be told from all.
pub const FEWEST_HELD_OUT: usize = 20;

/// The seed of the readings' errors.
const SEED: u64 = 20_261_119;

/// Fields that a prior was not made from, and that are distributed as those that it was.
pub trait HeldOutFields: Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// What sensors say of one beyond the prior's mean, without noise.
    fn readings(&self, index: usize, sensors: Stencils) -> Vec<f64>;

    /// \[n, pixels\] of a and of u: what latent vectors leave of the fields from number `first` on, in physical units.
    fn left_by(&self, first: usize, latents: &[Vec<f64>]) -> PerChannel<Vec<f32>>;
}

/// What a posterior's sensors say of held-out fields.
pub(crate) struct HeldOutReadings {
    /// (K + s^2)^-1 y of each field.
    pub(crate) weights: Vec<Vec<f64>>,
    /// \[n\]: the diagonal of (K + s^2)^-1.
    pub(crate) diagonal: Vec<f64>,
    /// y^T (K + s^2)^-1 y over the number of sensors, of each field.
    pub(crate) statistics: Vec<f64>,
    pub(crate) statistic: PredictionInterval,
    /// Their mean.
    pub(crate) scatter: f64,
    /// The root mean square of the readings' distances from what the others say, in the deviations that are stated of
    /// these.
    pub(crate) distance: f64,
    /// The largest distance of each field, in units of that and, if its readings scatter more than usual, of their
    /// scatter.
    pub(crate) largest: PredictionInterval,
}

impl Posterior<'_> {
    /// How many held-out fields are asked what its statements are worth: none if its prior is exact or has too few, or
    /// if sensors are so many that they take conjugate gradients.
    pub fn held_out_fields(&self) -> usize {
        let all = self.prior.held_out().map_or(0, |fields| fields.count());
        match self.sensors.len() {
            _ if all < FEWEST_HELD_OUT || !self.is_direct() => 0,
            0 => 0,
            1..=CLOSED_FORM_LIMIT => all,
            _ => FEWEST_HELD_OUT,
        }
    }

    /// What the sensors say of held-out fields, if any are asked; they are looked at once.
    pub(crate) fn of_held_out(&self, progress: Progress) -> Result<Option<&HeldOutReadings>, PosteriorError> {
        let count = self.held_out_fields();
        let Some(fields) = self.prior.held_out().filter(|_| count > 0) else { return Ok(None) };
        if let Some(known) = self.held_out.get() {
            return Ok(Some(known));
        }
        let at_once = rayon::current_num_threads();
        let weigh = |index: usize| {
            let readings = self.spoiled(fields.readings(index, self.sensors.stencils()), index);
            let weights = self.expect(readings.clone(), progress)?.weights;
            Ok((dot(&readings, &weights) / readings.len() as f64, weights))
        };
        let weighed = in_parallel(progress, Stage::HeldOut, count, at_once, weigh)?;
        let (statistics, weights): (Vec<f64>, Vec<Vec<f64>>) = weighed.into_iter().unzip();
        let diagonal = self.inverse_diagonal(progress)?;
        let squares = |weights: &Vec<f64>| -> Vec<f64> {
            weights.iter().zip(&diagonal).map(|(weight, diagonal)| weight.powi(2) / diagonal).collect()
        };
        let squares: Vec<Vec<f64>> = weights.iter().map(squares).collect();
        let mean = squares.iter().flatten().sum::<f64>() / (count * self.sensors.len()) as f64;
        let scatter = statistics.iter().sum::<f64>() / count as f64;
        let largest = |(squares, statistic): (&Vec<f64>, &f64)| {
            let own = (statistic / scatter).max(1.0);
            (squares.iter().copied().fold(0.0, f64::max) / (mean * own)).sqrt()
        };
        let largest: Vec<f64> = squares.iter().zip(&statistics).map(largest).collect();
        Ok(Some(self.held_out.get_or_init(|| HeldOutReadings {
            weights,
            diagonal,
            statistic: PredictionInterval::of(&statistics, 1.0 / self.sensors.len() as f64),
            statistics,
            scatter,
            distance: mean.sqrt(),
            largest: PredictionInterval::of(&largest, 0.0),
        })))
    }

    /// Readings of a held-out field with errors of their own.
    fn spoiled(&self, mut readings: Vec<f64>, index: usize) -> Vec<f64> {
        let mut stream = Coordinates::new("held-out").number(SEED).number(index as u64).stream();
        for (reading, noise) in readings.iter_mut().zip(&self.sensors.noise) {
            let error: f64 = stream.sample(StandardNormal);
            *reading += noise.sqrt() * error;
        }
        readings
    }
}
