//! The facts of Poisson and Helmholtz.

use super::{Elliptic, exact_errors};
use crate::{
    channel::{Channel, PerChannel},
    constants::Scaling,
    descriptor::{
        Amplitudes, Descriptor, Distribution, Extent, Field, Figure, GaussianPrior, GridPoints, KnownRegion,
        Law, Moments, RESIDUAL_LIMIT, Released, ReleasedFiles, Sample, Scale, ScalingLaw, Statistics,
        ZeroRecords, edge_share, rounded,
    },
};

/// What a field that is zero on the edge may have there, relative to its largest value.
const EDGE_LIMIT: f64 = 1e-5;

const FIELDS: PerChannel<Field> = PerChannel {
    a: Field::continuous("source"),
    u: Field { edge: Some(0.0), ..Field::continuous("solution") },
};

/// Sources have no mean by construction; their deviations and those of solutions were estimated.
const SET: PerChannel<Moments> =
    PerChannel { a: Moments { mean: Some(0.0), deviation: None }, u: Moments::UNKNOWN };

const ZERO_SOLUTION_ON_EDGE: Law = Law {
    name: "|u| on the edge, relative",
    limit: EDGE_LIMIT,
    sample: Sample::MANY,
    generated_only: false,
    figure: |_| Box::new(|record| edge_share(&record.physical(Channel::U), record.size)),
};

/// Lap u = a, u = 0 on the edge.
pub static POISSON: Descriptor = Descriptor {
    name: "poisson",
    title: "Poisson",
    fields: FIELDS,
    grid: [GridPoints::Nodes; 2],
    shape: None,
    extent: Extent::UNIT_SQUARE,
    known_region: KnownRegion::Nowhere,
    solver: Some(|size| Box::new(Elliptic::poisson(size))),
    records_in_seconds: 4000,
    distribution: Distribution::Released(Released {
        constants: PerChannel {
            a: Scaling { mean: 0.0, sigma: 0.2919494 },
            u: Scaling { mean: 9.67226952e-6, sigma: 0.00417478 },
        },
        records: 50_000,
        test_records: 1_024,
        extremes: PerChannel { a: [-2.13132663, 2.16163561], u: [-0.02657227, 0.02717429] },
        files: ReleasedFiles::Matlab { variables: PerChannel { a: "f_data", u: "phi_data" }, times: false },
        zero_target_scale: None,
        zero_u: ZeroRecords::NONE,
    }),
    statistics: Statistics { set: SET, theory: |size| moments(&Elliptic::poisson(size)) },
    laws: &[
        residual(|size| residual_figure(Elliptic::poisson(size))),
        ZERO_SOLUTION_ON_EDGE,
        // The figure is 1 for a record where the whole edge of the source is zero, else 0.
        Law {
            name: "a zeroed on the edge, 0 no or 1 yes",
            limit: 0.0,
            sample: Sample::MANY,
            generated_only: false,
            figure: |_| {
                Box::new(|record| {
                    let zeroed = edge_share(&record.physical(Channel::A), record.size) == 0.0;
                    f64::from(u8::from(zeroed))
                })
            },
        },
    ],
    scaling: Some(ScalingLaw {
        amplitudes: Amplitudes::Linear,
        free_edge_value: true,
        equation: |scale, edge| format!("{}Lap u = a, u = {edge} on the edge", coefficient(scale)),
    }),
    prior: GaussianPrior::Linear { plan: Elliptic::poisson, errors: &exact_errors::POISSON },
    benchmark: false,
    spec: None,
};

/// Lap u + u = a, a = u = 0 on the edge.
pub static HELMHOLTZ: Descriptor = Descriptor {
    name: "helmholtz",
    title: "Helmholtz",
    fields: PerChannel { a: Field { edge: Some(0.0), ..FIELDS.a }, ..FIELDS },
    grid: [GridPoints::Nodes; 2],
    shape: None,
    extent: Extent::UNIT_SQUARE,
    known_region: KnownRegion::Nowhere,
    solver: Some(|size| Box::new(Elliptic::helmholtz(size))),
    records_in_seconds: 4000,
    distribution: Distribution::Released(Released {
        constants: PerChannel {
            a: Scaling { mean: 0.0, sigma: 0.2844538 },
            u: Scaling { mean: 1.05050595e-5, sigma: 0.00428004 },
        },
        records: 50_000,
        test_records: 10_000,
        extremes: PerChannel { a: [-2.09217139, 2.13316352], u: [-0.02734944, 0.02774104] },
        files: ReleasedFiles::Matlab { variables: PerChannel { a: "f_data", u: "psi_data" }, times: false },
        zero_target_scale: None,
        zero_u: ZeroRecords::NONE,
    }),
    statistics: Statistics { set: SET, theory: |size| moments(&Elliptic::helmholtz(size)) },
    laws: &[
        residual(|size| residual_figure(Elliptic::helmholtz(size))),
        ZERO_SOLUTION_ON_EDGE,
        Law {
            name: "|a| on the edge, relative",
            limit: EDGE_LIMIT,
            sample: Sample::MANY,
            generated_only: false,
            figure: |_| Box::new(|record| edge_share(&record.physical(Channel::A), record.size)),
        },
    ],
    scaling: Some(ScalingLaw {
        amplitudes: Amplitudes::Linear,
        free_edge_value: false,
        equation: |scale, _| helmholtz_equation(scale),
    }),
    prior: GaussianPrior::Linear { plan: Elliptic::helmholtz, errors: &exact_errors::HELMHOLTZ },
    benchmark: false,
    spec: None,
};

/// What stands before an operator, if it is not 1.
fn coefficient(scale: &Scale) -> String {
    if scale.coefficient == 1.0 { String::new() } else { format!("{} ", scale.coefficient) }
}

/// The wave number of the unit square is 1, so k = 1 / L.
fn helmholtz_equation(scale: &Scale) -> String {
    let coefficient = coefficient(scale);
    let [open, close] = if coefficient.is_empty() { ["", ""] } else { ["(", ")"] };
    let k = rounded(1.0 / scale.length);
    format!("{coefficient}{open}Lap u + k^2 u{close} = a with k = {k}, u = 0 on the edge")
}

const fn residual(figure: fn(usize) -> Figure) -> Law {
    Law {
        name: "discrete residual / max |a|",
        limit: RESIDUAL_LIMIT,
        sample: Sample::MANY,
        generated_only: false,
        figure,
    }
}

fn residual_figure(problem: Elliptic) -> Figure {
    Box::new(move |record| problem.residual(&record.physical(Channel::A), &record.physical(Channel::U)))
}

/// Both fields have zero mean, and closed forms for their deviations.
fn moments(problem: &Elliptic) -> PerChannel<Moments> {
    problem.exact_deviations().map(|deviation| Moments { mean: Some(0.0), deviation: Some(deviation) })
}
