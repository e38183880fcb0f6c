//! Sensors as linear functionals of the latent field.

use std::collections::HashMap;

use scope_data::{
    Channel, PerChannel,
    observation::{STENCIL_POINTS, Stencil},
};

use crate::{
    error::PosteriorError,
    field_prior::FieldPrior,
    noise::require_sensible,
    observation_model::{Stencils, one_of},
    progress::{Progress, ROWS_AT_ONCE, Stage, in_parallel},
    reading::Reading,
};

/// What a polynomial through so many points says otherwise is taken for the error of interpolation: the first that is
/// another one, as beside a known region all of them may have to do with fewer.
const FEWER_POINTS: [usize; 3] = [4, 2, 1];

/// Known values are rounded to such a share of the field's standard deviation.
const ROUNDED: f64 = 1e-6;

/// Sensors that say something, those of a before those of u.
#[derive(Clone, Debug)]
pub(crate) struct Sensors {
    /// How each follows from the pixels of its field.
    stencils: Vec<Stencil>,
    /// How many of them are of a.
    of_a: usize,
    /// What was measured beyond what was expected: the mean of all readings of one place.
    pub(crate) values: Vec<f64>,
    /// What was expected of each before any was read.
    pub(crate) means: Vec<f64>,
    /// The square of each measurement's noise, that of interpolation among it.
    pub(crate) noise: Vec<f64>,
    /// How many readings each has.
    pub(crate) repeats: Vec<f64>,
    /// The variance of what interpolation may be off; zero on a pixel.
    pub(crate) interpolation: Vec<f64>,
    /// Whether each is a known value, which another noise of the readings would not change.
    pub(crate) is_known: Vec<bool>,
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
    /// The sum of the squares of their rounding.
    rounding: f64,
    /// Their numbers among all readings.
    members: Vec<usize>,
}

impl Sensors {
    pub(crate) fn new(
        prior: &dyn FieldPrior,
        readings: &[Reading],
        noise: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        require_sensible(noise)?;
        require_sound(prior, readings)?;
        let pde = prior.pde();
        let grid = prior.resolution();
        let known = if readings.iter().any(|reading| reading.is_known) { known_noise(prior) } else { noise };
        let of_channel = |reading: &Reading| {
            let Reading { channel, is_known, .. } = *reading;
            if is_known { known[channel].min(noise[channel]).powi(2) } else { noise[channel].powi(2) }
        };
        let used = |reading: &Reading| Used {
            sensor: None,
            channel: reading.channel,
            value: reading.value,
            noise: of_channel(reading) + reading.rounding.powi(2),
        };
        let mut sensors = Self {
            stencils: Vec::new(),
            of_a: 0,
            values: Vec::new(),
            means: Vec::new(),
            noise: Vec::new(),
            repeats: Vec::new(),
            interpolation: Vec::new(),
            is_known: Vec::new(),
            readings: readings.iter().map(used).collect(),
            between_pixels: 0,
        };
        for channel in Channel::BOTH {
            let places = by_place(readings.iter().enumerate().filter(|(_, r)| r.channel == channel));
            let stencil = |at: &Repeated| Stencil::new(pde, channel, grid, at.reading.spot, STENCIL_POINTS);
            let places: Vec<(Stencil, Repeated)> = places.into_iter().map(|at| (stencil(&at), at)).collect();
            let telling: Vec<(Stencil, Repeated)> =
                places.into_iter().filter(|(stencil, _)| prior.says_something(channel, stencil)).collect();
            let of_place = |k: usize| {
                let (stencil, at): &(Stencil, Repeated) = &telling[k];
                Ok(interpolation_variance(prior, &at.reading, stencil))
            };
            let of_places =
                in_parallel(progress, Stage::Interpolation, telling.len(), ROWS_AT_ONCE, of_place)?;
            for ((stencil, at), of_place) in telling.into_iter().zip(of_places) {
                let mean = prior.mean_at(channel, &stencil);
                sensors.add(stencil, &at, mean, of_channel(&at.reading), of_place);
            }
            if channel == Channel::A {
                sensors.of_a = sensors.stencils.len();
            }
        }
        Ok(sensors)
    }

