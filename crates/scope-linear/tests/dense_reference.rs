//! The posterior with every matrix written out, in double precision.

use scope_data::{
    Channel, PerChannel,
    observation::{STENCIL_POINTS, Spot, Stencil},
};
use scope_exact::Reading;
use scope_linear::{LinearFit, LinearPrior};
use scope_pde::{Pde, linear::cholesky::Cholesky};

use crate::{PIXELS, SIZE, synthetic_fit, wave};

/// Pixels of both fields.
const ALL: usize = 2 * PIXELS;

/// Sensors as rows over all pixels, their readings and the squares of their noise.
struct Dense {
    rows: Vec<Vec<f64>>,
    values: Vec<f64>,
    noise: Vec<f64>,
}

/// Mean and covariance of both fields in physical units.
fn moments(fit: &LinearFit) -> (Vec<f64>, Vec<Vec<f64>>) {
    let constants = fit.about.source.constants;
    let scaling = |pixel: usize| if pixel < PIXELS { constants.a } else { constants.u };
    let scale = |pixel: usize| 2.0 * scaling(pixel).sigma;
    let mean = (0..ALL).map(|p| scaling(p).mean + scale(p) * f64::from(fit.mean[p])).collect();
    let r = fit.about.modes;
    let mode = |pixel: usize, k: usize| f64::from(fit.modes[pixel * r + k]);
    let entry = |p: usize, q: usize| {
        let shared: f64 = (0..r).map(|k| mode(p, k) * mode(q, k)).sum();
        let own = if p == q { f64::from(fit.residual[p]).powi(2) } else { 0.0 };
        scale(p) * scale(q) * (shared + own)
    };
    (mean, (0..ALL).map(|p| (0..ALL).map(|q| entry(p, q)).collect()).collect())
}

fn row(channel: Channel, spot: Spot, points: usize) -> Vec<f64> {
    let mut row = vec![0.0; ALL];
    let first = if channel == Channel::A { 0 } else { PIXELS };
    for (point, weight) in Stencil::new(Pde::POISSON, channel, SIZE, spot, points).weights {
        row[first + point] += weight;
    }
    row
}

/// x^T C y.
fn between(covariance: &[Vec<f64>], x: &[f64], y: &[f64]) -> f64 {
    covariance.iter().zip(x).map(|(row, x)| x * row.iter().zip(y).map(|(c, y)| c * y).sum::<f64>()).sum()
}

/// Distinct readings; between pixels, what polynomials of two degrees say otherwise adds to the noise.
fn dense(readings: &[Reading], noise: PerChannel<f64>, covariance: &[Vec<f64>]) -> Dense {
    let of = |reading: &Reading| {
        let own = row(reading.channel, reading.spot, STENCIL_POINTS);
        let fewer = row(reading.channel, reading.spot, 4);
        let apart: Vec<f64> = own.iter().zip(&fewer).map(|(x, y)| x - y).collect();
        (own, reading.value, noise[reading.channel].powi(2) + between(covariance, &apart, &apart))
    };
    let mut dense = Dense { rows: Vec::new(), values: Vec::new(), noise: Vec::new() };
    for (row, value, noise) in readings.iter().map(of) {
        dense.rows.push(row);
        dense.values.push(value);
        dense.noise.push(noise);
    }
    dense
}

/// Mean and standard deviation of every pixel.
fn posterior(mean: &[f64], covariance: &[Vec<f64>], sensors: &Dense) -> (Vec<f64>, Vec<f64>) {
    let n = sensors.rows.len();
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            matrix[i * n + j] = between(covariance, &sensors.rows[i], &sensors.rows[j]);
        }
        matrix[i * n + i] += sensors.noise[i];
    }
    let factor = Cholesky::new(matrix, n).unwrap();
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let mut weights: Vec<f64> =
        sensors.values.iter().zip(&sensors.rows).map(|(value, row)| value - dot(row, mean)).collect();
    factor.solve(&mut weights);
    let of_pixel = |pixel: usize| {
        let shared: Vec<f64> = sensors.rows.iter().map(|row| dot(row, &covariance[pixel])).collect();
        let mut solved = shared.clone();
        factor.solve(&mut solved);
        let variance = covariance[pixel][pixel] - dot(&shared, &solved);
        (mean[pixel] + dot(&shared, &weights), variance.sqrt())
    };
    (0..ALL).map(of_pixel).unzip()
}

