//! A method on held-out records, condition by condition.

use std::collections::BTreeMap;

use rayon::prelude::*;
use scope_data::{
    Channel, Dataset,
    observation::{Condition, ContextMasks, MaskSampler, Namespace, gather_context},
};
use scope_model::Fields;
use scope_pde::Pde;

use crate::{error::EvalError, metrics::Recovered, recovery::Recovery, regions::Regions};

/// One value a record; none where it is not defined.
pub type PerRecord = Vec<Option<f64>>;

/// What one condition gave. Measures by their names in files: `a` and `u` are relative L2 errors in percent, `a/rmse` and `u/rmse`
/// absolute ones in physical units, `ber` Darcy's bit error rate of a in percent, `a/fluid` and its like the relative errors
/// of the cylinder's regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// A value a record for each measure.
    pub measures: BTreeMap<String, PerRecord>,
    /// BLAKE3 of the masks, record after record, a before u.
    pub masks: String,
}

/// Which records are evaluated, and under which masks.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'a> {
    /// The records.
    pub data: &'a Dataset,
    /// Of the test masks.
    pub mask_seed: u64,
    /// The first so many records.
    pub records: usize,
    /// Contexts recovered together; it changes speed and memory, never a result.
    pub batch: usize,
}

impl Evaluation<'_> {
    /// Refuses a method that is made for other records.
    pub fn require_fit(&self, method: &dyn Recovery) -> Result<(), EvalError> {
        let meta = self.data.meta();
        let refuse = |problem: String| Err(EvalError::Mismatch(problem));
        if method.pde() != meta.pde || method.constants() != meta.constants() {
            return refuse(format!(
                "{} holds {}, and the model was trained on {}: problem and normalisation must be the same",
                self.data.folder().display(),
                meta.pde.name(),
                method.pde().name()
            ));
        }
        if method.resolution() != meta.resolution {
            let (reads, has) = (method.resolution(), meta.resolution);
            return refuse(format!(
                "the model reads {reads} x {reads} grids and the records are on {has} x {has}"
            ));
        }
        Ok(())
    }

    /// Recovers the records under one condition and scores them. `progress` hears how many are done.
    pub fn condition(
        &self,
        method: &dyn Recovery,
        condition: Condition,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Scores, EvalError> {
        let each = 4 * self.data.meta().resolution.pow(2);
        let mut measures: BTreeMap<String, PerRecord> = BTreeMap::new();
        let mut hasher = blake3::Hasher::new();
        for first in (0..self.records).step_by(self.batch.max(1)) {
            let records: Vec<usize> = (first..(first + self.batch.max(1)).min(self.records)).collect();
            let mut contexts = vec![0.0; records.len() * each];
            let masks: Vec<ContextMasks> = (records.par_iter().zip(contexts.par_chunks_mut(each)))
                .map(|(record, context)| self.observe(*record, condition, context))
                .collect();
            for word in masks.iter().flat_map(|masks| masks.a.words().iter().chain(masks.u.words())) {
                hasher.update(&word.to_le_bytes());
            }
            let fields = method.recover(&contexts).map_err(EvalError::Recovery)?;
            let scored: Vec<_> = (records.par_iter().zip(&fields))
                .map(|(record, fields)| self.score(*record, fields))
                .collect();
            for (measure, value) in scored.into_iter().flatten() {
                measures.entry(measure).or_default().push(value);
            }
            progress(first + records.len());
        }
        Ok(Scores { measures, masks: hasher.finalize().to_string() })
    }

    /// Writes what is seen of a record.
    pub fn observe(&self, record: usize, condition: Condition, context: &mut [f32]) -> ContextMasks {
        let meta = self.data.meta();
        let sampler = MaskSampler::new(meta.pde, self.mask_seed, meta.resolution);
        let disk = self.data.disk(record);
        let masks = sampler.masks(Namespace::Test, record as u64, condition, disk.as_ref());
        gather_context(&self.data.pair(record), &masks, context);
        masks
    }

    /// All measures of one record.
    fn score(&self, record: usize, fields: &Fields) -> Vec<(String, Option<f64>)> {
        let (meta, pair) = (self.data.meta(), self.data.pair(record));
        let regions = self.data.disk(record).map(|disk| Regions::of(&disk, meta.resolution));
        let mut values = Vec::new();
        for (channel, name, field, stored) in
            [(Channel::A, "a", &fields.a, pair.a()), (Channel::U, "u", &fields.u, pair.u())]
        {
            let recovered = Recovered { field, stored, scaling: meta.channel(channel).scaling() };
            values.push((name.to_owned(), recovered.relative_error(|_| true)));
            values.push((format!("{name}/rmse"), Some(recovered.absolute_error())));
            if let Some(regions) = &regions {
                for (k, region) in Regions::NAMES.iter().enumerate() {
                    let error = recovered.relative_error(|point| regions.contains(k, point));
                    values.push((format!("{name}/{region}"), error));
                }
            }
            if meta.pde == Pde::Darcy && channel == Channel::A {
                values.push(("ber".to_owned(), Some(recovered.bit_error_rate())));
            }
        }
        values
    }
}
