//! Sensors as linear functionals of the latent field.

use std::collections::HashMap;

use rayon::prelude::*;
use scope_data::{
    Channel, Fields, PerChannel,
    observation::{STENCIL_POINTS, Stencil},
};

use crate::{
    error::ExactError,
    noise::require_sensible,
    prior::{Prior, Response},
    reading::Reading,
};

/// What a polynomial through so many points says otherwise is taken for the error of interpolation.
const FEWER_POINTS: usize = 4;

/// Sensors that say something, those of a before those of u.
#[derive(Clone, Debug)]
pub(crate) struct Sensors {
    /// How each follows from the pixels of its field.
    stencils: Vec<Stencil>,
    /// How many of them are of a.
    of_a: usize,
    /// What was measured.
    pub(crate) values: Vec<f64>,
    /// The square of each measurement's noise.
    pub(crate) noise: Vec<f64>,
    /// How many lie between pixels.
    pub(crate) between_pixels: usize,
    /// How many readings were of what is zero by definition.
    pub(crate) silent: usize,
}

/// All readings of one place.
struct Repeated {
    reading: Reading,
    sum: f64,
    count: f64,
}

impl Sensors {
    pub(crate) fn new(
        prior: &Prior,
        readings: &[Reading],
        noise: PerChannel<f64>,
    ) -> Result<Self, ExactError> {
        require_sensible(noise)?;
        require_sound(prior, readings)?;
        let (mut stencils, mut values, mut variances) = (Vec::new(), Vec::new(), Vec::new());
        let (mut of_a, mut between_pixels, mut silent) = (0, 0, 0);
        for channel in Channel::BOTH {
            let places = by_place(readings.iter().filter(|reading| reading.channel == channel));
            let (pde, size) = (prior.pde(), prior.resolution());
            let stencil = |at: &Repeated| Stencil::new(pde, channel, size, at.reading.spot, STENCIL_POINTS);
            let places: Vec<(Stencil, Repeated)> = places.into_iter().map(|at| (stencil(&at), at)).collect();
            let (telling, others): (Vec<_>, Vec<_>) =
                places.into_iter().partition(|(stencil, _)| says_something(prior, channel, stencil));
            silent += others.iter().map(|(_, at)| at.count as usize).sum::<usize>();
            let of_places: Vec<f64> = telling
                .par_iter()
                .map(|(stencil, at)| interpolation_variance(prior, &at.reading, stencil))
                .collect();
            for ((stencil, at), of_place) in telling.into_iter().zip(of_places) {
                between_pixels += usize::from(stencil.single().is_none());
                stencils.push(stencil);
                values.push(at.sum / at.count);
                variances.push(noise[channel].powi(2) / at.count + of_place);
            }
            if channel == Channel::A {
                of_a = stencils.len();
            }
        }
        Ok(Self { stencils, of_a, values, noise: variances, between_pixels, silent })
    }

    pub(crate) fn len(&self) -> usize {
        self.stencils.len()
    }

    /// Each sensor's variance under the prior, about: between pixels, the mean of theirs by weight.
    pub(crate) fn variances(&self, prior: &Prior) -> Vec<f64> {
        let (of_a, of_u) = self.stencils();
        let Fields { a, u } = prior.variances();
        let about = |stencil: &Stencil, variances: &[f64]| {
            let total: f64 = stencil.weights.iter().map(|(_, weight)| weight.abs()).sum();
            stencil.weights.iter().map(|(point, weight)| weight.abs() / total * variances[*point]).sum()
        };
        of_a.iter()
            .map(|stencil| about(stencil, a))
            .chain(of_u.iter().map(|stencil| about(stencil, u)))
            .collect()
    }

    /// As many of them, evenly spread over their order.
    pub(crate) fn thinned(&self, count: usize) -> Self {
        let kept: Vec<usize> = (0..count).map(|k| k * self.len() / count).collect();
        let of = |values: &[f64]| kept.iter().map(|k| values[*k]).collect();
        let stencils: Vec<Stencil> = kept.iter().map(|k| self.stencils[*k].clone()).collect();
        Self {
            of_a: kept.iter().filter(|k| **k < self.of_a).count(),
            values: of(&self.values),
            noise: of(&self.noise),
            silent: self.silent,
            between_pixels: stencils.iter().filter(|stencil| stencil.single().is_none()).count(),
            stencils,
        }
    }

    /// sum_k (y_k - (H f)_k)^2 / s_k^2, or without the noise where there is none.
    pub(crate) fn misfit(&self, prior: &Prior, latent: &[f64]) -> f64 {
        let expected = self.observe(prior, latent);
        let apart = self.values.iter().zip(expected).map(|(value, expected)| (value - expected).powi(2));
        apart.zip(&self.noise).map(|(square, noise)| if *noise > 0.0 { square / noise } else { square }).sum()
    }

    /// Takes at least this share of each sensor's variance under the prior for its noise's.
    pub(crate) fn raise_noise(&mut self, share: f64, variances: &[f64]) {
        for (variance, noise) in variances.iter().zip(&mut self.noise) {
            *noise = noise.max(share * variance);
        }
    }

    /// Sensors of a, and of u.
    fn stencils(&self) -> (&[Stencil], &[Stencil]) {
        self.stencils.split_at(self.of_a)
    }

    /// What the sensors would say of a latent field, without noise.
    pub(crate) fn observe(&self, prior: &Prior, latent: &[f64]) -> Vec<f64> {
        let (of_a, of_u) = self.stencils();
        let mut values: Vec<f64> = of_a.iter().map(|stencil| stencil.value(latent)).collect();
        if let (Response::Linear(problem), false) = (&prior.response, of_u.is_empty()) {
            let u = problem.solve(latent);
            values.extend(of_u.iter().map(|stencil| stencil.value(&u)));
        }
        values
    }

