//! The tests of the linear method, in one program: linking many takes longer than running them.

#![allow(clippy::panic, clippy::unwrap_used)]

mod calibration;
mod coverage;
mod dense_reference;
mod files;
mod fitting;
mod placement;
mod samples;

use scope_data::{Constants, Origin, Scaling};
use scope_linear::{About, LinearFit, Source};
use scope_pde::{Pde, Split};

/// The side of the grid.
const SIZE: usize = 8;
const PIXELS: usize = SIZE * SIZE;

/// What made-up records are said to be.
fn source() -> Source {
    Source {
        pde: Pde::POISSON,
        resolution: SIZE.into(),
        constants: Constants { a: Scaling { mean: 1.5, sigma: 2.0 }, u: Scaling { mean: -0.5, sigma: 0.01 } },
        blake3: "0".repeat(64),
        split: Split::Train,
        origin: Origin::Imported { source: "made up".to_owned(), files: Vec::new() },
    }
}

/// A number between -1 and 1 that depends on two others.
fn wave(i: usize, k: usize) -> f64 {
    ((i + 1) as f64 * 0.731 + (k + 1) as f64 * 1.17 + (i * k) as f64 * 0.0913).sin()
}

/// A made-up fit of the smallest grid that files may have.
fn in_a_file() -> LinearFit {
    let modes = 3;
    let length = 2 * 32 * 32;
    let values = |count: usize, k: usize| (0..count).map(|at| wave(at, k) as f32).collect::<Vec<f32>>();
    let source = Source { resolution: 32.into(), ..source() };
    LinearFit {
        about: About {
            source,
            modes,
            records: 100,
            held_out: 10,
            held_out_percent: [99.0, 99.0],
            calibration: 0,
        },
        mean: values(length, 1),
        modes: values(length * modes, 2),
        residual: values(length, 3).into_iter().map(f32::abs).collect(),
        calibration: Vec::new(),
    }
}

/// A synthetic distribution: smooth modes that both fields share, and something beyond them.
fn synthetic_fit(modes: usize) -> LinearFit {
    let mode = |pixel: usize, k: usize| {
        let [i, j] = [pixel % PIXELS / SIZE, pixel % SIZE].map(|x| x as f64 / SIZE as f64);
        let [p, q] = [k / 4 + 1, k % 4 + 1].map(|x| x as f64);
        let phase = if pixel < PIXELS { 0.3 } else { 0.9 };
        0.5 * ((3.0 * p * i + phase).sin() * (2.5 * q * j + k as f64).cos()) / (1.0 + k as f64)
    };
    LinearFit {
        about: About {
            source: source(),
            modes,
            records: 100,
            held_out: 10,
            held_out_percent: [99.0, 99.0],
            calibration: 0,
        },
        mean: (0..2 * PIXELS).map(|pixel| 0.2 * wave(pixel, 3) as f32).collect(),
        modes: (0..2 * PIXELS * modes).map(|at| mode(at / modes, at % modes) as f32).collect(),
        residual: (0..2 * PIXELS).map(|pixel| 0.02 + 0.01 * wave(pixel, 11) as f32).collect(),
        calibration: Vec::new(),
    }
}
