//! The evaluation of the paper's auxiliary operator study ("Evaluation and units"): the hidden field alone, records
//! under several masks each, and errors in stored coordinates beside those in physical units.

use std::collections::BTreeMap;

use scope_data::Channel;
use scope_data::observation::Condition;
use scope_model::Measure;

use crate::{
    error::EvalError,
    evaluate::{Evaluation, PerRecord, Scores, Seen},
    method::RecoveryMethod,
    metrics::Recovered,
};

/// Records of the study: the first ones.
pub const RECORDS: usize = 1_000;
/// Masks of each record.
pub const REPEATS: usize = 5;
/// The seed of the first of them; each has the next one, and a record's pixels are the same for both tasks.
pub const MASK_SEED: u64 = 12_345;

/// Recovers the records under a condition of the study and scores the hidden field: value k is of record k / 5 under
/// mask k mod 5. `progress` hears how many are done.
pub fn condition(
    evaluation: &Evaluation<'_>,
    method: &dyn RecoveryMethod,
    condition: Condition,
    progress: &mut dyn FnMut(usize),
) -> Result<Scores, EvalError> {
    let Some(hidden) = condition.task().hidden() else {
        return Err(EvalError::Mismatch(format!(
            "{condition} hides no field, and there is nothing to score"
        )));
    };
    let count = evaluation.records * REPEATS;
    let mut measures: BTreeMap<Measure, PerRecord> = BTreeMap::new();
    let mut hasher = blake3::Hasher::new();
    let mut done = 0;
    for repeat in 0..REPEATS {
        let repeated =
            Evaluation { mask_seed: evaluation.mask_seed.wrapping_add(repeat as u64), ..*evaluation };
        repeated.recover_each(method, condition, 0..evaluation.records, &mut |batch| {
            for seen in batch {
                Evaluation::hash_masks(&mut hasher, &seen.masks);
                for (measure, value) in score(&repeated, seen, hidden) {
                    seen.require_finite(condition, value.into_iter().map(|value| (measure, value)))?;
                    let values = measures.entry(measure).or_insert_with(|| vec![None; count]);
                    values[seen.record * REPEATS + repeat] = value;
                }
            }
            done += batch.len();
            progress(done / REPEATS);
            Ok(())
        })?;
    }
    Ok(Scores { measures, masks: hasher.finalize().to_string() })
}

/// The errors of the hidden field of one record.
fn score(evaluation: &Evaluation<'_>, seen: &Seen<'_>, hidden: Channel) -> Vec<(Measure, Option<f64>)> {
    let meta = evaluation.data.meta();
    let stored = seen.pair.field(hidden);
    let recovered =
        Recovered { field: &seen.fields[hidden], stored, scaling: meta.channel(hidden).scaling() };
    let mut values = vec![
        (Measure::Relative(hidden), recovered.relative_error(|_| true)),
        (Measure::Absolute(hidden), Some(recovered.absolute_error())),
        (Measure::Stored(hidden), recovered.stored_relative_error()),
    ];
    let threshold = meta.pde.descriptor().fields[hidden].threshold().filter(|_| hidden == Channel::A);
    values.extend(threshold.map(|t| (Measure::BitErrorRate, Some(recovered.bit_error_rate(t)))));
    values
}
