//! The facts of Darcy flow.

use super::{Darcy, HIGH, LOW};
use crate::{
    channel::PerChannel,
    constants::Scaling,
    descriptor::{
        Amplitudes, Descriptor, Distribution, Extent, Field, FieldKind, GaussianPrior, GridPoints,
        KnownRegion, Law, Moments, RESIDUAL_LIMIT, Released, ReleasedFiles, Sample, Scale, ScalingLaw,
        Statistics, ZeroRecords, difference_to_fresh_solve, rounded,
    },
};

/// Pressures of all but nearly singular records: the spline makes some coefficients negative, in the released data as
/// in ours, and 31 of 50,000 records leave this range.
const ORDINARY_PRESSURE: [f64; 2] = [-1e-3, 0.02];

/// Both values of the permeability are equally likely.
const MOMENTS: PerChannel<Moments> = PerChannel {
    a: Moments { mean: Some(0.5 * (HIGH + LOW)), deviation: Some(0.5 * (HIGH - LOW)) },
    u: Moments::UNKNOWN,
};

/// -div(a grad u) = 1 with a two-valued permeability a. The pressure is zero on the edge, but half a cell beyond the
/// outermost points, so it has no value there that a grid could hold.
pub static DARCY: Descriptor = Descriptor {
    name: "darcy",
    title: "Darcy",
    fields: PerChannel {
        a: Field { kind: FieldKind::TwoValued { low: LOW, high: HIGH }, ..Field::continuous("permeability") },
        u: Field { ordinary: Some(ORDINARY_PRESSURE), ..Field::continuous("pressure") },
    },
    grid: [GridPoints::CellCentres; 2],
    shape: None,
    extent: Extent::UNIT_SQUARE,
    known_region: KnownRegion::Nowhere,
    solver: Some(|size| Box::new(Darcy::new(size))),
    records_in_seconds: 800,
    distribution: Distribution::Released(Released {
        constants: PerChannel {
            a: Scaling { mean: 7.5, sigma: 4.5 },
            u: Scaling { mean: 0.00569201936, sigma: 0.00379030361 },
        },
        records: 50_000,
        test_records: 10_000,
        extremes: PerChannel { a: [3.0, 12.0], u: [-0.28737752, 0.11770357] },
        files: ReleasedFiles::Matlab {
            variables: PerChannel { a: "thresh_a_data", u: "thresh_p_data" },
            times: false,
        },
        zero_target_scale: None,
        zero_u: ZeroRecords::NONE,
    }),
    statistics: Statistics { set: MOMENTS, theory: |_| MOMENTS },
    laws: &[
        // The two values are stored as exactly -1/2 and +1/2.
        Law {
            name: "a other than 3 or 12, pixels",
            limit: 0.0,
            sample: Sample::All,
            generated_only: false,
            figure: |_| {
                Box::new(|record| {
                    let values = [LOW, HIGH].map(|value| record.constants.a.store(value));
                    record.stored.a.iter().filter(|x| !values.contains(x)).count() as f64
                })
            },
        },
        Law {
            name: "u against a fresh solve, relative L2",
            limit: RESIDUAL_LIMIT,
            sample: Sample::FEW,
            generated_only: false,
            figure: |size| {
                let darcy = Darcy::new(size);
                Box::new(move |record| difference_to_fresh_solve(record, |a| darcy.solve(a)))
            },
        },
    ],
    scaling: Some(ScalingLaw {
        amplitudes: Amplitudes::Independent,
        free_edge_value: true,
        equation: |&Scale { length, values: PerChannel { a, u }, .. }, edge| {
            format!(
                "-div(a grad u) = {}, a is {} or {}, u = {edge} on the edge",
                rounded(a * u / (length * length)),
                rounded(LOW * a),
                rounded(HIGH * a)
            )
        },
    }),
    prior: GaussianPrior::None("its permeability takes two values and its pressure is not linear in it"),
    benchmark: false,
    spec: None,
};
