//! A method on held-out records, condition by condition.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    ops::Range,
};

use rayon::prelude::*;
use scope_data::{
    Channel, Constants, DataError, Dataset, Pair, PerChannel,
    observation::{Condition, ContextMasks, MaskSampler, Namespace, TestNoise, write_context},
};
use scope_model::{Fields, Interpolation, Measure, Region};
use scope_pde::{GridShape, Pde};

use crate::{
    error::EvalError,
    interpolation::interpolate,
    method::{RecoveryMethod, Shown, StatedBands},
    metrics::Recovered,
    noise::spoil,
    regions::Regions,
};

/// Masks that are made together for their hash.
const MASKS_AT_ONCE: usize = 1024;

/// One value a record; none where it is not defined.
pub type PerRecord = Vec<Option<f64>>;

/// What one condition gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// A value a record for each measure.
    pub measures: BTreeMap<Measure, PerRecord>,
    /// BLAKE3 of the masks, record after record, a before u.
    pub masks: String,
}

/// Which records are evaluated, and under which masks.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'a> {
    /// The records.
    pub data: &'a Dataset,
    /// The seed of the test masks.
    pub mask_seed: u64,
    /// The noise of the readings, if they are not exact.
    pub noise: Option<TestNoise>,
    /// The first so many records.
    pub records: usize,
    /// Contexts recovered together; it changes speed and memory, never a result.
    pub batch: usize,
    /// Whether interpolation between the same sensors is scored beside the method: it depends on records and masks
    /// alone, and costs more than a network on a GPU.
    pub interpolate: bool,
}

/// One record under one condition, and what a method made of it.
pub(crate) struct Seen<'a> {
    pub(crate) record: usize,
    pub(crate) pair: Pair,
    pub(crate) masks: ContextMasks,
    /// \[4, S, S\].
    pub(crate) context: &'a [f32],
    pub(crate) fields: Fields,
}

impl Seen<'_> {
    /// Refuses numbers that are NaN or infinite; each comes with what it is called.
    pub(crate) fn require_finite<N: Display>(
        &self,
        condition: Condition,
        mut numbers: impl Iterator<Item = (N, f64)>,
    ) -> Result<(), EvalError> {
        match numbers.find(|(_, value)| !value.is_finite()) {
            None => Ok(()),
            Some((what, value)) => {
                let what = what.to_string();
                let condition = condition.to_string();
                Err(EvalError::NotFinite { what, record: self.record, condition, value })
            }
        }
    }
}

