//! From a problem as a file states it to its descriptor.

use super::{FieldSpec, KindSpec, KnownSpec, MaskSpec, ProblemSpec};
use crate::{
    channel::{Channel, PerChannel},
    descriptor::{
        Descriptor, Distribution, Extent, Field, FieldKind, GaussianPrior, KnownPoints, KnownRegion,
        Statistics,
    },
};

impl ProblemSpec {
    /// The descriptor, which stays for as long as the program runs: a problem is declared once.
    pub(crate) fn describe(self) -> &'static Descriptor {
        let spec: &'static ProblemSpec = Box::leak(Box::new(self));
        let domain = &spec.domain;
        Box::leak(Box::new(Descriptor {
            name: &spec.name,
            title: spec.title.as_deref().unwrap_or(&spec.name),
            fields: spec
                .fields
                .each_ref()
                .map(|field| field.as_ref().map_or(Field::ABSENT, FieldSpec::describe)),
            grid: spec.grid.points.of_axes(),
            shape: Some(spec.grid.shape()),
            extent: Extent {
                bounds: [domain.x, domain.y],
                names: domain.names.each_ref().map(String::as_str),
                unit: &domain.unit,
            },
            known_region: spec.known.as_ref().map_or(KnownRegion::Nowhere, KnownSpec::describe),
            solver: None,
            records_in_seconds: 0,
            distribution: Distribution::Imported,
            statistics: Statistics::UNKNOWN,
            laws: &[],
            scaling: None,
            prior: GaussianPrior::None("its equation is not known here"),
            benchmark: false,
            spec: Some(spec),
        }))
    }
}

impl FieldSpec {
    fn describe(&'static self) -> Field {
        let kind = match (self.kind, self.values) {
            (KindSpec::TwoValued, Some([low, high])) => FieldKind::TwoValued { low, high },
            _ => FieldKind::Continuous,
        };
        Field {
            name: &self.name,
            unit: &self.unit,
            kind,
            edge: self.edge,
            minimum: self.minimum,
            ordinary: None,
        }
    }
}

impl KnownSpec {
    fn describe(&'static self) -> KnownRegion {
        let values = PerChannel::from_fn(|channel: Channel| self.value_of(channel).unwrap_or(0.0));
        match &self.mask {
            Some(MaskSpec::Runs(runs)) => KnownRegion::Fixed(KnownPoints { runs, values }),
            _ if self.per_record => KnownRegion::PerRecord(values),
            _ => KnownRegion::Nowhere,
        }
    }
}
