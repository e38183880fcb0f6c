//! A Gaussian posterior as a method under test: the exact one, or that of a linear fit.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;
use scope_data::{
    Constants, Fields, PerChannel,
    observation::{Condition, Mask, Task},
};
use scope_exact::{
    FEWEST_HELD_OUT, FieldPrior, Posterior, PosteriorError, Prior, Progress, Reading, UNHEARD, readings,
    rounding_noise, with_rounding,
};
use scope_linear::LinearPrior;
use scope_model::{MethodIdentity, MethodKind};
use scope_pde::{GridShape, Pde};

use crate::{
    bands::LEVELS,
    method::{MethodError, RecoveryMethod, Shown, StatedBands},
};

/// The posterior mean given the sensors of a context, whose only noise is that they are stored as float32 unless it is
/// told of another.
pub struct PosteriorMethod {
    prior: Arc<dyn FieldPrior + Send>,
    identity: MethodIdentity,
    constants: Constants,
    noise: PerChannel<f64>,
    with_bands: bool,
    approximate: AtomicUsize,
}

impl Clone for PosteriorMethod {
    /// The same method with the same prior, which both share, and answers of its own to count.
    fn clone(&self) -> Self {
        let Self { prior, identity, constants, noise, with_bands, .. } = self;
        Self {
            prior: Arc::clone(prior),
            identity: identity.clone(),
            constants: *constants,
            noise: *noise,
            with_bands: *with_bands,
            approximate: AtomicUsize::new(0),
        }
    }
}

/// A Gaussian lies within so many standard deviations with the probability of each of [`LEVELS`].
const DEVIATIONS: [f64; 2] = [0.994_458, 1.959_964];

/// The seed of standard deviations that are estimated from samples.
const SEED: u64 = 20_261_013;

impl PosteriorMethod {
    /// The exact posterior of a problem on S x S points.
    pub fn exact(pde: Pde, constants: Constants, size: usize) -> Result<Self, PosteriorError> {
        let prior = Prior::new(pde, size)?;
        Ok(Self::new(Arc::new(prior), identity(MethodKind::Exact, 0, None), constants))
    }

    /// That of a linear fit.
    pub fn linear(prior: LinearPrior) -> Self {
        let fit = prior.fit();
        let constants = fit.about.source.constants;
        let parameters = fit.mean.len() + fit.modes.len() + fit.residual.len();
        let identity = identity(MethodKind::Linear, parameters, prior.blake3().map(str::to_owned));
        Self::new(Arc::new(prior), identity, constants)
    }

    fn new(prior: Arc<dyn FieldPrior + Send>, identity: MethodIdentity, constants: Constants) -> Self {
        let noise = rounding_noise(&constants);
        Self { prior, identity, constants, noise, with_bands: false, approximate: AtomicUsize::new(0) }
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

    /// The name and the facts that results identify it by.
    pub fn identity(&self) -> MethodIdentity {
        self.identity.clone()
    }

    /// Whether it says how far it may be off: the exact posterior knows, and a linear fit that has records to measure
    /// it on.
    pub fn knows_its_errors(&self) -> bool {
        self.prior.held_out().is_none_or(|records| records.count() >= FEWEST_HELD_OUT)
    }

    /// What is known before any sensor is read.
    pub fn prior(&self) -> &(dyn FieldPrior + Send) {
        &*self.prior
    }

    /// How far readings are taken to be off.
    pub fn noise(&self) -> PerChannel<f64> {
        self.noise
    }

    /// The fields given readings in physical units.
    pub fn given(&self, readings: &[Reading], progress: Progress) -> Result<Posterior<'_>, PosteriorError> {
        let posterior = Posterior::given(&*self.prior, readings, self.noise, progress)?;
        if posterior.is_approximate() {
            self.approximate.fetch_add(1, Ordering::Relaxed);
        }
        Ok(posterior)
    }

    /// What a context shows, but for what every record has in a known region: a prior knows that too, and as exact
    /// readings they would make any field look like an easy one.
    fn readings(&self, context: &[f32]) -> Vec<Reading> {
        let grid = self.prior.resolution();
        let mut readings = readings(context, grid, &self.constants);
        let known = Mask::always_known(self.prior.pde(), grid);
        readings.retain(|reading| !known.contains(reading.spot.nearest(grid)));
        readings
    }

    fn mean(&self, context: &[f32]) -> Result<Fields, PosteriorError> {
        let posterior = self.given(&self.readings(context), UNHEARD)?;
        Ok(single_precision(posterior.mean()?))
    }

    /// Bands from the standard deviation of every pixel; none where no held-out record says how wide they are to be.
    fn stated(&self, context: &[f32]) -> Result<Option<StatedBands>, PosteriorError> {
        let readings = self.readings(context);
        let posterior = Posterior::given(&*self.prior, &readings, self.noise, UNHEARD)?;
        let deviations = posterior.deviations(SEED)?;
        let factors = match self.prior.held_out() {
            None => Some(DEVIATIONS.map(PerChannel::both)),
            Some(_) => posterior.calibrate(&deviations, LEVELS, UNHEARD)?.map(|known| known.half_widths),
        };
        let half_widths = |factors: [PerChannel<f64>; 2]| {
            factors.map(|factors| single_precision(times(factors, deviations.fields.clone())))
        };
        Ok(factors.map(|factors| StatedBands { levels: LEVELS, half_widths: half_widths(factors) }))
    }
}

/// Fields times a factor each.
fn times(factors: PerChannel<f64>, fields: Fields<f64>) -> Fields<f64> {
    fields.zip(factors).map(|(mut field, factor)| {
        field.iter_mut().for_each(|x| *x *= factor);
        field
    })
}

/// A method that was not trained.
fn identity(kind: MethodKind, parameters: usize, blake3: Option<String>) -> MethodIdentity {
    MethodIdentity { kind, model: None, recipe: None, decoder: None, parameters, blake3, training: None }
}

/// Fields of a posterior in single precision, as those of networks are.
pub fn single_precision(fields: Fields<f64>) -> Fields {
    fields.map(|field| field.into_iter().map(|x| x as f32).collect())
}

impl RecoveryMethod for PosteriorMethod {
    fn pde(&self) -> Pde {
        self.prior.pde()
    }

    fn constants(&self) -> Constants {
        self.constants
    }

    fn resolution(&self) -> GridShape {
        self.prior.resolution()
    }

    fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
        let each = 4 * self.prior.resolution().points();
        let fields: Result<Vec<Fields>, PosteriorError> =
            contexts.par_chunks(each).map(|context| self.mean(context)).collect();
        Ok(fields?)
    }

    fn bands(&self, shown: &[Shown]) -> Result<Vec<Option<StatedBands>>, MethodError> {
        let of = |shown: &Shown| if self.with_bands { self.stated(shown.context) } else { Ok(None) };
        let stated: Result<Vec<Option<StatedBands>>, PosteriorError> = shown.par_iter().map(of).collect();
        Ok(stated?)
    }
}
