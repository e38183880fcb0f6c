//! What every single record must obey, whatever the statistics say.

use rayon::prelude::*;
use scope_pde::descriptor::{Law, Sample, StoredRecord};
use serde::Serialize;

use crate::{
    Channel,
    dataset::{Dataset, Origin},
    error::DataError,
};

/// One law and how well the worst record keeps it.
#[derive(Clone, Debug, Serialize)]
pub struct LawReport {
    /// What is tested.
    pub name: &'static str,
    /// The number of records it was tested on.
    pub records: usize,
    /// The worst figure found.
    pub worst: f64,
    /// What it must not exceed.
    pub limit: f64,
}

impl LawReport {
    /// Whether it holds.
    pub fn holds(&self) -> bool {
        self.worst <= self.limit
    }
}

/// The laws of a set's problem.
pub(super) fn test(set: &Dataset) -> Result<Vec<LawReport>, DataError> {
    let generated = matches!(set.meta().origin, Origin::Generated { .. });
    // Laws are planned on the square grids of solvers.
    let Some(size) = set.meta().resolution.side() else { return Ok(Vec::new()) };
    let laws = set.meta().pde.descriptor().laws.iter();
    laws.filter(|law| generated || !law.generated_only).map(|law| worst(set, law, size)).collect()
}

/// The worst of a law's figures over records.
fn worst(set: &Dataset, law: &Law, size: usize) -> Result<LawReport, DataError> {
    let constants = set.meta().constants();
    let figure = (law.figure)(size);
    let indices = sample(set.len(), law.sample);
    let records = indices.len();
    let of_record = |index: usize| {
        let pair = set.pair(index)?;
        Ok(figure(&StoredRecord { stored: pair.fields(), constants, disk: set.disk(index), size }))
    };
    // A figure that is no number must not pass for a small one.
    let reduce = |x: f64, y: f64| if x.is_nan() || y.is_nan() { f64::INFINITY } else { x.max(y) };
    let worst =
        indices.into_par_iter().map(of_record).try_reduce(|| 0.0, |x, y| Ok::<_, DataError>(reduce(x, y)))?;
    Ok(LawReport { name: law.name, records, worst, limit: law.limit })
}

/// Records of a set, evenly spread.
fn sample(records: usize, sample: Sample) -> Vec<usize> {
    let count = match sample {
        Sample::All => records,
        Sample::Spread(most) => records.min(most),
    };
    (0..count).map(|k| k * records / count).collect()
}

/// Things to know of a set: how many records leave the range that all but a few keep.
pub(super) fn notes(set: &Dataset) -> Result<Vec<String>, DataError> {
    let fields = set.meta().pde.descriptor().fields;
    let mut notes = Vec::new();
    for (channel, field) in fields.with_channels() {
        if let Some([least, greatest]) = field.ordinary {
            let count = count_outside(set, channel, [least, greatest])?;
            let of = set.len();
            notes.push(format!("{count} of {of} records have {}s outside [{least}, {greatest}]", field.name));
        }
    }
    Ok(notes)
}

/// How many records have a value outside a range.
fn count_outside(set: &Dataset, channel: Channel, range: [f64; 2]) -> Result<usize, DataError> {
    let [least, greatest] = range.map(|value| set.meta().channel(channel).scaling().store(value));
    let outside = |index: usize| {
        let pair = set.pair(index)?;
        Ok(usize::from(pair.field(channel).iter().any(|x| *x < least || *x > greatest)))
    };
    let counts = (0..set.len()).into_par_iter().map(outside).collect::<Result<Vec<usize>, DataError>>()?;
    Ok(counts.iter().sum())
}