    /// cov(f, y) w = C (sum_p w_p h_p + G sum_q w_q h_q): one solve and one pair of transforms.
    pub(crate) fn spread(&self, prior: &Prior, weights: &[f64]) -> Vec<f64> {
        prior.covariance.apply(self.sources(prior, weights))
    }

    /// The transpose of [`Self::observe`]: sum_p w_p h_p + G sum_q w_q h_q, h_p the stencils of sensors of a and h_q of u.
    pub(crate) fn sources(&self, prior: &Prior, weights: &[f64]) -> Vec<f64> {
        let (of_a, of_u) = self.stencils();
        let (weights_a, weights_u) = weights.split_at(self.of_a);
        let mut sources = vec![0.0; prior.resolution().pow(2)];
        if let (Response::Linear(problem), false) = (&prior.response, of_u.is_empty()) {
            of_u.iter().zip(weights_u).for_each(|(stencil, weight)| add(stencil, *weight, &mut sources));
            sources = problem.solve(&sources);
        }
        of_a.iter().zip(weights_a).for_each(|(stencil, weight)| add(stencil, *weight, &mut sources));
        sources
    }

    /// cov(y_k, f), \[S, S\].
    pub(crate) fn covariance_row(&self, prior: &Prior, k: usize) -> Vec<f64> {
        let mut row = vec![0.0; prior.resolution().pow(2)];
        match (&prior.response, self.stencils[k].single()) {
            (Response::Linear(problem), _) if k >= self.of_a => {
                add(&self.stencils[k], 1.0, &mut row);
                prior.covariance.apply(problem.solve(&row))
            }
            (_, Some(point)) => {
                prior.covariance.row(point, &mut row);
                row
            }
            (_, None) => {
                add(&self.stencils[k], 1.0, &mut row);
                prior.covariance.apply(row)
            }
        }
    }

    /// K = cov(y, y) without noise, \[n, n\].
    pub(crate) fn covariance(&self, prior: &Prior) -> Vec<f64> {
        let n = self.len();
        let mut matrix = vec![0.0; n * n];
        // Pixels of a have a table.
        let pixels: Option<Vec<usize>> = self.stencils().0.iter().map(Stencil::single).collect();
        let fill = |(k, row): (usize, &mut [f64])| match &pixels {
            Some(pixels) if k < self.of_a => {
                for (entry, q) in row[..=k].iter_mut().zip(pixels) {
                    *entry = prior.covariance.between(pixels[k], *q);
                }
            }
            _ => {
                let values = self.observe(prior, &self.covariance_row(prior, k));
                row[..=k].copy_from_slice(&values[..=k]);
            }
        };
        matrix.par_chunks_mut(n.max(1)).enumerate().for_each(fill);
        for i in 0..n {
            for j in 0..i {
                matrix[j * n + i] = matrix[i * n + j];
            }
        }
        matrix
    }
}

fn require_sound(prior: &Prior, readings: &[Reading]) -> Result<(), ExactError> {
    let size = prior.resolution();
    // A periodic grid goes on to where it begins again.
    let end = if prior.is_linear() { (size - 1) as f64 } else { (size as f64).next_down() };
    for (number, reading) in readings.iter().enumerate() {
        let at = reading.spot.at;
        if !at.iter().all(|at| (0.0..=end).contains(at)) {
            return Err(ExactError::Outside { reading: number, at, size });
        }
        if !reading.value.is_finite() {
            return Err(ExactError::NotFinite(number));
        }
        if reading.channel == Channel::U && !prior.is_linear() {
            return Err(ExactError::NonlinearSensors(prior.pde()));
        }
    }
    Ok(())
}

/// Readings of equal places together, in the order of their first ones.
fn by_place<'a>(readings: impl Iterator<Item = &'a Reading>) -> Vec<Repeated> {
    let (mut places, mut known) = (Vec::<Repeated>::new(), HashMap::new());
    for reading in readings {
        let key = reading.spot.at.map(f64::to_bits);
        let place = *known.entry(key).or_insert(places.len());
        if place == places.len() {
            places.push(Repeated { reading: *reading, sum: 0.0, count: 0.0 });
        }
        places[place].sum += reading.value;
        places[place].count += 1.0;
    }
    places
}

/// Whether the value is not zero by definition.
fn says_something(prior: &Prior, channel: Channel, stencil: &Stencil) -> bool {
    let size = prior.resolution();
    let inside = |point: usize| [point / size, point % size].iter().all(|k| (1..size - 1).contains(k));
    let any_inside = || stencil.weights.iter().any(|(point, _)| inside(*point));
    match (&prior.response, channel) {
        (Response::Linear(_), Channel::U) => any_inside(),
        (Response::Linear(problem), Channel::A) => !problem.zero_edge() || any_inside(),
        (Response::Flow(_), _) => true,
    }
}

/// The variance, under the prior, of what two polynomials say differently: no field is known between its pixels. Zero on a pixel.
fn interpolation_variance(prior: &Prior, reading: &Reading, stencil: &Stencil) -> f64 {
    if stencil.single().is_some() {
        return 0.0;
    }
    let (pde, size) = (prior.pde(), prior.resolution());
    let fewer = Stencil::new(pde, reading.channel, size, reading.spot, FEWER_POINTS);
    let mut difference = vec![0.0; size * size];
    add(stencil, 1.0, &mut difference);
    add(&fewer, -1.0, &mut difference);
    prior.variance_of(reading.channel, difference)
}

fn add(stencil: &Stencil, weight: f64, field: &mut [f64]) {
    for (point, share) in &stencil.weights {
        field[*point] += weight * share;
    }
}