impl Evaluation<'_> {
    /// Refuses a method that is made for other records.
    pub fn require_fit(&self, method: &dyn RecoveryMethod) -> Result<(), EvalError> {
        self.require_same(method.pde(), &method.constants(), method.resolution())
    }

    /// Refuses a model of another problem, normalisation or grid.
    pub fn require_same(
        &self,
        pde: Pde,
        constants: &Constants,
        resolution: GridShape,
    ) -> Result<(), EvalError> {
        let meta = self.data.meta();
        let refuse = |problem: String| Err(EvalError::Mismatch(problem));
        if pde != meta.pde || *constants != meta.constants() {
            return refuse(format!(
                "{} holds {}, and the model was trained on {}: problem and normalisation must be the same",
                self.data.folder().display(),
                meta.pde.name(),
                pde.name()
            ));
        }
        if resolution != meta.resolution {
            let reads = resolution;
            let has = meta.resolution;
            return refuse(format!("the model reads {reads} grids and the records are on {has}"));
        }
        Ok(())
    }

    /// Recovers the records under one condition and scores them. `progress` hears how many are done.
    pub fn condition(
        &self,
        method: &dyn RecoveryMethod,
        condition: Condition,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Scores, EvalError> {
        self.condition_of(method, condition, 0..self.records, progress)
    }

    /// The same for some of the records, with the hash of their masks alone.
    pub fn condition_of(
        &self,
        method: &dyn RecoveryMethod,
        condition: Condition,
        records: Range<usize>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Scores, EvalError> {
        let mut scored: Vec<BTreeMap<Measure, Option<f64>>> = Vec::new();
        let mut hasher = blake3::Hasher::new();
        self.recover_each(method, condition, records, &mut |batch| {
            for masks in batch.iter().map(|seen| &seen.masks) {
                Self::hash_masks(&mut hasher, masks);
            }
            let shown: Vec<Shown> = batch
                .iter()
                .map(|Seen { masks, context, fields, .. }| Shown {
                    task: condition.task(),
                    masks,
                    context,
                    fields,
                })
                .collect();
            let bands = method.bands(&shown).map_err(EvalError::Method)?;
            let scores = batch.par_iter().zip(&bands).map(|(seen, bands)| self.score(seen, bands.as_ref()));
            let scores: Vec<_> = scores.collect();
            for (seen, scores) in batch.iter().zip(&scores) {
                let figures = scores.iter().filter_map(|(measure, value)| Some((*measure, (*value)?)));
                seen.require_finite(condition, figures)?;
            }
            scored.extend(scores);
            progress(scored.len());
            Ok(())
        })?;
        let measures: BTreeSet<Measure> = scored.iter().flat_map(BTreeMap::keys).copied().collect();
        let of =
            |measure: &Measure| scored.iter().map(|record| record.get(measure).copied().flatten()).collect();
        let measures = measures.iter().map(|measure| (*measure, of(measure))).collect();
        Ok(Scores { measures, masks: hasher.finalize().to_string() })
    }

    /// BLAKE3 of the masks of all records under a condition, record after record.
    pub(crate) fn masks_hash(&self, condition: Condition) -> String {
        let records: Vec<usize> = (0..self.records).collect();
        let mut hasher = blake3::Hasher::new();
        for records in records.chunks(MASKS_AT_ONCE) {
            let masks: Vec<ContextMasks> =
                records.par_iter().map(|record| self.masks(*record, condition)).collect();
            masks.iter().for_each(|masks| Self::hash_masks(&mut hasher, masks));
        }
        hasher.finalize().to_string()
    }

    /// Where a record is seen under a condition.
    fn masks(&self, record: usize, condition: Condition) -> ContextMasks {
        let meta = self.data.meta();
        let sampler = MaskSampler::new(meta.pde, self.mask_seed, meta.resolution);
        sampler.masks(Namespace::Test, record as u64, condition, self.data.region(record))
    }

    /// Adds the masks of a record to the hash of all, a before u.
    pub(crate) fn hash_masks(hasher: &mut blake3::Hasher, masks: &ContextMasks) {
        for word in masks.seen.a.words().iter().chain(masks.seen.u.words()) {
            hasher.update(&word.to_le_bytes());
        }
    }

    /// Recovers some records under one condition, a batch at a time.
    pub(crate) fn recover_each(
        &self,
        method: &dyn RecoveryMethod,
        condition: Condition,
        records: Range<usize>,
        take: &mut dyn FnMut(&[Seen]) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let each = 4 * self.data.meta().resolution.points();
        let all: Vec<usize> = records.collect();
        for records in all.chunks(self.batch.max(1)) {
            let mut contexts = vec![0.0; records.len() * each];
            let observed = (records.par_iter().zip(contexts.par_chunks_mut(each)))
                .map(|(record, context)| self.observe(*record, condition, context))
                .collect::<Result<Vec<(Pair, ContextMasks)>, DataError>>()?;
            let recovered = method.recover(&contexts).map_err(EvalError::Method)?;
            let seen = records.iter().zip(observed).zip(recovered).zip(contexts.chunks(each));
            let batch: Vec<Seen> = seen
                .map(|(((record, (pair, masks)), fields), context)| Seen {
                    record: *record,
                    pair,
                    masks,
                    context,
                    fields,
                })
                .collect();
            for seen in &batch {
                for (what, field) in
                    [("the recovered a", &seen.fields.a), ("the recovered u", &seen.fields.u)]
                {
                    seen.require_finite(condition, field.iter().map(|value| (what, f64::from(*value))))?;
                }
            }
            take(&batch)?;
        }
        Ok(())
    }

    /// Writes what is seen of a record; returns the record and where it is seen.
    pub fn observe(
        &self,
        record: usize,
        condition: Condition,
        context: &mut [f32],
    ) -> Result<(Pair, ContextMasks), DataError> {
        let meta = self.data.meta();
        let sampler = MaskSampler::new(meta.pde, self.mask_seed, meta.resolution);
        let masks = self.masks(record, condition);
        let pair = self.data.pair(record)?;
        write_context(pair.fields(), &masks.seen, context);
        if let Some(noise) = &self.noise {
            spoil(noise, &sampler, (record as u64, condition), &pair, &masks, context);
        }
        Ok((pair, masks))
    }

    /// All measures of one record; those of bands only where there are any.
    fn score(&self, seen: &Seen, bands: Option<&StatedBands>) -> BTreeMap<Measure, Option<f64>> {
        let Seen { pair, fields, .. } = seen;
        let meta = self.data.meta();
        let regions = self.data.disk(seen.record).map(|disk| Regions::of(&disk, meta.resolution));
        let mut values = Vec::new();
        let present = meta.pde.present();
        for channel in Channel::BOTH.into_iter().filter(|channel| present[*channel]) {
            let field = &fields[channel];
            let stored = pair.field(channel);
            let recovered = Recovered { field, stored, scaling: meta.channel(channel).scaling() };
            let threshold = meta.pde.descriptor().fields[channel].threshold();
            if let Some(threshold) = threshold.filter(|_| channel == Channel::A) {
                values.push((Measure::BitErrorRate, Some(recovered.bit_error_rate(threshold))));
            }
            values.push((Measure::Relative(channel), recovered.relative_error(|_| true)));
            values.push((Measure::Absolute(channel), Some(recovered.absolute_error())));
            if let Some(regions) = &regions {
                for region in Region::ALL {
                    let error = recovered.relative_error(|point| regions.contains(region, point));
                    values.push((Measure::Regional(channel, region), error));
                }
            }
        }
        if self.interpolate {
            values.extend(self.interpolated(seen));
        }
        values.extend(bands.into_iter().flat_map(|bands| self.within(seen, bands)));
        values.into_iter().collect()
    }

    /// The relative errors that interpolation between the same sensors has.
    fn interpolated(&self, seen: &Seen) -> Vec<(Measure, Option<f64>)> {
        let meta = self.data.meta();
        let shape = meta.resolution.lengths();
        let errors = |how: Interpolation| {
            let fields = interpolate(how, meta.pde, &meta.constants(), shape, seen.context);
            Channel::BOTH.map(|channel| {
                let field = &fields[channel];
                let stored = seen.pair.field(channel);
                let recovered = Recovered { field, stored, scaling: meta.channel(channel).scaling() };
                (Measure::Interpolated(channel, how), recovered.relative_error(|_| true))
            })
        };
        Interpolation::ALL.into_iter().flat_map(errors).collect()
    }

    /// The shares of pixels within bands, in percent, of those that have one: where a value is known, such as zero on
    /// the edge, bands have no width and promise nothing.
    fn within(&self, seen: &Seen, bands: &StatedBands) -> Vec<(Measure, Option<f64>)> {
        let errors = self.errors(seen);
        let mut values = Vec::new();
        for (level, widths) in bands.levels.iter().zip(&bands.half_widths) {
            for (channel, errors) in Channel::BOTH.into_iter().zip(&errors) {
                let widths = &widths[channel];
                let uncertain = || errors.iter().zip(widths).filter(|(_, width)| **width > 0.0);
                let within = uncertain().filter(|(error, width)| error.abs() <= **width).count();
                let of = uncertain().count();
                let share = (of > 0).then(|| 100.0 * within as f64 / of as f64);
                values.push((Measure::within(channel, *level), share));
            }
        }
        values
    }

    /// Recovered minus true values of a and u in physical units, \[S, S\] each.
    pub(crate) fn errors(&self, seen: &Seen) -> Fields {
        let Seen { pair, fields, .. } = seen;
        PerChannel::from_fn(|channel| {
            let scaling = self.data.meta().channel(channel).scaling();
            let apart = |(got, stored): (&f32, &f32)| (f64::from(*got) - scaling.physical(*stored)) as f32;
            fields[channel].iter().zip(pair.field(channel)).map(apart).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use scope_data::{Request, generate, observation::Family, observation::Task};
    use scope_pde::{Identity, Split};

    use super::*;
    use crate::method::MethodError;

    /// Recovers fields of one value.
    struct Constant(f32);

    impl RecoveryMethod for Constant {
        fn pde(&self) -> Pde {
            Pde::POISSON
        }
        fn constants(&self) -> Constants {
            Constants::generated(Pde::POISSON)
        }
        fn resolution(&self) -> GridShape {
            32.into()
        }
        fn recover(&self, contexts: &[f32]) -> Result<Vec<Fields>, MethodError> {
            let field = |value: f32| vec![value; 1024];
            let fields = |_: &[f32]| Fields { a: field(1.0), u: field(self.0) };
            Ok(contexts.chunks(4 * 1024).map(fields).collect())
        }
    }

    #[test]
    fn what_is_not_finite_is_an_error_and_no_figure() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("set");
        let identity = Identity { pde: Pde::POISSON, seed: 1, split: Split::Test, resolution: 32 };
        generate(&Request { identity, count: 3, shard: None }, &out, |_| true).unwrap();
        let data = Dataset::open(&out).unwrap();
        let evaluation =
            Evaluation { data: &data, mask_seed: 1, noise: None, records: 3, batch: 2, interpolate: true };
        let condition = Condition::new(Task::Forward, Family::UNIFORM, 500).unwrap();
        let scores = |value| evaluation.condition(&Constant(value), condition, &mut |_| {});
        assert!(scores(0.5).unwrap().measures[&Measure::U].iter().all(Option::is_some));
        for (value, shown) in [(f32::NAN, "NaN"), (f32::NEG_INFINITY, "-inf")] {
            let said = scores(value).unwrap_err().to_string();
            let expected = format!("the recovered u of record 0 under forward/uniform/500 is {shown}");
            assert!(said.starts_with(&expected), "{said}");
        }
    }
}
