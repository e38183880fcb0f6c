//! Fitting: mean, modes and what they leave out, from records.

use std::ops::Range;

use rayon::prelude::*;
use scope_data::{DataError, Dataset};
use scope_exact::FEWEST_HELD_OUT;

use crate::{
    equal_fields::EqualFields,
    error::LinearError,
    fit_file::{About, MOST_VALUES, Source},
    product::{product, subtract_from_rows},
    records::{Records, for_each_block},
    subspace::{Modes, modes},
};

/// One record in so many is kept from the modes: half of these measure how much of other records they hold, and the
/// others stay with the fit, to measure what is said of any sensors.
const HELD_OUT: usize = 10;
/// From so many records on some stay with the fit, and at least so many measure what modes leave out.
const FEWEST_TO_CALIBRATE: usize = 100;
const FEWEST_MEASURED: usize = 10;
/// The most records that stay with a fit, and their values.
const MOST_CALIBRATION: usize = 128;
const MOST_CALIBRATION_VALUES: usize = 1 << 27;
/// Fewer records than this cannot be fitted.
const FEWEST_RECORDS: usize = 16;
/// Variances of held-out records along so many values together, of neighbouring modes, are told from chance.
const SMOOTHED_OVER: usize = 4000;

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// How many modes, at most: records may vary in fewer directions.
    pub modes: usize,
}

/// What is being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitStage {
    /// The mean, by records.
    Mean,
    /// Random combinations of the records, by records.
    Sketch,
    /// Passes over the records that turn these to where they vary most.
    Pass,
    /// Orthonormal directions, between two passes.
    Orthonormalise,
    /// The variances along them, by records.
    Variances,
    /// The modes, from these.
    Modes,
    /// What the modes hold of held-out records, by records.
    HeldOut,
}

/// Hears how much of a stage is done, of how much, and says whether to go on.
pub struct FitProgress<'a>(pub &'a dyn Fn(FitStage, usize, usize) -> bool);

impl FitProgress<'_> {
    pub(crate) fn go_on(&self, stage: FitStage, done: usize, of: usize) -> bool {
        (self.0)(stage, done, of)
    }

    pub(crate) fn tell(&self, stage: FitStage, done: usize, of: usize) -> Result<(), DataError> {
        self.require(self.go_on(stage, done, of))
    }

    pub(crate) fn require(&self, go_on: bool) -> Result<(), DataError> {
        if go_on { Ok(()) } else { Err(DataError::Interrupted) }
    }
}

/// What records have in common, in stored coordinates: x = mean + modes z + residual e, z and e standard normal.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearFit {
    /// What the fit was made from.
    pub about: About,
    /// \[2, H, W\].
    pub mean: Vec<f32>,
    /// \[2, H, W, r\]: each mode times the standard deviation of its coefficient.
    pub modes: Vec<f32>,
    /// \[2, H, W\]: the standard deviation of what modes leave out.
    pub residual: Vec<f32>,
    /// \[n, 2, H, W\]: records that nothing else of the fit was made from.
    pub calibration: Vec<f32>,
}

/// Fits the records of a set.
pub fn fit(data: &Dataset, options: FitOptions, progress: &FitProgress) -> Result<LinearFit, LinearError> {
    fit_records(data, Source::of(data.meta()), options, progress)
}

/// Fits records from anywhere; `source` says what they are.
pub fn fit_records(
    records: &dyn Records,
    source: Source,
    options: FitOptions,
    progress: &FitProgress,
) -> Result<LinearFit, LinearError> {
    let all = records.count();
    let length = records.record_length();
    if all < FEWEST_RECORDS {
        return Err(LinearError::TooFewRecords { got: all, least: FEWEST_RECORDS });
    }
    let Division { held_out, calibration } = Division::of(all, length);
    let fitted = 0..all - held_out - calibration;
    let most = length.min(fitted.len() - 1);
    if options.modes > most {
        return Err(LinearError::TooManyModes { modes: options.modes, records: fitted.len(), most });
    }
    if options.modes.saturating_mul(length) > MOST_VALUES {
        return Err(LinearError::TooLarge { modes: options.modes, values: length, most: MOST_VALUES });
    }
    let mut mean = mean(records, fitted.clone(), progress)?;
    // Fields of the built-in problems have means that are nearly flat, and are stored in units of what they vary by.
    let fields = match source.pde.descriptor().spec {
        Some(_) => EqualFields::measure(records, fitted.clone(), &mean, progress)?,
        None => EqualFields::unweighted(records),
    };
    fields.weigh(&mut mean);
    let Modes { mut directions, variances } = modes(&fields, fitted.clone(), &mean, options.modes, progress)?;
    let count = variances.len();
    let measured = fitted.end..fitted.end + held_out;
    let seen = HeldOut::measure(&fields, measured, &mean, &directions, count, progress)?;
    let deviations = seen.deviations(&variances);
    directions.par_chunks_mut(count).for_each(|row| {
        row.iter_mut().zip(&deviations).for_each(|(x, deviation)| *x *= deviation);
    });
    let held_out_percent = seen.percent();
    let about = About { source, modes: count, records: all, held_out, held_out_percent, calibration };
    let mut kept = vec![0.0; calibration * length];
    records.read(all - calibration, &mut kept)?;
    let mut residual = seen.residual();
    [&mut mean, &mut directions, &mut residual].into_iter().for_each(|values| fields.unweigh(values));
    Ok(LinearFit { about, mean, modes: directions, residual, calibration: kept })
}

