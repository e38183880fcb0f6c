//! The exact posterior as a method under test.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use scope_data::{
    Constants, Fields, PerChannel,
    observation::{Condition, Task},
};
use scope_exact::{ExactError, Prior, readings, rounding_noise, with_rounding};
use scope_model::{MethodIdentity, MethodKind};
use scope_pde::{GridShape, Pde};

use crate::{
    bands::LEVELS,
    method::{MethodError, RecoveryMethod, Shown, StatedBands},
};

/// The posterior mean given the sensors of a context, whose only noise is that they are stored as float32 unless it is told of another.
pub struct ExactMethod {
    prior: Prior,
    constants: Constants,
    noise: PerChannel<f64>,
    with_bands: bool,
    approximate: AtomicUsize,
}

/// A Gaussian lies within so many standard deviations with the probability of each of [`LEVELS`].
const DEVIATIONS: [f32; 2] = [0.994_458, 1.959_964];

/// Of standard deviations that are estimated from samples.
const SEED: u64 = 20_261_013;

impl ExactMethod {
    /// For records of a problem on S x S points.
    pub fn new(pde: Pde, constants: Constants, size: usize) -> Result<Self, ExactError> {
        Ok(Self {
            prior: Prior::new(pde, size)?,
            noise: rounding_noise(&constants),
            constants,
            with_bands: false,
            approximate: AtomicUsize::new(0),
        })
    }

    /// Also states bands, from the standard deviation of every pixel, which takes longer than the mean.
    pub fn with_bands(mut self) -> Self {
        self.with_bands = true;
        self
    }

    /// Takes readings to be off by at least these standard deviations for a and u, in physical units.
    pub fn with_noise(mut self, noise: PerChannel<f64>) -> Self {
        self.noise = with_rounding(noise, &self.constants);
        self
    }

    /// Whether what a condition observes has an exact posterior.
    pub fn supports(&self, condition: Condition) -> bool {
        self.prior.is_linear() || condition.task() == Task::Forward
    }

    /// How many answers so far were approximations, for having too many sensors.
    pub fn approximate(&self) -> usize {
        self.approximate.load(Ordering::Relaxed)
    }

    /// Who it is.
    pub fn identity(&self) -> MethodIdentity {
        MethodIdentity {
            kind: MethodKind::Exact,
            model: None,
            recipe: None,
            decoder: None,
            parameters: 0,
            blake3: None,
            training: None,
        }
    }

    fn mean(&self, context: &[f32]) -> Result<Fields, ExactError> {
        let readings = readings(context, &self.constants);
        let posterior = self.prior.given(&readings, self.noise)?;
        if posterior.is_approximate() {
            self.approximate.fetch_add(1, Ordering::Relaxed);
        }
        Ok(single_precision(posterior.mean()?))
    }

    fn stated(&self, context: &[f32]) -> Result<StatedBands, ExactError> {
        let readings = readings(context, &self.constants);
        let posterior = self.prior.given(&readings, self.noise)?;
        let deviations = single_precision(posterior.deviations(SEED)?.fields);
        let times =
            |factor: f32| deviations.each_ref().map(|field| field.iter().map(|sd| factor * sd).collect());
        let half_widths = DEVIATIONS.map(times);
        Ok(StatedBands { levels: LEVELS, half_widths })
    }
}

/// Fields of the exact posterior in single precision, as those of networks are.
pub fn single_precision(fields: Fields<f64>) -> Fields {
    fields.map(|field| field.into_iter().map(|x| x as f32).collect())
}

impl RecoveryMethod for ExactMethod {
    fn pde(&self) -> Pde {
        self.prior.pde()
    }

    fn constants(&self) -> Constants {
        self.constants
    }

    fn resolution(&self) -> GridShape {
        self.prior.resolution().into()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
        let each = 4 * self.prior.resolution().pow(2);
        let fields: Result<Vec<Fields>, ExactError> =
            contexts.par_chunks(each).map(|context| self.mean(context)).collect();
        Ok(fields?)
    }

    fn bands(&self, shown: &[Shown]) -> Result<Vec<Option<StatedBands>>, MethodError> {
        let of = |shown: &Shown| self.with_bands.then(|| self.stated(shown.context)).transpose();
        let stated: Result<Vec<Option<StatedBands>>, ExactError> = shown.par_iter().map(of).collect();
        Ok(stated?)
    }
}
