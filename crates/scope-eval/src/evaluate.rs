//! A model on held-out records, condition by condition.

use std::collections::BTreeMap;

use scope_data::{
    Channel, Dataset,
    observation::{Condition, MaskSampler, Namespace, gather_context},
};
use scope_model::{ModelError, Reconstructor};
use scope_pde::Pde;
use serde::Serialize;

use crate::metrics::{bit_error_rate, relative_error};

/// Contexts made and recovered at a time.
const BATCH: usize = 32;

/// A mean over the records that have a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Records scored.
    pub count: usize,
    /// Records without a value: zero targets have no relative error.
    pub undefined: usize,
    /// The mean of their values; none if nothing was scored.
    pub mean: Option<f64>,
    /// Their standard deviation, divided by one less than the count.
    pub sd: Option<f64>,
}

impl Summary {
    /// Of one value a record.
    pub fn of(values: &[Option<f64>]) -> Self {
        let scored: Vec<f64> = values.iter().flatten().copied().collect();
        let count = scored.len();
        let mean = (count > 0).then(|| scored.iter().sum::<f64>() / count as f64);
        let sd = mean
            .filter(|_| count > 1)
            .map(|mean| (scored.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1) as f64).sqrt());
        Self { count, undefined: values.len() - count, mean, sd }
    }
}

/// What one condition gave, a value a record: errors in percent.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// Relative L2 errors of a and of u.
    pub relative: [Vec<Option<f64>>; 2],
    /// Darcy's bit error rates of a, else empty.
    pub ber: Vec<Option<f64>>,
}

impl Errors {
    /// The summaries of its channels, by the names that files use.
    pub fn summaries(&self) -> BTreeMap<&'static str, Summary> {
        let [a, u] = &self.relative;
        let mut all = BTreeMap::from([("a", Summary::of(a)), ("u", Summary::of(u))]);
        if !self.ber.is_empty() {
            all.insert("ber", Summary::of(&self.ber));
        }
        all
    }
}

/// Recovers the first `limit` records of a set under one condition, with the test masks of a seed. `progress` hears how many
/// records are done.
pub fn evaluate(
    model: &Reconstructor,
    data: &Dataset,
    condition: Condition,
    seed: u64,
    limit: usize,
    progress: &mut dyn FnMut(usize),
) -> Result<Errors, ModelError> {
    let (meta, size) = (data.meta(), data.meta().resolution);
    let sampler = MaskSampler::new(meta.pde, seed, size);
    let zero = |channel: Channel, record: usize| meta.channel(channel).zero_records.contains(&record);
    let mut errors = Errors { relative: [Vec::new(), Vec::new()], ber: Vec::new() };
    let count = limit.min(data.len());
    for first in (0..count).step_by(BATCH) {
        let records = first..(first + BATCH).min(count);
        let mut contexts = vec![0.0; records.len() * 4 * size * size];
        for (record, context) in records.clone().zip(contexts.chunks_mut(4 * size * size)) {
            let disk = data.disk(record);
            let masks = sampler.masks(Namespace::Test, record as u64, condition, disk.as_ref());
            gather_context(&data.pair(record), &masks, context);
        }
        for (record, fields) in records.clone().zip(model.recover(&contexts)?) {
            let pair = data.pair(record);
            let both = [(Channel::A, &fields.a, pair.a()), (Channel::U, &fields.u, pair.u())];
            for (errors, (channel, recovered, stored)) in errors.relative.iter_mut().zip(both) {
                let scaling = meta.channel(channel).scaling();
                errors.push(relative_error(recovered, stored, scaling, zero(channel, record)));
            }
            if meta.pde == Pde::Darcy {
                errors.ber.push(Some(bit_error_rate(&fields.a, pair.a(), meta.a.scaling())));
            }
        }
        progress(records.end);
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_records_are_counted_and_not_averaged() {
        let summary = Summary::of(&[Some(1.0), None, Some(3.0)]);
        assert_eq!((summary.count, summary.undefined), (2, 1));
        assert_eq!((summary.mean, summary.sd), (Some(2.0), Some(2.0_f64.sqrt())));
        let nothing = Summary::of(&[None]);
        assert_eq!((nothing.count, nothing.undefined, nothing.mean, nothing.sd), (0, 1, None, None));
    }
}
