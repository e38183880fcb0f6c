//! The facts of the flow past a disk.

use super::Cylinder;
use crate::{
    channel::PerChannel,
    constants::Scaling,
    descriptor::{
        Amplitudes, Descriptor, Distribution, Extent, Field, GaussianPrior, GridPoints, KnownRegion, Law,
        Own, Released, ReleasedFiles, Sample, Scale, ScalingLaw, Statistics, StoredRecord, ZeroRecords,
        rounded,
    },
};

/// Speed of a flow past a disk at an earlier (a) and a later (u) time.
pub static CYLINDER: Descriptor = Descriptor {
    name: "cylinder",
    title: "Cylinder",
    fields: PerChannel {
        a: Field { minimum: Some(0.0), ..Field::continuous("speed, earlier") },
        u: Field { minimum: Some(0.0), ..Field::continuous("speed, later") },
    },
    grid: [GridPoints::CellCentres; 2],
    shape: None,
    extent: Extent::UNIT_SQUARE,
    known_region: KnownRegion::Disk,
    solver: Some(|size| Box::new(Cylinder::new(size))),
    records_in_seconds: 48,
    distribution: Distribution::Similar { released: RELEASED, own: OWN },
    statistics: Statistics::UNKNOWN,
    laws: &[
        Law {
            name: "negative speeds, pixels",
            limit: 0.0,
            sample: Sample::All,
            generated_only: false,
            figure: |_| Box::new(negative_speeds),
        },
        // Released speeds are not exactly zero inside the disk.
        Law {
            name: "moving pixels inside the disk",
            limit: 0.0,
            sample: Sample::All,
            generated_only: true,
            figure: |_| Box::new(moving_inside),
        },
    ],
    scaling: Some(ScalingLaw {
        amplitudes: Amplitudes::Equal,
        free_edge_value: false,
        equation: |&Scale { length, values: PerChannel { a, .. }, .. }, _| {
            format!(
                "incompressible flow of viscosity {}, inflow from {} to {}; a and u are speeds {} and {} after its \
                 start",
                rounded(1e-3 * a * length),
                rounded(0.5 * a),
                rounded(3.0 * a),
                rounded(0.5 * length / a),
                rounded(0.9 * length / a)
            )
        },
    }),
    prior: GaussianPrior::None("its flow is not linear and has no Gaussian prior"),
    benchmark: true,
    spec: None,
};

const RELEASED: Released = Released {
    constants: PerChannel {
        a: Scaling { mean: 1.80715032, sigma: 1.00997056 },
        u: Scaling { mean: 2.87310427, sigma: 1.72194188 },
    },
    records: 14_000,
    test_records: 1_000,
    extremes: PerChannel { a: [0.0, 10.00000151], u: [0.0, 10.00000203] },
    files: ReleasedFiles::Snapshots(PerChannel { a: 4, u: 8 }),
    // Paper, "Zero-energy cylinder targets".
    zero_target_scale: Some(PerChannel { a: 2.070_225_306_780_491, u: 3.349_598_784_012_081_3 }),
    zero_u: ZeroRecords { train: 76, test: &[39, 163, 710] },
};

/// Measured once, on 20,000 training records of seed 20260913 at resolution 128.
const OWN: Own = Own {
    what: "flow",
    constants: PerChannel {
        a: Scaling { mean: 1.884511, sigma: 1.126255 },
        u: Scaling { mean: 1.887439, sigma: 1.113554 },
    },
    measured_on: Some(20_000),
};

/// Both fields with what zero is stored as.
fn with_zeros<'a>(record: &StoredRecord<'a>) -> PerChannel<(&'a [f32], f32)> {
    record.stored.zip(record.constants.map(|scaling| scaling.stored_zero()))
}

fn negative_speeds(record: &StoredRecord) -> f64 {
    let below = |(field, zero): (&[f32], f32)| field.iter().filter(|x| **x < zero).count() as f64;
    with_zeros(record).map(below).iter().sum()
}

fn moving_inside(record: &StoredRecord) -> f64 {
    let inside: Vec<usize> = record.disk.iter().flat_map(|disk| disk.points(record.size)).collect();
    let moving =
        |(field, zero): (&[f32], f32)| inside.iter().filter(|point| field[**point] != zero).count() as f64;
    with_zeros(record).map(moving).iter().sum()
}
