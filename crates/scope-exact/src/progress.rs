//! How far the computation of a posterior has come, and whether it is to go on.

use std::fmt;

use rayon::prelude::*;

use crate::error::PosteriorError;

/// What is being computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// What interpolation may be off, by sensors between pixels.
    Interpolation,
    /// The covariance of the sensors, by rows.
    Covariance,
    /// Its factor, by rows.
    Factor,
    /// The mean by conjugate gradients, by iterations.
    Mean,
    /// What the other sensors say of each, by sensors.
    Residuals,
    /// Standard deviations, by sensors and pixels.
    Deviations,
    /// Draws from the posterior, by draws.
    Samples,
    /// Fields that the prior was not made from, by fields.
    HeldOut,
}

/// The stage in words.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Interpolation => "sensors between pixels",
            Self::Covariance => "covariance of the sensors",
            Self::Factor => "factor of the covariance",
            Self::Mean => "the fields",
            Self::Residuals => "what sensors say of each other",
            Self::Deviations => "standard deviations",
            Self::Samples => "draws",
            Self::HeldOut => "held-out records",
        })
    }
}

/// How far a stage has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The stage.
    pub stage: Stage,
    /// How much of it is done.
    pub done: usize,
    /// How much there is in all, at most.
    pub of: usize,
}

/// Hears of every step, on any thread, and says whether to go on.
pub type Progress<'a> = &'a (dyn Fn(Step) -> bool + Sync);

/// Sensors whose rows of a covariance are computed before the next word of progress.
pub(crate) const ROWS_AT_ONCE: usize = 128;

/// Progress that nobody hears of and nobody stops.
pub const UNHEARD: Progress<'static> = &|_| true;

/// Tells of a step; an error if work is not to go on.
pub fn tell(progress: Progress, stage: Stage, done: usize, of: usize) -> Result<(), PosteriorError> {
    if progress(Step { stage, done, of }) { Ok(()) } else { Err(PosteriorError::Interrupted) }
}

/// What a function gives for 0, 1, ... on all threads, in order; so many at once, and a step told after these.
pub fn in_parallel<T: Send>(
    progress: Progress,
    stage: Stage,
    count: usize,
    at_once: usize,
    of: impl Fn(usize) -> Result<T, PosteriorError> + Sync,
) -> Result<Vec<T>, PosteriorError> {
    let mut all = Vec::with_capacity(count);
    for first in (0..count).step_by(at_once) {
        tell(progress, stage, first, count)?;
        let some: Result<Vec<T>, PosteriorError> =
            (first..count.min(first + at_once)).into_par_iter().map(&of).collect();
        all.extend(some?);
    }
    Ok(all)
}