    /// Takes the readings of one more place.
    fn add(&mut self, stencil: Stencil, at: &Repeated, mean: f64, noise: f64, interpolation: f64) {
        for member in &at.members {
            self.readings[*member].sensor = Some(self.stencils.len());
        }
        self.between_pixels += usize::from(stencil.single().is_none());
        self.stencils.push(stencil);
        self.values.push(at.sum / at.count - mean);
        self.means.push(mean);
        self.noise.push((noise + at.rounding / at.count) / at.count + interpolation);
        self.repeats.push(at.count);
        self.interpolation.push(interpolation);
        self.is_known.push(at.reading.is_known);
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
    pub(crate) fn variances(&self, prior: &dyn FieldPrior) -> Vec<f64> {
        let variances = prior.variances();
        let about = |k: usize| {
            let weights = &self.stencils[k].weights;
            let total: f64 = weights.iter().map(|(_, weight)| weight.abs()).sum();
            let of_pixel =
                |(point, weight): &(usize, f64)| weight.abs() / total * variances[self.channel(k)][*point];
            weights.iter().map(of_pixel).sum()
        };
        (0..self.len()).map(about).collect()
    }

    /// The numbers of as many of them, evenly spread over their order.
    pub(crate) fn thinned_to(&self, count: usize) -> Vec<usize> {
        (0..count).map(|k| k * self.len() / count).collect()
    }

    /// So many of the sensors, evenly spread over their order.
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
            means: of(&self.means),
            noise: of(&self.noise),
            repeats: of(&self.repeats),
            interpolation: of(&self.interpolation),
            is_known: kept.iter().map(|k| self.is_known[*k]).collect(),
            readings: self.readings.iter().filter_map(used).collect(),
            between_pixels: stencils.iter().filter(|stencil| stencil.single().is_none()).count(),
            stencils,
        }
    }

    /// sum_k (y_k - (H f)_k)^2 / s_k^2, or without the noise where there is none.
    pub(crate) fn misfit(&self, prior: &dyn FieldPrior, latent: &[f64]) -> f64 {
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
    pub(crate) fn stencils(&self) -> Stencils<'_> {
        let (a, u) = self.stencils.split_at(self.of_a);
        Stencils { a, u }
    }

    /// What the sensors would say of a latent vector beyond their means, without noise.
    pub(crate) fn observe(&self, prior: &dyn FieldPrior, latent: &[f64]) -> Vec<f64> {
        prior.observe(self.stencils(), latent)
    }

    /// q of one sensor, which says q^T f of a latent vector without noise.
    pub(crate) fn functional(&self, prior: &dyn FieldPrior, k: usize) -> Vec<f64> {
        prior.sources(one_of(self.stencils(), k), &[1.0])
    }

    /// cov(f, y) w.
    pub(crate) fn spread(&self, prior: &dyn FieldPrior, weights: &[f64]) -> Vec<f64> {
        prior.covariance(prior.sources(self.stencils(), weights))
    }
}

fn require_sound(prior: &dyn FieldPrior, readings: &[Reading]) -> Result<(), PosteriorError> {
    let grid = prior.resolution();
    // A periodic grid goes on to where it begins again.
    let lengths = grid.lengths();
    let ends_meet = prior.pde().periodic();
    let ends = [0, 1].map(|axis| {
        let length = lengths[axis] as f64;
        if ends_meet[axis] { length.next_down() } else { length - 1.0 }
    });
    for (number, reading) in readings.iter().enumerate() {
        let at = reading.spot.at;
        if !at.iter().zip(ends).all(|(at, end)| (0.0..=end).contains(at)) {
            return Err(PosteriorError::Outside { reading: number, at, grid });
        }
        if !reading.value.is_finite() {
            return Err(PosteriorError::NotFinite(number));
        }
        if !(reading.rounding.is_finite() && reading.rounding >= 0.0) {
            return Err(PosteriorError::Noise(reading.rounding));
        }
        if reading.channel == Channel::U && !prior.is_linear() {
            return Err(PosteriorError::NonlinearSensors(prior.pde()));
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
            places.push(Repeated {
                reading: *reading,
                sum: 0.0,
                count: 0.0,
                rounding: 0.0,
                members: Vec::new(),
            });
        }
        places[place].sum += reading.value;
        places[place].count += 1.0;
        places[place].rounding += reading.rounding.powi(2);
        places[place].members.push(number);
    }
    places
}

/// What known values are taken to be off by: rounding of numbers as large as the whole field's. At a point that has one
/// value in all records the prior leaves nothing open, and without any noise such points could not be told apart.
fn known_noise(prior: &dyn FieldPrior) -> PerChannel<f64> {
    let variances = prior.variances();
    PerChannel::from_fn(|channel| {
        let of_field = &variances[channel];
        let mean = of_field.iter().sum::<f64>() / of_field.len().max(1) as f64;
        ROUNDED * mean.sqrt()
    })
}

/// The variance, under the prior, of what two polynomials say differently: no field is known between its pixels. Zero
/// on a pixel.
fn interpolation_variance(prior: &dyn FieldPrior, reading: &Reading, stencil: &Stencil) -> f64 {
    if stencil.single().is_some() {
        return 0.0;
    }
    let through =
        |points: usize| Stencil::new(prior.pde(), reading.channel, prior.resolution(), reading.spot, points);
    let Some(fewer) = FEWER_POINTS.into_iter().map(through).find(|fewer| fewer != stencil) else {
        return 0.0;
    };
    let less = fewer.weights.iter().map(|(point, weight)| (*point, -weight));
    let difference: Vec<(usize, f64)> = stencil.weights.iter().copied().chain(less).collect();
    prior.variance_of(reading.channel, &difference)
}
