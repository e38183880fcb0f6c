//! What a set's statistics should be, and how well that is known.

use scope_pde::{Pde, elliptic::Elliptic, random::PeriodicField};
use serde::Serialize;

use crate::{
    Constants, PerChannel,
    dataset::{Meta, Origin},
};

/// The resolution of the released data.
const RELEASED_RESOLUTION: usize = 128;

/// Where an expected value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The constants of the released data, estimated from their training records.
    Released,
    /// The constants of our own cylinder flow, measured once.
    Generator,
    /// A closed form, without sampling error.
    Exact,
}

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// The value.
    pub value: f64,
    /// Where it comes from.
    pub source: Source,
    /// How many records it was estimated from; none when it is exact.
    pub records: Option<usize>,
}

/// What is expected of one channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChannelReference {
    pub(super) mean: Option<Reference>,
    pub(super) deviation: Option<Reference>,
    /// The least and greatest value of the released records.
    pub(super) extremes: Option<[f64; 2]>,
}

/// What is expected of a set, channel a first.
pub(super) fn expected(meta: &Meta) -> PerChannel<ChannelReference> {
    let generated = matches!(meta.origin, Origin::Generated { .. });
    match (meta.pde, generated) {
        (Pde::Cylinder, true) if meta.resolution == RELEASED_RESOLUTION => {
            estimated(meta.pde, Constants::generated(meta.pde), Source::Generator, OWN_CYLINDER_RECORDS)
        }
        (Pde::Cylinder, true) => Default::default(),
        _ if meta.resolution == RELEASED_RESOLUTION => {
            let records = if meta.pde == Pde::Cylinder { 14_000 } else { 50_000 };
            let mut channels = estimated(meta.pde, Constants::released(meta.pde), Source::Released, records);
            for (channel, extremes) in channels.each_mut().zip(released_extremes(meta.pde)) {
                channel.extremes = Some(extremes);
            }
            channels
        }
        _ => closed_form(meta.pde, meta.resolution),
    }
}

/// How many records the constants of our own flow were measured on.
const OWN_CYLINDER_RECORDS: usize = 20_000;

/// The least and greatest values of a and u in the released training records (data specification, 1.1).
fn released_extremes(pde: Pde) -> PerChannel<[f64; 2]> {
    let [a, u] = match pde {
        Pde::Darcy => [[3.0, 12.0], [-0.28737752, 0.11770357]],
        Pde::Poisson => [[-2.13132663, 2.16163561], [-0.02657227, 0.02717429]],
        Pde::Helmholtz => [[-2.09217139, 2.13316352], [-0.02734944, 0.02774104]],
        Pde::NavierStokes => [[-1.3913461, 1.58353412], [-1.31577837, 1.4743135]],
        Pde::Cylinder => [[0.0, 10.00000151], [0.0, 10.00000203]],
    };
    PerChannel { a, u }
}

/// References from constants. Means that were set, not estimated, are exact: zero for random fields, 7.5
/// and 4.5 for the two values of Darcy's permeability.
fn estimated(pde: Pde, constants: Constants, source: Source, records: usize) -> PerChannel<ChannelReference> {
    let measured = |value| Some(Reference { value, source, records: Some(records) });
    let set = |value| Some(Reference { value, source: Source::Exact, records: None });
    let (mean_a, mean_u, deviation_a) = match pde {
        Pde::Darcy => (set(7.5), measured(constants.u.mean), set(4.5)),
        Pde::Poisson | Pde::Helmholtz => (set(0.0), measured(constants.u.mean), measured(constants.a.sigma)),
        Pde::NavierStokes => (set(0.0), set(0.0), measured(constants.a.sigma)),
        Pde::Cylinder => {
            (measured(constants.a.mean), measured(constants.u.mean), measured(constants.a.sigma))
        }
    };
    PerChannel {
        a: ChannelReference { mean: mean_a, deviation: deviation_a, extremes: None },
        u: ChannelReference { mean: mean_u, deviation: measured(constants.u.sigma), extremes: None },
    }
}

/// What theory says at any resolution; nothing where it says nothing.
fn closed_form(pde: Pde, resolution: usize) -> PerChannel<ChannelReference> {
    let exact = |value| Some(Reference { value, source: Source::Exact, records: None });
    let channel = |mean, deviation| ChannelReference { mean, deviation, extremes: None };
    let elliptic =
        |problem: Elliptic| problem.exact_deviations().map(|deviation| channel(exact(0.0), exact(deviation)));
    match pde {
        Pde::Poisson => elliptic(Elliptic::poisson(resolution)),
        Pde::Helmholtz => elliptic(Elliptic::helmholtz(resolution)),
        Pde::Darcy => PerChannel { a: channel(exact(7.5), exact(4.5)), u: ChannelReference::default() },
        Pde::NavierStokes => {
            let deviation = PeriodicField::new(resolution).variance().sqrt();
            PerChannel { a: channel(exact(0.0), exact(deviation)), u: channel(exact(0.0), None) }
        }
        Pde::Cylinder => Default::default(),
    }
}
