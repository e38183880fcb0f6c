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
    progress::{Progress, Stage, in_parallel, tell},
    reading::Reading,
};

/// Sensors whose rows of the covariance are computed before the next word of progress.
pub(crate) const ROWS_AT_ONCE: usize = 128;

/// What a polynomial through so many points says otherwise is taken for the error of interpolation.
const FEWER_POINTS: usize = 4;

/// Sensors that say something, those of a before those of u.
#[derive(Clone, Debug)]
pub(crate) struct Sensors {
    /// How each follows from the pixels of its field.
    stencils: Vec<Stencil>,
    /// How many of them are of a.
    of_a: usize,
    /// What was measured: the mean of all readings of one place.
    pub(crate) values: Vec<f64>,
    /// The square of each measurement's noise, that of interpolation among it.
    pub(crate) noise: Vec<f64>,
    /// How many readings each has.
    pub(crate) repeats: Vec<f64>,
    /// The variance of what interpolation may be off; zero on a pixel.
    pub(crate) interpolation: Vec<f64>,
    /// What became of each reading.
    pub(crate) readings: Vec<Used>,
    /// How many lie between pixels.
    pub(crate) between_pixels: usize,
}

/// What became of a reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    /// The sensor that it belongs to; none for a reading of what is zero by definition.
    pub(crate) sensor: Option<usize>,
    pub(crate) channel: Channel,
    pub(crate) value: f64,
    /// The square of its own noise.
    pub(crate) noise: f64,
}

/// All readings of one place.
struct Repeated {
    reading: Reading,
    sum: f64,
    count: f64,
    /// Their numbers among all readings.
    members: Vec<usize>,
}

impl Sensors {
    pub(crate) fn new(
        prior: &Prior,
        readings: &[Reading],
        noise: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Self, ExactError> {
        require_sensible(noise)?;
        require_sound(prior, readings)?;
        let (pde, size) = (prior.pde(), prior.resolution());
        let used = |reading: &Reading| Used {
            sensor: None,
            channel: reading.channel,
            value: reading.value,
            noise: noise[reading.channel].powi(2),
        };
        let mut sensors = Self {
            stencils: Vec::new(),
            of_a: 0,
            values: Vec::new(),
            noise: Vec::new(),
            repeats: Vec::new(),
            interpolation: Vec::new(),
            readings: readings.iter().map(used).collect(),
            between_pixels: 0,
        };
        for channel in Channel::BOTH {
            let places = by_place(readings.iter().enumerate().filter(|(_, r)| r.channel == channel));
            let stencil = |at: &Repeated| Stencil::new(pde, channel, size, at.reading.spot, STENCIL_POINTS);
            let places: Vec<(Stencil, Repeated)> = places.into_iter().map(|at| (stencil(&at), at)).collect();
            let telling: Vec<(Stencil, Repeated)> =
                places.into_iter().filter(|(stencil, _)| says_something(prior, channel, stencil)).collect();
            let of_place = |k: usize| {
                let (stencil, at): &(Stencil, Repeated) = &telling[k];
                Ok(interpolation_variance(prior, &at.reading, stencil))
            };
            let of_places =
                in_parallel(progress, Stage::Interpolation, telling.len(), ROWS_AT_ONCE, of_place)?;
            for ((stencil, at), of_place) in telling.into_iter().zip(of_places) {
                sensors.add(stencil, &at, noise[channel].powi(2), of_place);
            }
            if channel == Channel::A {
                sensors.of_a = sensors.stencils.len();
            }
        }
        Ok(sensors)
    }

    /// Takes the readings of one more place.
    fn add(&mut self, stencil: Stencil, at: &Repeated, noise: f64, interpolation: f64) {
        for member in &at.members {
            self.readings[*member].sensor = Some(self.stencils.len());
        }
        self.between_pixels += usize::from(stencil.single().is_none());
        self.stencils.push(stencil);
        self.values.push(at.sum / at.count);
        self.noise.push(noise / at.count + interpolation);
        self.repeats.push(at.count);
        self.interpolation.push(interpolation);
    }

    /// Readings of what is zero by definition.
    pub(crate) fn silent(&self) -> impl Iterator<Item = &Used> {
        self.readings.iter().filter(|reading| reading.sensor.is_none())
    }

    /// What a sensor measures.
    pub(crate) fn channel(&self, k: usize) -> Channel {
        if k < self.of_a { Channel::A } else { Channel::U }
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

    /// The numbers of as many of them, evenly spread over their order.
    pub(crate) fn thinned_to(&self, count: usize) -> Vec<usize> {
        (0..count).map(|k| k * self.len() / count).collect()
    }

    /// As many of them, evenly spread over their order.
    pub(crate) fn thinned(&self, count: usize) -> Self {
        let kept = self.thinned_to(count);
        let of = |values: &[f64]| kept.iter().map(|k| values[*k]).collect();
        let place: HashMap<usize, usize> = kept.iter().enumerate().map(|(new, old)| (*old, new)).collect();
        let used = |reading: &Used| match reading.sensor {
            Some(old) => place.get(&old).map(|new| Used { sensor: Some(*new), ..*reading }),
            None => Some(*reading),
        };
        let stencils: Vec<Stencil> = kept.iter().map(|k| self.stencils[*k].clone()).collect();
        Self {
            of_a: kept.iter().filter(|k| **k < self.of_a).count(),
            values: of(&self.values),
            noise: of(&self.noise),
            repeats: of(&self.repeats),
            interpolation: of(&self.interpolation),
            readings: self.readings.iter().filter_map(used).collect(),
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

    /// q \[S, S\] of one sensor, which says q^T f of a latent field without noise: its stencil, or that of u through the solver.
    pub(crate) fn functional(&self, prior: &Prior, k: usize) -> Vec<f64> {
        let mut stencil = vec![0.0; prior.resolution().pow(2)];
        add(&self.stencils[k], 1.0, &mut stencil);
        match &prior.response {
            Response::Linear(problem) if k >= self.of_a => problem.solve(&stencil),
            _ => stencil,
        }
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
    pub(crate) fn covariance(&self, prior: &Prior, progress: Progress) -> Result<Vec<f64>, ExactError> {
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
        for (some, rows) in matrix.chunks_mut(n.max(1) * ROWS_AT_ONCE).enumerate() {
            let first = some * ROWS_AT_ONCE;
            tell(progress, Stage::Covariance, first, n)?;
            rows.par_chunks_mut(n).enumerate().for_each(|(k, row)| fill((first + k, row)));
        }
        for i in 0..n {
            for j in 0..i {
                matrix[j * n + i] = matrix[i * n + j];
            }
        }
        Ok(matrix)
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
fn by_place<'a>(readings: impl Iterator<Item = (usize, &'a Reading)>) -> Vec<Repeated> {
    let mut places = Vec::<Repeated>::new();
    let mut known = HashMap::new();
    for (number, reading) in readings {
        let key = reading.spot.at.map(f64::to_bits);
        let place = *known.entry(key).or_insert(places.len());
        if place == places.len() {
            places.push(Repeated { reading: *reading, sum: 0.0, count: 0.0, members: Vec::new() });
        }
        places[place].sum += reading.value;
        places[place].count += 1.0;
        places[place].members.push(number);
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