/// How many records are kept from the modes.
struct Division {
    /// Those that measure what modes hold of others.
    held_out: usize,
    /// Those that stay with the fit: all that would say nothing are none.
    calibration: usize,
}

impl Division {
    fn of(records: usize, length: usize) -> Self {
        let kept = records.div_ceil(HELD_OUT);
        let most = MOST_CALIBRATION.min(MOST_CALIBRATION_VALUES / length);
        if records < FEWEST_TO_CALIBRATE || most < FEWEST_HELD_OUT {
            return Self { held_out: kept, calibration: 0 };
        }
        let calibration = (kept / 2).clamp(FEWEST_HELD_OUT, most);
        Self { held_out: kept.saturating_sub(calibration).max(FEWEST_MEASURED), calibration }
    }
}

fn mean(records: &dyn Records, range: Range<usize>, progress: &FitProgress) -> Result<Vec<f32>, LinearError> {
    let length = records.record_length();
    let mut sums = vec![0.0_f64; length];
    let total = range.len();
    let mut take = |first: usize, block: &[f32]| {
        for record in block.chunks_exact(length) {
            sums.iter_mut().zip(record).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        progress.go_on(FitStage::Mean, first + block.len() / length, total)
    };
    progress.require(for_each_block(records, range, &[], &mut take)?)?;
    Ok(sums.into_iter().map(|sum| (sum / total as f64) as f32).collect())
}

/// What modes hold of records that they were not found in. Modes follow the very records that they are found in: along
/// them other records vary less, the more so the later the mode, and more is left out.
struct HeldOut {
    records: usize,
    /// \[r\]: sums of squares along each mode.
    along: Vec<f64>,
    /// \[length\]: sums of squares of what is left out, and of all.
    left: Vec<f64>,
    whole: Vec<f64>,
}

impl HeldOut {
    fn measure(
        records: &dyn Records,
        range: Range<usize>,
        mean: &[f32],
        directions: &[f32],
        count: usize,
        progress: &FitProgress,
    ) -> Result<Self, LinearError> {
        let length = records.record_length();
        let total = range.len();
        let first_record = range.start;
        let zeros = |length: usize| vec![0.0; length];
        let mut seen =
            Self { records: total, along: zeros(count), left: zeros(length), whole: zeros(length) };
        let mut take = |first: usize, block: &[f32]| {
            add_squares(&mut seen.whole, block);
            let t = product(block, length, directions, count);
            add_squares(&mut seen.along, &t);
            let mut rest = block.to_vec();
            subtract_from_rows(&mut rest, length, &t, directions, count);
            add_squares(&mut seen.left, &rest);
            progress.go_on(FitStage::HeldOut, first - first_record + block.len() / length, total)
        };
        progress.require(for_each_block(records, range, mean, &mut take)?)?;
        Ok(seen)
    }

    /// The standard deviation of each mode's coefficient: that of the records it was found in, times what held-out ones
    /// have of it on average over neighbouring modes.
    fn deviations(&self, variances: &[f64]) -> Vec<f32> {
        let reach = SMOOTHED_OVER / (2 * self.records);
        let of_mode = |k: usize| {
            let near = k.saturating_sub(reach)..(k + reach + 1).min(variances.len());
            let held_out: f64 = self.along[near.clone()].iter().sum::<f64>() / self.records as f64;
            let share = held_out / variances[near].iter().sum::<f64>();
            (share * variances[k]).sqrt() as f32
        };
        (0..variances.len()).map(of_mode).collect()
    }

    fn residual(&self) -> Vec<f32> {
        self.left.iter().map(|sum| (sum / self.records as f64).sqrt() as f32).collect()
    }

    /// The share of the variance of a and of u that the modes hold, in percent.
    fn percent(&self) -> [f64; 2] {
        let half = self.left.len() / 2;
        [0..half, half..2 * half].map(|channel| {
            let whole: f64 = self.whole[channel.clone()].iter().sum();
            let left: f64 = self.left[channel].iter().sum();
            if whole > 0.0 { 100.0 * (1.0 - left / whole) } else { 100.0 }
        })
    }
}

/// Adds the squares of rows to sums.
fn add_squares(sums: &mut [f64], rows: &[f32]) {
    for row in rows.chunks_exact(sums.len()) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x).powi(2));
    }
}
