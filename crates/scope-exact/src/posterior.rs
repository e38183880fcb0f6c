//! The fields given the sensors.

use std::sync::OnceLock;

use rand::RngExt;
use rand_distr::StandardNormal;
use scope_data::{Channel, Fields, PerChannel};
use scope_pde::{
    linear::cholesky::{Cholesky, Unfactored, dot},
    random::Coordinates,
};

use crate::{
    conjugate_gradients::{self, Solution, TOLERANCE},
    deviations::{CLOSED_FORM_LIMIT, Probes},
    error::PosteriorError,
    field_prior::FieldPrior,
    held_out::HeldOutReadings,
    model_check::ModelCheck,
    observation_model::SensorSolver,
    progress::{Progress, Stage, Step, UNHEARD, in_parallel, tell},
    reading::Reading,
    sensors::Sensors,
};

/// Up to this many sensors the covariance is factored, which takes 512 MiB and some ten seconds of one core for so
/// many. Beyond, conjugate gradients do without the matrix; where they do not converge, sensors may be left out.
pub const DENSE_LIMIT: usize = 8192;

/// How often the noise floor may be raised, fourfold each time.
const FLOOR_STEPS: i32 = 12;

/// How a posterior was computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// It was computed by a factor of the sensors' covariance.
    Factor {
        /// Where sensors are so close that double precision cannot tell them apart with the noise given: the noise
        /// that was taken instead, as a share of a sensor's standard deviation under the prior.
        noise_floor: Option<f64>,
        /// Sensors beyond [`DENSE_LIMIT`] that were left out, every so many-th: conjugate gradients on all of them did
        /// not converge and fitted them less well.
        left_out: usize,
    },
    /// It was computed by conjugate gradients: there were more sensors than [`DENSE_LIMIT`].
    ConjugateGradients {
        /// Steps taken for the mean.
        iterations: usize,
        /// Whether they reached [`TOLERANCE`]. If not, the answer is an approximation on the smooth side.
        converged: bool,
    },
}

/// The distribution of a and u given measurements, in physical units.
pub struct Posterior<'a> {
    pub(crate) prior: &'a dyn FieldPrior,
    pub(crate) sensors: Sensors,
    /// All sensors, where some were left out.
    pub(crate) all: Option<Box<Sensors>>,
    /// The factor of the sensors' covariance; none for too many sensors.
    pub(crate) factor: Option<Cholesky>,
    /// In its place, where the prior has a cheaper way to many sensors.
    solver: Option<Box<dyn SensorSolver>>,
    method: Method,
    /// \[n\]: (K + s^2)^-1 y.
    pub(crate) weights: Vec<f64>,
    /// The posterior mean of the latent field.
    latent: Vec<f64>,
    /// The test of the sensors that say something, or of those that were factored; none where conjugate gradients did
    /// not come to an end.
    pub(crate) check: Option<ModelCheck>,
    /// What was learned from draws, once any were made.
    pub(crate) probes: OnceLock<Probes>,
    /// What was learned from held-out fields, once any were looked at.
    pub(crate) held_out: OnceLock<HeldOutReadings>,
}

impl<'a> Posterior<'a> {
    /// The fields of a prior given measurements and their noise. `progress` hears of its steps, and says whether to go
    /// on.
    pub fn given(
        prior: &'a dyn FieldPrior,
        readings: &[Reading],
        noise: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        Self::new(prior, Sensors::new(prior, readings, noise, progress)?, progress)
    }

    fn new(prior: &'a dyn FieldPrior, sensors: Sensors, progress: Progress) -> Result<Self, PosteriorError> {
        Self::with_limit(prior, sensors, DENSE_LIMIT, progress)
    }

    /// Chooses the way: a factor where it is affordable, else conjugate gradients or, if they get stuck, a factor of as
    /// many sensors as are affordable, whichever fits all sensors better.
    fn with_limit(
        prior: &'a dyn FieldPrior,
        sensors: Sensors,
        limit: usize,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        if sensors.len() > CLOSED_FORM_LIMIT
            && let Some(solver) = prior.solver_of_many(sensors.stencils(), &sensors.noise)
        {
            tell(progress, Stage::Factor, 0, sensors.len())?;
            return Ok(Self::solved(prior, sensors, solver));
        }
        if sensors.len() <= limit {
            return Self::factored(prior, sensors, 0, progress);
        }
        let iterative = Self::iterative(prior, sensors.clone(), progress)?;
        // The statistic is an upper bound as long as anything is left to do: one that is too large may also mean that.
        // A factor of some sensors tells.
        if iterative.check.is_some_and(|check| !check.contradicts()) {
            return Ok(iterative);
        }
        let thinned = Self::factored(prior, sensors.thinned(limit), sensors.len() - limit, progress)?;
        let misfit = |posterior: &Self| sensors.misfit(prior, &posterior.latent);
        if misfit(&thinned) < misfit(&iterative) {
            return Ok(Self { all: Some(Box::new(sensors)), ..thinned });
        }
        let method = match iterative.method {
            Method::ConjugateGradients { iterations, .. } => {
                Method::ConjugateGradients { iterations, converged: false }
            }
            other => other,
        };
        Ok(Self { check: thinned.check, method, ..iterative })
    }

