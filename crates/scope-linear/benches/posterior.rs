//! What the posterior of a linear fit costs: 1,000 modes on 128 x 128 points, 500 sensors.

#![allow(clippy::unwrap_used)]

use divan::Bencher;
use scope_data::{Channel, Constants, Origin, PerChannel};
use scope_exact::Reading;
use scope_linear::{About, LinearFit, LinearPrior, Source};
use scope_pde::{Pde, Split};

const SIZE: usize = 128;
const MODES: usize = 1000;
const SENSORS: usize = 500;
const NOISE: PerChannel<f64> = PerChannel { a: 0.01, u: 0.01 };

fn main() {
    divan::main();
}

/// What is computed does not depend on the values: any will do.
fn prior() -> LinearPrior {
    let value = |at: usize, scale: f64| (scale * (at as f64 * 0.618).sin()) as f32;
    let length = 2 * SIZE * SIZE;
    let source = Source {
        pde: Pde::NAVIER_STOKES,
        resolution: SIZE.into(),
        constants: Constants::generated(Pde::NAVIER_STOKES),
        blake3: "0".repeat(64),
        split: Split::Train,
        origin: Origin::Imported { source: "made up".to_owned(), files: Vec::new() },
    };
    LinearPrior::new(LinearFit {
        about: About {
            source,
            modes: MODES,
            records: 5000,
            held_out: 500,
            held_out_percent: [99.0; 2],
            calibration: 0,
        },
        mean: vec![0.0; length],
        modes: (0..length * MODES).map(|at| value(at, 1.0 / (1 + at % MODES) as f64)).collect(),
        residual: vec![0.01; length],
        calibration: Vec::new(),
    })
}

fn readings() -> Vec<Reading> {
    let reading = |k: usize| Reading::of_pixel(Channel::U, k * 7919 % (SIZE * SIZE), SIZE, 0.1);
    (0..SENSORS).map(reading).collect()
}

#[divan::bench(sample_count = 10)]
fn mean(bencher: Bencher) {
    let prior = prior();
    let readings = readings();
    bencher.bench_local(|| prior.given(&readings, NOISE).unwrap().mean().unwrap());
}

#[divan::bench(sample_count = 10)]
fn mean_and_deviations(bencher: Bencher) {
    let prior = prior();
    let readings = readings();
    bencher.bench_local(|| {
        let posterior = prior.given(&readings, NOISE).unwrap();
        (posterior.mean().unwrap(), posterior.deviations(0).unwrap())
    });
}
