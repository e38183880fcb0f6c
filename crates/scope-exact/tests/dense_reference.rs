//! Agreement with the posterior computed from its definition, on a small grid.

use crate::dense;

use dense::Dense;
use rand::RngExt;
use scope_data::{Channel, Constants, Fields, PerChannel};
use scope_exact::{How, Prior, Reading, rounding_noise};
use scope_pde::{
    Pde,
    random::{Coordinates, Stream},
};

const SIZE: usize = 16;
const LINEAR: [Pde; 2] = [Pde::POISSON, Pde::HELMHOLTZ];
/// Which channels are measured.
const KINDS: [[bool; 2]; 3] = [[true, false], [false, true], [true, true]];
const NOISE: PerChannel<f64> = PerChannel { a: 1e-3, u: 2e-5 };

/// Distinct points of each channel, the edge included, with values of the fields' size.
fn readings(observed: PerChannel<bool>, count: usize, stream: &mut Stream) -> Vec<Reading> {
    let mut all = Vec::new();
    for (channel, scale) in [(Channel::A, 0.3), (Channel::U, 0.004)] {
        let mut points: Vec<usize> = (0..count).map(|_| stream.random_range(0..SIZE * SIZE)).collect();
        points.sort_unstable();
        points.dedup();
        if observed[channel] {
            let value = |stream: &mut Stream| scale * (stream.random::<f64>() - 0.5);
            all.extend(
                points.into_iter().map(|point| Reading::of_pixel(channel, point, SIZE, value(stream))),
            );
        }
    }
    all
}

/// The largest difference, in units of the second field's largest entry.
fn apart(x: &[f64], y: &[f64]) -> f64 {
    let largest = y.iter().fold(0.0, |largest: f64, y| largest.max(y.abs()));
    x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max) / largest
}

#[test]
fn mean_and_deviations_agree_with_the_dense_posterior() {
    for pde in LINEAR {
        let dense = Dense::new(pde, SIZE);
        let prior = Prior::new(pde, SIZE).unwrap();
        for (number, kind) in KINDS.into_iter().enumerate() {
            let mut stream = Coordinates::new("dense").number(number as u64).stream();
            let mut readings = readings(kind.into(), 60, &mut stream);
            // Every third between pixels; not near Helmholtz's edge, where a jumps to zero and its source, which is
            // interpolated, does not.
            let edge = if pde == Pde::HELMHOLTZ { 3.0 } else { 0.0 };
            for reading in readings.iter_mut().step_by(3) {
                let width = (SIZE - 1) as f64 - 2.0 * edge;
                reading.spot.at = [0, 1].map(|_| edge + stream.random::<f64>() * width);
            }
            let (mean, variance) = dense.posterior(&readings, NOISE);
            let posterior = prior.given(&readings, NOISE).unwrap();
            let got = posterior.mean().unwrap();
            assert!(apart(&got.a, &mean.a) < 1e-8, "{pde} {kind:?}: {}", apart(&got.a, &mean.a));
            assert!(apart(&got.u, &mean.u) < 1e-8, "{pde} {kind:?}: {}", apart(&got.u, &mean.u));
            let deviations = posterior.deviations(0).unwrap();
            assert_eq!((deviations.a, deviations.u), (How::Exact, How::Exact));
            let root = |x: &[f64]| x.iter().map(|x| x.max(0.0).sqrt()).collect::<Vec<f64>>();
            for (got, expected) in [(&deviations.fields.a, &variance.a), (&deviations.fields.u, &variance.u)]
            {
                let difference = apart(got, &root(expected));
                assert!(difference < 1e-8, "{pde} {kind:?}: {difference}");
            }
        }
    }
}

/// With noise at the level of rounding the mean is still right to eight digits, and the variance where it is not
/// itself rounding error.
#[test]
fn the_default_noise_agrees_too() {
    for pde in LINEAR {
        let dense = Dense::new(pde, SIZE);
        let prior = Prior::new(pde, SIZE).unwrap();
        let noise = rounding_noise(&Constants::generated(pde));
        for kind in KINDS {
            // Few enough for a smooth field to be told apart at all of them.
            let readings = readings(kind.into(), 25, &mut Coordinates::new("rounding").stream());
            let (mean, variance) = dense.posterior(&readings, noise);
            let posterior = prior.given(&readings, noise).unwrap();
            let got = posterior.mean().unwrap();
            assert!(apart(&got.a, &mean.a).max(apart(&got.u, &mean.u)) < 1e-8, "{pde} {kind:?}");
            let square = |x: &[f64]| x.iter().map(|x| x * x).collect::<Vec<f64>>();
            let deviations = posterior.deviations(0).unwrap().fields;
            assert!(apart(&square(&deviations.a), &variance.a) < 1e-8, "{pde} {kind:?}");
            assert!(apart(&square(&deviations.u), &variance.u) < 1e-8, "{pde} {kind:?}");
        }
    }
}