    fn factored(
        prior: &'a dyn FieldPrior,
        mut sensors: Sensors,
        left_out: usize,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        let (factor, noise_floor) = factorise(prior, &mut sensors, progress)?;
        let method = Method::Factor { noise_floor, left_out };
        let direct = Self::solved_by(prior, sensors, method, |values| factor.solve(values));
        Ok(Self { factor: Some(factor), ..direct })
    }

    /// The posterior by the prior's own way to many sensors.
    fn solved(prior: &'a dyn FieldPrior, sensors: Sensors, solver: Box<dyn SensorSolver>) -> Self {
        let method = Method::Factor { noise_floor: None, left_out: 0 };
        let direct = Self::solved_by(prior, sensors, method, |values| solver.solve(values));
        Self { solver: Some(solver), ..direct }
    }

    /// The posterior by whatever replaces values by (K + s^2)^-1 times them.
    fn solved_by(
        prior: &'a dyn FieldPrior,
        sensors: Sensors,
        method: Method,
        solve: impl FnOnce(&mut [f64]),
    ) -> Self {
        let mean = Expected::solved_by(prior, &sensors, sensors.values.clone(), solve);
        let check = Some(ModelCheck::new(dot(&sensors.values, &mean.weights), sensors.len()));
        Self::around(prior, sensors, method, mean, check)
    }

    /// The posterior by conjugate gradients, which need no matrix.
    pub(crate) fn iterative(
        prior: &'a dyn FieldPrior,
        mut sensors: Sensors,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        sensors.raise_noise(f64::EPSILON, &sensors.variances(prior));
        let solution = conjugate_gradients::solve(prior, &sensors, &sensors.values, progress)?;
        let converged = solution.gradient <= TOLERANCE;
        let method = Method::ConjugateGradients { iterations: solution.iterations, converged };
        // What is least in a sum that has not reached its least value is not known.
        let check = converged.then_some(ModelCheck::new(solution.least, sensors.len()));
        Ok(Self::around(prior, sensors, method, solution.into(), check))
    }

    /// The posterior around a mean, before anything else is learned of it.
    fn around(
        prior: &'a dyn FieldPrior,
        sensors: Sensors,
        method: Method,
        mean: Expected,
        check: Option<ModelCheck>,
    ) -> Self {
        Self {
            prior,
            sensors,
            all: None,
            factor: None,
            solver: None,
            method,
            weights: mean.weights,
            latent: mean.latent,
            check,
            probes: OnceLock::new(),
            held_out: OnceLock::new(),
        }
    }

    /// Whether sensors are solved for directly, and not by conjugate gradients.
    pub(crate) fn is_direct(&self) -> bool {
        self.factor.is_some() || self.solver.is_some()
    }

    /// How many sensors were used: those that say something, but for any left out.
    pub fn sensors(&self) -> usize {
        self.sensors.len()
    }

    /// How many of them lie between pixels.
    pub fn between_pixels(&self) -> usize {
        self.sensors.between_pixels
    }

    /// How many readings were left out, of a value that is zero by definition.
    pub fn silent(&self) -> usize {
        self.sensors.silent().count()
    }

    /// How it was computed.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Whether it is an approximation, for having more than [`DENSE_LIMIT`] sensors.
    pub fn is_approximate(&self) -> bool {
        match self.method {
            Method::Factor { left_out, .. } => left_out > 0,
            Method::ConjugateGradients { converged, .. } => !converged,
        }
    }

    /// The posterior mean of a and, where u is linear in a, of u. For Navier-Stokes u is the solver's
    /// answer to the mean of a.
    pub fn mean(&self) -> Result<Fields<f64>, PosteriorError> {
        self.prior.fields(self.latent.clone())
    }

    /// Whether a field is measured where it is not zero by definition.
    pub fn measures(&self, channel: Channel) -> bool {
        (0..self.sensors.len()).any(|k| self.sensors.channel(k) == channel)
    }

