//! Bands for one set of sensors, from fresh records of the problem's own solver seen by these very sensors.

use rand::RngExt;
use rand_distr::StandardNormal;
use rayon::prelude::*;
use scope_data::{
    Channel, DataError, PerChannel,
    observation::{Placed, STENCIL_POINTS, Stencil, UserContext},
};
use scope_model::Fields;
use scope_pde::{Generator, GridShape, Identity, Pde, PdeError, Record, Split, random::Coordinates};

use super::LEVELS;
use crate::{
    error::EvalError,
    method::RecoveryMethod,
    trust::{Calibrated, Fitted, estimate_noise, misfit_percent},
};

/// The seed of the fresh records, which are test records: no training set has them.
const SEED: u64 = 20261213;
/// Records recovered together; a browser's module, whose memory never shrinks, has room for few.
const TOGETHER: usize = if cfg!(target_family = "wasm") { 4 } else { 32 };

/// Fresh records that a method's bands are measured on, for any sensors.
pub struct OnTheSpot {
    generator: Generator,
    identity: Identity,
    records: usize,
    noise: PerChannel<f64>,
}

/// What fresh records say of a method with one set of sensors.
#[derive(Clone, Debug)]
pub struct SpotMeasures {
    /// The half-widths of each level, in physical units.
    pub half_widths: [Fields; 2],
    /// Its errors, and how far its recoveries are from the measurements.
    pub calibrated: Calibrated,
}

/// What one fresh record says.
struct OfRecord {
    error_percent: PerChannel<Option<f64>>,
    misfit_percent: PerChannel<Option<f64>>,
    noise: PerChannel<Option<f64>>,
}

impl OnTheSpot {
    /// So many records of a problem on a square grid, whose sensors are off by a noise with these standard deviations
    /// for a and u.
    pub fn new(
        pde: Pde,
        grid: impl Into<GridShape>,
        records: usize,
        noise: PerChannel<f64>,
    ) -> Result<Self, EvalError> {
        if pde.has_disk() {
            return Err(EvalError::Mismatch(format!(
                "fresh {pde} records have other disks than yours: bands cannot be measured on the spot"
            )));
        }
        if pde.descriptor().solver.is_none() {
            return Err(EvalError::Mismatch(format!(
                "{pde} has no solver to make fresh records with: its bands come from held-out records (scope model calibrate)"
            )));
        }
        if LEVELS.iter().any(|level| rank(*level, records).is_none()) {
            return Err(EvalError::Mismatch(format!(
                "{records} fresh records cannot tell bands of {LEVELS:?}: take at least 19"
            )));
        }
        let grid = grid.into();
        let resolution = grid.side().ok_or_else(|| {
            EvalError::Mismatch(format!("the solver of {pde} makes square fields, and the grid is {grid}"))
        })?;
        let identity = Identity { pde, seed: SEED, split: Split::Test, resolution };
        Ok(Self { generator: Generator::new(identity)?, identity, records, noise })
    }

    /// Bands and mean errors. The half-width of a level is, at every pixel, the error that comes k-th of the n fresh
    /// records' errors at that pixel, with k = level (n + 1), rounded up. A further record's error there is as likely
    /// to come anywhere among them, so it lies within with probability k / (n + 1). `progress` hears how many records
    /// are done, and says whether to go on.
    pub fn measure(
        &self,
        method: &dyn RecoveryMethod,
        sensors: &UserContext,
        progress: &dyn Fn(usize) -> bool,
    ) -> Result<SpotMeasures, EvalError> {
        let Identity { pde, resolution, .. } = self.identity;
        let pixels = resolution.pow(2);
        let stencil = |at: &Placed| Stencil::new(pde, at.channel, resolution, at.spot, STENCIL_POINTS);
        let stencils: Vec<Stencil> = sensors.sensors.iter().map(stencil).collect();
        let mut errors = vec![0.0_f32; self.records * 2 * pixels];
        let mut of_records = Vec::with_capacity(self.records);
        for (batch, errors) in errors.chunks_mut(TOGETHER * 2 * pixels).enumerate() {
            let first = batch * TOGETHER;
            let records: Vec<usize> = (first..first + errors.len() / (2 * pixels)).collect();
            of_records.extend(self.batch(method, (sensors, &stencils), &records, errors)?);
            if !progress(first + records.len()) {
                return Err(DataError::Interrupted.into());
            }
        }
        let of = |at: usize| {
            let mut sizes: Vec<f32> = errors.iter().skip(at).step_by(2 * pixels).copied().collect();
            sizes.sort_unstable_by(f32::total_cmp);
            LEVELS.map(|level| rank(level, self.records).map_or(f32::INFINITY, |rank| sizes[rank - 1]))
        };
        let widths: Vec<[f32; 2]> = (0..2 * pixels).into_par_iter().map(of).collect();
        let half_widths = [0, 1].map(|level| {
            let mut both: Vec<f32> = widths.iter().map(|widths| widths[level]).collect();
            let u = both.split_off(pixels);
            Fields { a: both, u }
        });
        Ok(SpotMeasures { half_widths, calibrated: self.summed_up(&of_records) })
    }

