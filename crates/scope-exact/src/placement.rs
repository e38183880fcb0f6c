//! Where the next sensors say most: greedy placement by remaining variance.
//!
//! The uncertainty of a Gaussian posterior does not depend on what sensors say, only on where they are. With f the
//! latent field given the sensors so far, a candidate reads y_c = q_c^T f with noise s_c, and leaves of the fields T f
//! (a, u or both, each in units of its own standard deviation) the variance
//!
//! ```text
//! tr cov(T f) - |T k_c|^2 / (var y_c + s_c^2),   k_c = cov(f, y_c)
//! ```
//!
//! Taking a candidate is a rank-one downdate of cov(f) by g = k_c / sqrt(var y_c + s_c^2). What every other candidate
//! would then say follows from |T k|^2 - 2 (g^T q) (T k)^T (T g) + (g^T q)^2 |T g|^2, whose middle factor is a single
//! product with the covariance for all candidates together: no column is kept.

use scope_data::{Channel, Fields, PerChannel, observation::Spot};
use scope_pde::linear::cholesky::dot;

use crate::{
    error::PosteriorError,
    field_prior::FieldPrior,
    progress::{Progress, Stage, tell},
    reading::Reading,
    sensors::Sensors,
};

/// Sensors that are known before and during placement, at most: each costs as much as all before it.
pub(crate) const MOST_PLACED: usize = 4096;

/// What is to be known well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target(pub PerChannel<bool>);

/// Sensors being placed.
pub struct Placement<'a> {
    prior: &'a dyn FieldPrior,
    candidates: Sensors,
    /// The number of each candidate in the order given.
    numbers: Vec<usize>,
    taken: Vec<bool>,
    /// \[candidates\]: |T k_c|^2.
    squares: Vec<f64>,
    /// \[candidates\]: var y_c.
    variances: Vec<f64>,
    /// g of every sensor so far, latent vectors.
    known: Vec<Vec<f64>>,
    /// What T weighs a and u by: the inverse of the sum of their variances, or zero.
    weights: PerChannel<f64>,
    /// The sums of variances of a and u before any sensor, and now.
    before: PerChannel<f64>,
    remaining: PerChannel<f64>,
}

/// A sensor that was placed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// The number of the candidate, from 0.
    pub candidate: usize,
    /// The relative L2 errors of a and u that are expected with it and all before, in percent.
    pub expected_percent: PerChannel<f64>,
}

impl<'a> Placement<'a> {
    /// Looks at all candidates. Those of a value that is zero by definition are never chosen, several at one place
    /// once.
    pub fn new(
        prior: &'a dyn FieldPrior,
        channel: Channel,
        candidates: &[Spot],
        noise: PerChannel<f64>,
        target: Target,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        if target.0.u && !prior.is_linear() {
            return Err(PosteriorError::NonlinearTarget(prior.pde()));
        }
        let readings: Vec<Reading> =
            candidates.iter().map(|spot| Reading::new(channel, *spot, 0.0)).collect();
        let candidates = Sensors::new(prior, &readings, noise, progress)?;
        let mut numbers = vec![0; candidates.len()];
        for (number, reading) in candidates.readings.iter().enumerate().rev() {
            reading.sensor.into_iter().for_each(|sensor| numbers[sensor] = number);
        }
        let before = prior.variances().each_ref().map(|field| field.iter().sum::<f64>());
        // A field that never varies has nothing to be known.
        let weigh = |(wanted, sum): (bool, f64)| if wanted && sum > 0.0 { 1.0 / sum } else { 0.0 };
        let weights = target.0.zip(before).map(weigh);
        let mut placement = Self {
            prior,
            taken: vec![false; candidates.len()],
            squares: Vec::new(),
            variances: Vec::new(),
            candidates,
            numbers,
            known: Vec::new(),
            weights,
            before,
            remaining: before,
        };
        let told = prior.told_by_each(placement.candidates.stencils(), weights, progress)?;
        (placement.squares, placement.variances) = told.into_iter().unzip();
        Ok(placement)
    }

    /// The sum of squares of both fields, each in units of its own.
    fn weighed(&self, squares: PerChannel<f64>) -> f64 {
        self.weights.a * squares.a + self.weights.u * squares.u
    }

    /// C p, given the sensors so far.
    fn covariance_given(&self, field: Vec<f64>) -> Vec<f64> {
        let shares: Vec<f64> = self.known.iter().map(|g| dot(g, &field)).collect();
        let mut out = self.prior.covariance(field);
        for (g, share) in self.known.iter().zip(shares) {
            out.iter_mut().zip(g).for_each(|(x, g)| *x -= share * g);
        }
        out
    }

