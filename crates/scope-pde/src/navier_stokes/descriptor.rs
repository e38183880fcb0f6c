//! The facts of Navier-Stokes.

use super::NavierStokes;
use crate::{
    channel::{Channel, PerChannel},
    constants::Scaling,
    descriptor::{
        Amplitudes, Descriptor, Distribution, Extent, Field, GaussianPrior, GridPoints, KnownRegion, Law,
        Moments, RESIDUAL_LIMIT, Released, ReleasedFiles, Sample, Scale, ScalingLaw, Statistics,
        StoredRecord, ZeroRecords, difference_to_fresh_solve, rounded,
    },
    random::PeriodicField,
};

const NO_MEAN: Moments = Moments { mean: Some(0.0), deviation: None };

/// Periodic vorticity at times 0 (a) and 1 (u).
pub static NAVIER_STOKES: Descriptor = Descriptor {
    name: "ns",
    title: "NS",
    fields: PerChannel {
        a: Field::continuous("vorticity at t = 0"),
        u: Field::continuous("vorticity at t = 1"),
    },
    grid: [GridPoints::Periodic; 2],
    shape: None,
    extent: Extent::UNIT_SQUARE,
    known_region: KnownRegion::Nowhere,
    solver: Some(|size| Box::new(NavierStokes::new(size))),
    records_in_seconds: 400,
    distribution: Distribution::Released(Released {
        constants: PerChannel {
            a: Scaling { mean: 0.0, sigma: 0.26211293 },
            u: Scaling { mean: 0.0, sigma: 0.2561266 },
        },
        records: 50_000,
        test_records: 1_000,
        extremes: PerChannel { a: [-1.3913461, 1.58353412], u: [-1.31577837, 1.4743135] },
        // Several times are kept; the last one is t = 1.
        files: ReleasedFiles::Matlab { variables: PerChannel { a: "a", u: "u" }, times: true },
        zero_target_scale: None,
        zero_u: ZeroRecords::NONE,
    }),
    statistics: Statistics { set: PerChannel { a: NO_MEAN, u: NO_MEAN }, theory },
    laws: &[
        Law {
            name: "|mean vorticity| / rms",
            limit: 1e-4,
            sample: Sample::All,
            generated_only: false,
            figure: |_| Box::new(largest_mean),
        },
        Law {
            name: "u against a fresh solve, relative L2",
            limit: RESIDUAL_LIMIT,
            sample: Sample::FEW,
            generated_only: false,
            figure: |size| {
                let flow = NavierStokes::new(size);
                Box::new(move |record| difference_to_fresh_solve(record, |a| flow.solve(a)))
            },
        },
    ],
    scaling: Some(ScalingLaw {
        amplitudes: Amplitudes::Equal,
        free_edge_value: false,
        equation: |&Scale { length, values: PerChannel { a, .. }, .. }, _| {
            format!(
                "w_t + v . grad w = {} Lap w + {} (sin s + cos s), s = 2 pi (x + y) / {length}, periodic; a = w(0), u \
                 = w({})",
                rounded(1e-3 * a * length * length),
                rounded(0.1 * a * a),
                rounded(1.0 / a)
            )
        },
    }),
    prior: GaussianPrior::InitialState(NavierStokes::new),
    benchmark: false,
    spec: None,
};

/// The initial vorticity's deviation has a closed form; vorticity has no mean, at either time.
fn theory(size: usize) -> PerChannel<Moments> {
    let deviation = PeriodicField::new(size).variance().sqrt();
    PerChannel { a: Moments { deviation: Some(deviation), ..NO_MEAN }, u: NO_MEAN }
}

fn largest_mean(record: &StoredRecord) -> f64 {
    PerChannel::from_fn(|channel: Channel| record.physical(channel)).iter().fold(0.0, |worst: f64, field| {
        let n = field.len() as f64;
        let rms = (field.iter().map(|x| x * x).sum::<f64>() / n).sqrt();
        worst.max((field.iter().sum::<f64>() / n).abs() / rms)
    })
}