    /// Means and extremes over records.
    fn summed_up(&self, records: &[OfRecord]) -> Calibrated {
        let values = |of: fn(&OfRecord) -> &PerChannel<Option<f64>>, channel: Channel| -> Vec<f64> {
            records.iter().filter_map(|record| of(record)[channel]).collect()
        };
        let largest = |of: fn(&OfRecord) -> &PerChannel<Option<f64>>| {
            PerChannel::from_fn(|channel| values(of, channel).into_iter().max_by(f64::total_cmp))
        };
        let error_percent = PerChannel::from_fn(|channel| {
            let errors = values(|record| &record.error_percent, channel);
            (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
        });
        Calibrated {
            records: self.records,
            error_percent,
            largest_misfit_percent: largest(|record| &record.misfit_percent),
            largest_noise: largest(|record| &record.noise),
        }
    }

    /// Writes |error| of some records, \[n, 2, S, S\], and says what else each of them says.
    fn batch(
        &self,
        method: &dyn RecoveryMethod,
        (sensors, stencils): (&UserContext, &[Stencil]),
        records: &[usize],
        errors: &mut [f32],
    ) -> Result<Vec<OfRecord>, EvalError> {
        let constants = method.constants();
        let truths = records
            .par_iter()
            .map(|record| self.generator.record(*record as u64))
            .collect::<Result<Vec<_>, PdeError>>()?;
        let see = |(record, truth): (&usize, &Record)| {
            let values = self.values(*record, truth, &sensors.sensors, stencils);
            sensors.with_values(&constants, &values)
        };
        let mut contexts: Vec<UserContext> = records.iter().zip(&truths).map(see).collect();
        let recovered = method.recover_sensors(&mut contexts).map_err(EvalError::Method)?;
        let pixels = self.identity.resolution.pow(2);
        for ((errors, fields), truth) in errors.chunks_mut(2 * pixels).zip(&recovered).zip(&truths) {
            let got = fields.iter().flatten();
            for ((error, got), truth) in errors.iter_mut().zip(got).zip(truth.fields.iter().flatten()) {
                *error = (f64::from(*got) - truth).abs() as f32;
            }
        }
        let of_record = |((context, fields), truth): ((&UserContext, &Fields), &Record)| {
            let fitted =
                PerChannel::from_fn(|channel| Fitted::all(self.identity.pde, context, fields, channel));
            OfRecord {
                error_percent: PerChannel::from_fn(|channel| {
                    relative_error(&fields[channel], &truth.fields[channel])
                }),
                misfit_percent: fitted.each_ref().map(|sensors| misfit_percent(sensors)),
                noise: fitted.each_ref().map(|sensors| estimate_noise(sensors)),
            }
        };
        Ok(contexts.par_iter().zip(&recovered).zip(&truths).map(of_record).collect())
    }

    /// What sensors say of a record, with their noise.
    fn values(&self, record: usize, truth: &Record, sensors: &[Placed], stencils: &[Stencil]) -> Vec<f64> {
        let mut streams = PerChannel::from_fn(|channel| {
            Coordinates::new("band-noise").number(SEED).number(record as u64).text(channel.name()).stream()
        });
        let value = |(sensor, stencil): (&Placed, &Stencil)| {
            let channel = sensor.channel;
            let error: f64 = streams[channel].sample(StandardNormal);
            stencil.value(&truth.fields[channel]) + self.noise[channel] * error
        };
        sensors.iter().zip(stencils).map(value).collect()
    }
}

/// 100 |recovered - truth| / |truth|; none for a truth of zeros.
fn relative_error(recovered: &[f32], truth: &[f64]) -> Option<f64> {
    let apart: f64 = recovered.iter().zip(truth).map(|(got, truth)| (f64::from(*got) - truth).powi(2)).sum();
    let size: f64 = truth.iter().map(|truth| truth.powi(2)).sum();
    (size > 0.0).then(|| 100.0 * (apart / size).sqrt())
}

/// Which of n sorted errors holds a further one with probability `level` or a little more; none if all n are too few.
pub fn rank(level: f64, records: usize) -> Option<usize> {
    let rank = (level * (records + 1) as f64).ceil() as usize;
    (1..=records).contains(&rank).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_records_tell_no_wide_band() {
        assert_eq!((rank(0.95, 18), rank(0.95, 19), rank(0.68, 99)), (None, Some(19), Some(68)));
    }

    proptest! {
        /// Of n + 1 errors, each left out in turn lies within the band of the others exactly as often as stated, or up
        /// to one in n + 1 more often.
        #[test]
        fn errors_left_out_are_covered_as_stated(
            errors in prop::collection::hash_set(0..1_000_000_u32, 21..60),
            level in 0.05..0.95_f64,
        ) {
            let errors: Vec<u32> = errors.into_iter().collect();
            let n = errors.len() - 1;
            let covered = (0..=n).filter(|left_out| {
                let mut others = errors.clone();
                let fresh = others.swap_remove(*left_out);
                others.sort_unstable();
                rank(level, n).is_none_or(|rank| fresh <= others[rank - 1])
            });
            let share = covered.count() as f64 / (n + 1) as f64;
            let most = level + 1.0 / (n + 1) as f64;
            prop_assert!(share >= level - 1e-12 && share <= most + 1e-12, "{share} of {level}");
        }
    }
}
