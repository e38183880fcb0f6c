//! Standard deviations and half-widths that are true of held-out fields.
//!
//! Of n held-out fields and a further one each is as likely to be the hardest. So a half-width that holds a share
//! p (n + 1) / n of the pixels of the n holds at least p of the further field's, on average over such fields (split
//! conformal prediction, for pixels that come in fields).
//!
//! A field whose readings are further than usual from what was expected has larger errors too. So errors are counted in
//! deviations times a factor that the readings of their own field say: (m + n r) / (m + n) is its square, for n sensors
//! whose statistic is r times as large as usual, as if m more had told that the field is an ordinary one.

use scope_data::{Channel, PerChannel};

use crate::{
    deviations::Deviations,
    error::PosteriorError,
    posterior::Posterior,
    progress::{Progress, Stage, in_parallel},
};

/// As many readings that tell of an ordinary field are there in any case.
const ORDINARY: f64 = 10.0;

/// Fields that are recovered together.
const TOGETHER: usize = 32;

/// The most errors of pixels that are looked at.
const MOST_ERRORS: usize = 1 << 22;

/// Below this share of the prior's deviation a pixel was measured itself, and what is left of it is rounding.
const MEASURED: f64 = 1e-4;

/// What the standard deviations of a posterior are to be multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// How many held-out fields say so.
    pub fields: usize,
    /// How many times as large as usual they are, by how far the readings are from what was expected.
    pub times_usual: f64,
    /// So that the norm of a field of them is that of its errors, on average over fields.
    pub deviation: PerChannel<f64>,
    /// So that this share of the pixels, at least, is no further off; of each level.
    pub half_widths: [PerChannel<f64>; 2],
}

impl Posterior<'_> {
    /// What its standard deviations are to be multiplied by, so that they and half-widths that are to hold these shares
    /// of the pixels are true of held-out fields; none if no field is asked.
    pub fn calibrate(
        &self,
        deviations: &Deviations,
        levels: [f64; 2],
        progress: Progress,
    ) -> Result<Option<Calibration>, PosteriorError> {
        let (Some(readings), Some(fields)) = (self.of_held_out(progress)?, self.prior.held_out()) else {
            return Ok(None);
        };
        let count = readings.weights.len();
        let mut errors = PerChannel::from_fn(|channel| {
            Errors::new(&self.prior.variances()[channel], &deviations.fields[channel], count)
        });
        let at_once = rayon::current_num_threads();
        for (part, weights) in readings.weights.chunks(TOGETHER).enumerate() {
            let latent = |k: usize| Ok(self.sensors.spread(self.prior, &weights[k]));
            let latents = in_parallel(progress, Stage::HeldOut, weights.len(), at_once, latent)?;
            let left = fields.left_by(part * TOGETHER, &latents);
            let own: Vec<f64> = readings.statistics[part * TOGETHER..][..weights.len()]
                .iter()
                .map(|statistic| self.own_factor(statistic / readings.scatter))
                .collect();
            Channel::BOTH.into_iter().for_each(|channel| errors[channel].add(&left[channel], &own));
        }
        let statistic = self.check.map_or(readings.scatter, |check| check.ratio());
        let times_usual = self.own_factor(statistic / readings.scatter);
        let deviation = errors.each_ref().map(|errors| times_usual * errors.ratio());
        let half_widths =
            levels.map(|level| errors.each_mut().map(|errors| times_usual * errors.holding(level)));
        Ok(Some(Calibration { fields: count, times_usual, deviation, half_widths }))
    }

    /// What readings whose statistic is so many times as large as usual say of the errors of their field.
    fn own_factor(&self, times: f64) -> f64 {
        let n = self.sensors.len() as f64;
        ((ORDINARY + n * times) / (ORDINARY + n)).sqrt()
    }
}

/// The errors of some pixels of several fields beside their standard deviations.
struct Errors {
    /// The pixels, with their deviations.
    pixels: Vec<(usize, f64)>,
    /// The pixels of a whole field.
    all: usize,
    /// How many fields are to come.
    fields: usize,
    /// |error| / (deviation x factor of the field).
    sizes: Vec<f32>,
    /// The sum over fields of the root of the sum of squares of |error| / factor.
    norms: f64,
}

impl Errors {
    fn new(variances: &[f64], deviations: &[f64], fields: usize) -> Self {
        let both = deviations.iter().zip(variances).enumerate();
        let uncertain = both.filter(|(_, (deviation, variance))| **deviation > MEASURED * variance.sqrt());
        let uncertain: Vec<(usize, f64)> =
            uncertain.map(|(pixel, (deviation, _))| (pixel, *deviation)).collect();
        // An odd step meets all columns of a grid of even ones.
        let step = match (uncertain.len() * fields).div_ceil(MOST_ERRORS) {
            0 | 1 => 1,
            several => several | 1,
        };
        let pixels = uncertain.into_iter().step_by(step).collect();
        Self { pixels, all: deviations.len(), fields, sizes: Vec::new(), norms: 0.0 }
    }

    /// Takes the errors \[n, pixels\] of some fields, with a factor for each field.
    fn add(&mut self, errors: &[f32], factors: &[f64]) {
        for (field, factor) in errors.chunks_exact(self.all).zip(factors) {
            let mut squares = 0.0;
            for (pixel, deviation) in &self.pixels {
                let error = f64::from(field[*pixel]) / factor;
                squares += error * error;
                self.sizes.push((error.abs() / deviation) as f32);
            }
            self.norms += squares.sqrt();
        }
    }

    /// The mean norm of the errors over that of the deviations; one where nothing is uncertain.
    fn ratio(&self) -> f64 {
        let stated: f64 = self.pixels.iter().map(|(_, deviation)| deviation * deviation).sum();
        if stated > 0.0 { self.norms / (stated.sqrt() * self.fields as f64) } else { 1.0 }
    }

    /// The half-width in deviations that holds a share of a further field's pixels.
    fn holding(&mut self, level: f64) -> f64 {
        let share = level * (1.0 + 1.0 / self.fields as f64);
        let rank = (share * self.sizes.len() as f64).ceil() as usize;
        match self.sizes.len() {
            0 => 1.0,
            length => f64::from(*self.sizes.select_nth_unstable_by(rank.min(length) - 1, f32::total_cmp).1),
        }
    }
}