    /// One draw of both fields from the posterior, by Matheron's rule: a draw f from the prior, corrected by what the
    /// sensors say beyond what they would have said of f, f + cov(f, y) (K + s^2)^-1 (y - (H f + e)). It depends
    /// on the seed and its index alone.
    pub fn sample(&self, seed: u64, index: u64) -> Result<Fields<f64>, PosteriorError> {
        let Simulated { mut latent, readings } = self.simulate(seed, index);
        let apart = self.sensors.values.iter().zip(readings).map(|(value, simulated)| value - simulated);
        let correction = self.expect(apart.collect(), UNHEARD)?.latent;
        latent.iter_mut().zip(correction).for_each(|(x, correction)| *x += correction);
        self.prior.fields(latent)
    }

    /// The first `count` draws of a seed, on all threads.
    pub fn samples(&self, seed: u64, count: usize) -> Result<Vec<Fields<f64>>, PosteriorError> {
        self.samples_watched(seed, count, UNHEARD)
    }

    /// As [`Self::samples`], with progress that is told and can be stopped.
    pub fn samples_watched(
        &self,
        seed: u64,
        count: usize,
        progress: Progress,
    ) -> Result<Vec<Fields<f64>>, PosteriorError> {
        let at_once = rayon::current_num_threads();
        in_parallel(progress, Stage::Samples, count, at_once, |index| self.sample(seed, index as u64))
    }

    /// A latent field of the prior, and what the sensors would say of it, their noise among it.
    pub(crate) fn simulate(&self, seed: u64, index: u64) -> Simulated {
        let name = self.prior.pde().name();
        let mut stream = Coordinates::new("posterior").text(name).number(seed).number(index).stream();
        let latent = self.prior.draw(&mut stream);
        let mut readings = self.sensors.observe(self.prior, &latent);
        for (reading, noise) in readings.iter_mut().zip(&self.sensors.noise) {
            let error: f64 = stream.sample(StandardNormal);
            *reading += noise.sqrt() * error;
        }
        Simulated { latent, readings }
    }

    /// The latent field cov(f, y) w that sensors with these values make us expect, with w = (K + s^2)^-1 y.
    pub(crate) fn expect(&self, values: Vec<f64>, progress: Progress) -> Result<Expected, PosteriorError> {
        let Self { prior, sensors, .. } = self;
        Ok(match (&self.factor, &self.solver) {
            (Some(factor), _) => Expected::solved_by(*prior, sensors, values, |values| factor.solve(values)),
            (None, Some(solver)) => {
                Expected::solved_by(*prior, sensors, values, |values| solver.solve(values))
            }
            (None, None) => conjugate_gradients::solve(*prior, sensors, &values, progress)?.into(),
        })
    }
}

/// A latent field of the prior.
pub(crate) struct Simulated {
    pub(crate) latent: Vec<f64>,
    /// What the sensors say of it.
    pub(crate) readings: Vec<f64>,
}

/// What sensors make us expect.
pub(crate) struct Expected {
    pub(crate) latent: Vec<f64>,
    /// \[n\]: (K + s^2)^-1 y.
    pub(crate) weights: Vec<f64>,
}

impl Expected {
    /// By whatever replaces values by (K + s^2)^-1 times them.
    fn solved_by(
        prior: &dyn FieldPrior,
        sensors: &Sensors,
        mut values: Vec<f64>,
        solve: impl FnOnce(&mut [f64]),
    ) -> Self {
        solve(&mut values);
        Self { latent: sensors.spread(prior, &values), weights: values }
    }
}

impl From<Solution> for Expected {
    fn from(Solution { latent, weights, .. }: Solution) -> Self {
        Self { latent, weights }
    }
}

