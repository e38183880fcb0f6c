//! What a set's statistics should be, and how well that is known.

use scope_pde::{
    GridShape,
    descriptor::{Distribution, Moments},
};
use serde::Serialize;

use crate::{
    Constants, PerChannel,
    dataset::{Meta, Origin},
};

/// The grid of the released data.
const RELEASED_RESOLUTION: GridShape = GridShape::square(128);

/// Where an expected value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The constants of the released data, estimated from their training records.
    Released,
    /// The constants of the solver's own distribution, measured once.
    Generator,
    /// A closed form, without sampling error.
    Exact,
}

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// The value that a set should have.
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

/// What is expected of a set: constants of released or generated records on their own grid, and on other grids what
/// theory says.
pub(super) fn expected(meta: &Meta) -> PerChannel<ChannelReference> {
    let facts = meta.pde.descriptor();
    let in_theory = || {
        let moments = meta.resolution.side().map(facts.statistics.theory);
        moments.unwrap_or_default().map(exact)
    };
    if meta.resolution != RELEASED_RESOLUTION {
        return in_theory();
    }
    let generated = matches!(meta.origin, Origin::Generated { .. });
    match (&facts.distribution, generated) {
        (Distribution::Released(released), _) | (Distribution::Similar { released, .. }, false) => {
            let set = facts.statistics.set;
            let channels = estimated(set, released.constants, Source::Released, released.records);
            let with_extremes =
                |(channel, extremes)| ChannelReference { extremes: Some(extremes), ..channel };
            channels.zip(released.extremes).map(with_extremes)
        }
        (Distribution::Similar { own, .. } | Distribution::Own(own), true) => {
            let of = |records| estimated(facts.statistics.set, own.constants, Source::Generator, records);
            own.measured_on.map_or_else(in_theory, of)
        }
        (Distribution::Own(_), false) | (Distribution::Imported, _) => in_theory(),
    }
}

/// References from constants that were estimated from records, but for those that were set.
fn estimated(
    set: PerChannel<Moments>,
    constants: Constants,
    source: Source,
    records: usize,
) -> PerChannel<ChannelReference> {
    let measured = |value| Some(Reference { value, source, records: Some(records) });
    set.zip(constants).map(|(set, scaling)| {
        let ChannelReference { mean, deviation, extremes } = exact(set);
        ChannelReference {
            mean: mean.or(measured(scaling.mean)),
            deviation: deviation.or(measured(scaling.sigma)),
            extremes,
        }
    })
}

/// References without sampling error.
fn exact(moments: Moments) -> ChannelReference {
    let reference = |value| Reference { value, source: Source::Exact, records: None };
    ChannelReference {
        mean: moments.mean.map(reference),
        deviation: moments.deviation.map(reference),
        extremes: None,
    }
}