/// C(p, q) = sum_k deviation_k^2 cos(2 pi k (p - q) / S) / S^4, and two sensors solved by hand.
#[test]
fn navier_stokes_follows_from_the_spectrum() {
    let size = SIZE as i64;
    let two_pi = 2.0 * std::f64::consts::PI;
    let field = scope_pde::random::PeriodicField::new(SIZE);
    let covariance = |p: usize, q: usize| {
        let offset = |x: usize, y: usize| (x as i64 - y as i64) as f64 / size as f64;
        let (d, e) = (offset(p / SIZE, q / SIZE), offset(p % SIZE, q % SIZE));
        let mut sum = 0.0;
        for k1 in -size / 2..size / 2 {
            for k2 in -size / 2..size / 2 {
                if (k1, k2) != (0, 0) {
                    sum += field.deviation(k1, k2).powi(2) * (two_pi * (k1 as f64 * d + k2 as f64 * e)).cos();
                }
            }
        }
        sum / (size as f64).powi(4)
    };
    let p = 20;
    let q = 3 * SIZE + 14;
    let noise = 0.01;
    let readings =
        [(p, 0.4), (q, -0.1)].map(|(point, value)| Reading::of_pixel(Channel::A, point, SIZE, value));
    let prior = Prior::new(Pde::NAVIER_STOKES, SIZE).unwrap();
    let posterior = prior.given(&readings, PerChannel { a: noise, u: 0.0 }).unwrap();
    let mean = posterior.mean().unwrap();
    let deviations = posterior.deviations(1).unwrap();
    assert_eq!((deviations.a, deviations.u), (How::Exact, How::Samples(scope_exact::SPREAD_SAMPLES)));
    let own = covariance(p, p) + noise * noise;
    let cross = covariance(p, q);
    let determinant = own * own - cross * cross;
    for x in 0..SIZE * SIZE {
        let to_p = covariance(p, x);
        let to_q = covariance(q, x);
        let weight = [(own * to_p - cross * to_q) / determinant, (own * to_q - cross * to_p) / determinant];
        assert!((mean.a[x] - (0.4 * weight[0] - 0.1 * weight[1])).abs() < 1e-10);
        let variance = covariance(x, x) - weight[0] * to_p - weight[1] * to_q;
        assert!((deviations.fields.a[x] - variance.sqrt()).abs() < 1e-10);
    }
    let u = scope_pde::navier_stokes::NavierStokes::new(SIZE).solve(&mean.a).unwrap();
    assert_eq!(mean.u, u);
}

#[test]
fn samples_have_the_posterior_s_mean_and_covariance() {
    let count = 4000;
    for pde in LINEAR {
        let dense = Dense::new(pde, SIZE);
        let readings =
            readings(PerChannel { a: true, u: true }, 12, &mut Coordinates::new("samples").stream());
        let noise = PerChannel { a: 0.05, u: 1e-3 };
        let (mean, variance) = dense.posterior(&readings, noise);
        let prior = Prior::new(pde, SIZE).unwrap();
        let samples = prior.given(&readings, noise).unwrap().samples(3, count).unwrap();
        let pixel = |fields: &Fields<f64>, at: usize| {
            if at < SIZE * SIZE { fields.a[at] } else { fields.u[at - SIZE * SIZE] }
        };
        // A pixel of each channel, both next to a sensor and far from one, and one on the diagonal.
        let watched = [5 * SIZE + 6, 100, SIZE * SIZE + 5 * SIZE + 6, SIZE * SIZE + 100, 8 * SIZE + 8];
        for x in watched {
            let average = samples.iter().map(|sample| pixel(sample, x)).sum::<f64>() / count as f64;
            let limit = 4.0 * (pixel(&variance, x) / count as f64).sqrt();
            assert!((average - pixel(&mean, x)).abs() < limit, "{pde} mean at {x}");
            for y in watched {
                let product =
                    |sample| (pixel(sample, x) - pixel(&mean, x)) * (pixel(sample, y) - pixel(&mean, y));
                let sampled = samples.iter().map(product).sum::<f64>() / count as f64;
                let exact = dense.posterior_covariance(&readings, noise, x, y);
                let spread = pixel(&variance, x) * pixel(&variance, y) + exact * exact;
                let limit = 4.0 * (spread / count as f64).sqrt();
                assert!(
                    (sampled - exact).abs() < limit,
                    "{pde} covariance of {x} and {y}: {sampled} {exact}"
                );
            }
        }
    }
}