/// Readings of a and u on pixels and between them, close ones among them.
fn readings() -> Vec<Reading> {
    let reading = |k: usize| {
        let [i, j] = [3.5 * (1.0 + wave(k, 1)), 3.5 * (1.0 + wave(k, 2))];
        let at = if k.is_multiple_of(2) { [i.round(), j.round()] } else { [i, j] };
        let channel = if k.is_multiple_of(3) { Channel::U } else { Channel::A };
        let value = if channel == Channel::A { 1.5 + 2.0 * wave(k, 5) } else { -0.5 + 0.01 * wave(k, 6) };
        Reading::new(channel, Spot { at }, value)
    };
    let mut all: Vec<Reading> = Vec::new();
    for reading in (0..40).map(reading) {
        if !all.iter().any(|known| known.channel == reading.channel && known.spot == reading.spot) {
            all.push(reading);
        }
    }
    all
}

#[test]
fn mean_and_deviations_agree_with_the_dense_posterior() {
    let fit = synthetic_fit(12);
    let (mean, covariance) = moments(&fit);
    let prior = LinearPrior::new(fit);
    let noise = PerChannel { a: 0.05, u: 3e-4 };
    let all = readings();
    let of = |channel: Channel| -> Vec<Reading> {
        all.iter().copied().filter(|reading| reading.channel == channel).collect()
    };
    for readings in [all.clone(), of(Channel::A), of(Channel::U)] {
        let (expected, deviations) = posterior(&mean, &covariance, &dense(&readings, noise, &covariance));
        let posterior = prior.given(&readings, noise).unwrap();
        let fields = posterior.mean().unwrap();
        let stated = posterior.deviations(0).unwrap().fields;
        for pixel in 0..ALL {
            let channel = if pixel < PIXELS { Channel::A } else { Channel::U };
            let scale = covariance[pixel][pixel].sqrt();
            let got = fields[channel][pixel % PIXELS];
            assert!((got - expected[pixel]).abs() < 1e-8 * scale, "mean of {channel:?} {pixel}");
            let got = stated[channel][pixel % PIXELS];
            assert!((got - deviations[pixel]).abs() < 1e-8 * scale, "deviation of {channel:?} {pixel}");
        }
    }
}

/// What the others say of a reading is what they say when it is left out indeed.
#[test]
fn leaving_one_out_is_recovering_without_it() {
    let prior = LinearPrior::new(synthetic_fit(12));
    let noise = PerChannel { a: 0.05, u: 3e-4 };
    let all: Vec<Reading> =
        readings().into_iter().filter(|r| r.spot.at.iter().all(|x| x.fract() == 0.0)).collect();
    let judged = prior.given(&all, noise).unwrap().leave_one_out().unwrap();
    for (k, prediction) in judged.predictions.iter().enumerate() {
        let mut others = all.clone();
        let left_out = others.remove(k);
        let rest = prior.given(&others, noise).unwrap();
        let [i, j] = left_out.spot.at.map(|x| x as usize);
        let expected = rest.mean().unwrap()[left_out.channel][i * SIZE + j];
        let deviation = rest.deviations(0).unwrap().fields[left_out.channel][i * SIZE + j];
        let deviation = deviation.hypot(noise[left_out.channel]);
        assert!((prediction.expected - expected).abs() < 1e-8 * deviation, "{k}");
        assert!((prediction.deviation - deviation).abs() < 1e-8 * deviation, "{k}");
        assert!(!prediction.suspect || prediction.score(left_out.value).abs() > 3.0);
    }
}

/// What is known of a record may be the same in all records that the fit has seen: then it says nothing more, and does
/// no harm.
#[test]
fn known_values_that_all_records_share_are_no_obstacle() {
    let mut fit = synthetic_fit(12);
    let known = 0..16;
    for point in known.clone() {
        fit.modes[12 * point..12 * (point + 1)].fill(0.0);
        fit.residual[point] = 0.0;
    }
    let shared: Vec<f64> = known.clone().map(|point| f64::from(fit.mean[point])).collect();
    let prior = LinearPrior::new(fit);
    let noise = PerChannel { a: 0.05, u: 3e-4 };
    let spot = |point: usize| Spot::pixel(point / SIZE, point % SIZE);
    let beside = known.clone().map(|point| Reading::known(Channel::A, spot(point), shared[point]));
    let mean = |readings: &[Reading]| prior.given(readings, noise).unwrap().mean().unwrap();
    let [without, with] =
        [mean(&readings()), mean(&readings().into_iter().chain(beside).collect::<Vec<_>>())];
    let apart = without.a.iter().zip(&with.a).map(|(without, with)| (without - with).abs());
    assert!(apart.fold(0.0, f64::max) < 1e-9);
}