/// Factors K + s^2. Where rounding swallows the noise, it is raised until it does not, to a share of each sensor's own
/// variance.
fn factorise(
    prior: &dyn FieldPrior,
    sensors: &mut Sensors,
    progress: Progress,
) -> Result<(Cholesky, Option<f64>), PosteriorError> {
    let n = sensors.len();
    let mut matrix = prior.sensor_covariance(sensors.stencils(), progress)?;
    let variances: Vec<f64> = (0..n).map(|k| matrix[k * n + k]).collect();
    let mut floor = None;
    for step in 0..FLOOR_STEPS {
        for (k, (variance, noise)) in variances.iter().zip(&sensors.noise).enumerate() {
            matrix[k * n + k] = variance + noise;
        }
        let go_on = |rows: usize| progress(Step { stage: Stage::Factor, done: rows, of: n });
        matrix = match Cholesky::watched(matrix, n, &go_on) {
            Ok(factor) => return Ok((factor, floor.map(f64::sqrt))),
            Err(Unfactored::NotDefinite(matrix)) => matrix,
            Err(Unfactored::Stopped) => return Err(PosteriorError::Interrupted),
        };
        let share = n as f64 * f64::EPSILON * 4f64.powi(step);
        floor = Some(share);
        sensors.raise_noise(share, &variances);
    }
    Err(PosteriorError::NotDefinite(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NO_NOISE, Prior, rounding_noise};
    use scope_data::{
        Constants,
        observation::{Condition, MaskSampler, Namespace},
    };
    use scope_pde::{Generator, Identity, Pde, Split};

    /// What a test mask of record 0 shows of it.
    fn sensors(prior: &dyn FieldPrior, condition: &str, noise: PerChannel<f64>) -> Sensors {
        let pde = prior.pde();
        let size = prior.resolution().rows;
        let identity = Identity { pde, seed: 1, split: Split::Test, resolution: size };
        let record = Generator::new(identity).unwrap().record(0).unwrap();
        let condition: Condition = condition.parse().unwrap();
        let masks = MaskSampler::new(pde, 1, size).masks(Namespace::Test, 0, condition, None);
        let of = |channel, point, field: &[f64]| Reading::of_pixel(channel, point, size, field[point]);
        let a = masks.seen.a.points().map(|point| of(Channel::A, point, &record.fields.a));
        let u = masks.seen.u.points().map(|point| of(Channel::U, point, &record.fields.u));
        Sensors::new(prior, &a.chain(u).collect::<Vec<_>>(), noise, UNHEARD).unwrap()
    }

    fn relative(x: &[f64], y: &[f64]) -> f64 {
        let apart: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
        (apart / y.iter().map(|y| y * y).sum::<f64>()).sqrt()
    }

    #[test]
    fn conjugate_gradients_find_what_the_factor_finds() {
        let cases = [
            (Pde::POISSON, "forward/uniform/12288", rounding_noise(&Constants::generated(Pde::POISSON))),
            (Pde::NAVIER_STOKES, "forward/lines/4915", NO_NOISE),
            (Pde::HELMHOLTZ, "inverse/block/9830", PerChannel { a: 0.0, u: 4e-5 }),
            (Pde::HELMHOLTZ, "joint/uniform/2048", PerChannel { a: 3e-3, u: 4e-5 }),
        ];
        for (pde, condition, noise) in cases {
            let prior = Prior::new(pde, 32).unwrap();
            let sensors = sensors(&prior, condition, noise);
            let iterative = Posterior::iterative(&prior, sensors.clone(), UNHEARD).unwrap();
            assert!(matches!(iterative.method(), Method::ConjugateGradients { converged: true, .. }));
            let factored = Posterior::new(&prior, sensors, UNHEARD).unwrap();
            assert_eq!(factored.method(), Method::Factor { noise_floor: None, left_out: 0 });
            let far = |x: Fields<f64>, y: Fields<f64>| relative(&x.a, &y.a).max(relative(&x.u, &y.u));
            let means = far(iterative.mean().unwrap(), factored.mean().unwrap());
            assert!(means < 2e-4, "{pde} {condition}: {means}");
            let samples = far(iterative.sample(3, 0).unwrap(), factored.sample(3, 0).unwrap());
            assert!(samples < 2e-4, "{pde} {condition}: {samples}");
        }
    }

    /// Very clear sensors of a smooth field: conjugate gradients get stuck, and two sensors in three say more.
    #[test]
    fn where_conjugate_gradients_get_stuck_sensors_are_left_out() {
        let prior = Prior::new(Pde::POISSON, 64).unwrap();
        let all =
            sensors(&prior, "inverse/uniform/12288", rounding_noise(&Constants::generated(Pde::POISSON)));
        let best = Posterior::with_limit(&prior, all.clone(), 3000, UNHEARD).unwrap();
        let thinned = Posterior::with_limit(&prior, all.clone(), 2000, UNHEARD).unwrap();
        assert_eq!(thinned.method(), Method::Factor { noise_floor: None, left_out: all.len() - 2000 });
        assert!(thinned.is_approximate() && !best.is_approximate());
        let judged = thinned.leave_one_out().unwrap();
        assert_eq!(judged.predictions.len(), all.readings.len());
        assert!(judged.predictions.iter().all(|prediction| !prediction.suspect));
        let squares =
            judged.predictions.iter().zip(&all.readings).filter(|(_, reading)| reading.sensor.is_some());
        let squares: Vec<f64> = squares.map(|(p, reading)| p.score(reading.value).powi(2)).collect();
        let mean = squares.iter().sum::<f64>() / squares.len() as f64;
        assert!((0.7..1.4).contains(&mean), "{mean}");
        let stuck = Posterior::iterative(&prior, all, UNHEARD).unwrap();
        let [best, thinned, stuck] = [best, thinned, stuck].map(|posterior| posterior.mean().unwrap().u);
        assert!(relative(&thinned, &best) < relative(&stuck, &best));
    }
}