    /// Sensors that are there already.
    pub fn given(
        &mut self,
        readings: &[Reading],
        noise: PerChannel<f64>,
        progress: Progress,
    ) -> Result<(), PosteriorError> {
        let sensors = Sensors::new(self.prior, readings, noise, progress)?;
        if sensors.len() > MOST_PLACED {
            return Err(PosteriorError::TooManyPlaced(sensors.len()));
        }
        for k in 0..sensors.len() {
            tell(progress, Stage::Residuals, k, sensors.len())?;
            if let Some(g) = self.downdate(&[], &sensors, k) {
                self.take(g);
            }
        }
        Ok(())
    }

    /// g of a sensor, given those so far and some more; none of one that says nothing new and has no noise.
    fn downdate(&self, more: &[Vec<f64>], sensors: &Sensors, k: usize) -> Option<Vec<f64>> {
        let functional = sensors.functional(self.prior, k);
        let mut column = self.prior.covariance(functional.clone());
        let mut variance = dot(&functional, &column);
        for g in self.known.iter().chain(more) {
            let share = dot(g, &functional);
            variance -= share * share;
            column.iter_mut().zip(g).for_each(|(x, g)| *x -= share * g);
        }
        let scale = (variance.max(0.0) + sensors.noise[k]).sqrt();
        column.iter_mut().for_each(|x| *x /= scale);
        (scale > 0.0).then_some(column)
    }

    /// Takes the candidate that leaves least; none if there is no other.
    pub fn place_next(&mut self) -> Option<Chosen> {
        let gain =
            |c: &usize| self.squares[*c].max(0.0) / (self.variances[*c].max(0.0) + self.candidates.noise[*c]);
        let free = (0..self.taken.len()).filter(|c| !self.taken[*c]);
        let best = free.max_by(|c, d| gain(c).total_cmp(&gain(d)))?;
        self.taken[best] = true;
        if let Some(g) = self.downdate(&[], &self.candidates, best) {
            self.take(g);
        }
        Some(Chosen { candidate: self.numbers[best], expected_percent: self.expected_percent() })
    }

    /// Takes a sensor with such a downdate.
    fn take(&mut self, g: Vec<f64>) {
        let explained = self.prior.squares(&g);
        let size = self.weighed(explained);
        let shared =
            self.candidates.observe(self.prior, &self.covariance_given(self.prior.gram(self.weights, &g)));
        let seen = self.candidates.observe(self.prior, &g);
        for (c, (shared, seen)) in shared.iter().zip(&seen).enumerate() {
            self.squares[c] += seen * (seen * size - 2.0 * shared);
            self.variances[c] -= seen * seen;
        }
        self.remaining = left(self.remaining, explained);
        self.known.push(g);
    }

    /// The relative L2 errors of a and u that are expected with the sensors so far, in percent: sqrt(E|x - mean|^2 /
    /// E|x|^2).
    pub fn expected_percent(&self) -> PerChannel<f64> {
        self.percent(self.remaining)
    }

    fn percent(&self, remaining: PerChannel<f64>) -> PerChannel<f64> {
        let share = |(remaining, whole): (f64, f64)| if whole > 0.0 { remaining / whole } else { 0.0 };
        let whole = self.before.zip(self.prior.mean_squares()).map(|(variance, mean)| variance + mean);
        remaining.zip(whole).map(|both| 100.0 * share(both).sqrt())
    }

    /// \[S, S\] each: the standard deviations of a and u that remain.
    pub fn deviations(&self) -> Fields<f64> {
        let mut variances = self.prior.variances().clone();
        for g in &self.known {
            let fields = self.prior.linear_fields(g);
            for channel in Channel::BOTH {
                let remaining = variances[channel].iter_mut().zip(&fields[channel]);
                remaining.for_each(|(variance, known)| *variance -= known * known);
            }
        }
        variances.map(|field| field.into_iter().map(|variance| variance.max(0.0).sqrt()).collect())
    }

    /// The errors that are expected with the sensors so far and candidates of one's own choice, told by their numbers.
    pub fn expected_with(&self, candidates: &[usize]) -> PerChannel<f64> {
        let mut known: Vec<Vec<f64>> = Vec::new();
        let mut remaining = self.remaining;
        for sensor in candidates.iter().filter_map(|number| self.candidates.readings[*number].sensor) {
            if let Some(g) = self.downdate(&known, &self.candidates, sensor) {
                remaining = left(remaining, self.prior.squares(&g));
                known.push(g);
            }
        }
        self.percent(remaining)
    }
}

/// What remains of variances of which some are explained.
fn left(variances: PerChannel<f64>, explained: PerChannel<f64>) -> PerChannel<f64> {
    variances.zip(explained).map(|(variance, explained)| (variance - explained).max(0.0))
}
