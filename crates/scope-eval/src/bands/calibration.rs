//! Bands for all layouts of a protocol, from held-out records.

use std::{collections::BTreeMap, ops::Range};

use rayon::prelude::*;
use scope_data::{
    Channel, Fields, PerChannel,
    observation::{Condition, Coverage, Task},
};
use scope_model::bands::{
    Arrangement, Bands, ChannelBands, LayoutBands, Measured, Misfits, Places, misfits, relative_misfit,
};

use super::{
    LEVELS,
    counts::Counts,
    digits,
    misfit_law::{Fit, MisfitLaw},
    shape::{Sums, mean_size},
};
use crate::{
    error::EvalError,
    evaluate::{Evaluation, Seen},
    method::{RecoveryMethod, readings},
};
use scope_model::DataIdentity;

/// The seed of the masks that records of a calibration are seen through: not those of any test.
pub const CALIBRATION_MASK_SEED: u64 = 20261113;
/// With fewer records no band at the highest level can be told.
const FEWEST_RECORDS: usize = 40;
/// One record in so many is for the factors, the others for the widths.
const FOR_SHAPE: usize = 4;

/// What bands are measured on.
///
/// The factors and the powers of misfits are fitted to the first records and the widths measured on the others, so that
/// the widths hold what they promise whatever the factors and powers are.
#[derive(Clone, Copy, Debug)]
pub struct Calibration<'a> {
    /// The records and the masks they are seen through.
    pub evaluation: Evaluation<'a>,
}

/// What one condition's sensors are like.
struct Sensors {
    /// Their number, on average over records and measured channels.
    number: usize,
    /// The widest of all records.
    mean_gap: f64,
    largest_gap: f64,
    /// Means and standard deviations of the numbers of an arrangement.
    typical: [[f64; 2]; 3],
}

impl Calibration<'_> {
    /// The bands of a method under conditions that are given in rising numbers of sensors. `progress` hears how many
    /// records of how many conditions are done.
    pub fn bands(
        &self,
        method: &dyn RecoveryMethod,
        conditions: &[Condition],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Bands, EvalError> {
        let Evaluation { records, mask_seed, data, .. } = self.evaluation;
        if records < FEWEST_RECORDS {
            return Err(EvalError::Mismatch(format!(
                "bands need {FEWEST_RECORDS} records, and there are {records}: generate more"
            )));
        }
        let mut groups: BTreeMap<String, Vec<Condition>> = BTreeMap::new();
        for condition in conditions {
            let name = format!("{}/{}", condition.task().name(), condition.layout_name());
            groups.entry(name).or_default().push(*condition);
        }
        let mut layouts = BTreeMap::new();
        let mut done = 0;
        for (name, conditions) in groups {
            let layout = self.layout(method, &conditions, &mut |records| {
                done += records;
                progress(done);
            })?;
            layouts.insert(name, layout);
        }
        let identity = DataIdentity::of(data);
        Ok(Bands {
            levels: LEVELS,
            records: records - records / FOR_SHAPE,
            shape_records: records / FOR_SHAPE,
            origin: identity.origin,
            blake3: identity.blake3,
            mask_seed,
            smooth: true,
            layouts,
        })
    }

    /// The bands of one task and layout.
    fn layout(
        &self,
        method: &dyn RecoveryMethod,
        conditions: &[Condition],
        progress: &mut dyn FnMut(usize),
    ) -> Result<LayoutBands, EvalError> {
        let records = self.evaluation.records;
        let for_shape = records / FOR_SHAPE;
        let task = conditions.first().map_or(Task::Forward, Condition::task);
        let measured = task.observes();
        let mut sums = PerChannel::both(Sums::new(conditions.len(), measured));
        let mut law = MisfitLaw::new(conditions.len(), measured);
        for (number, condition) in conditions.iter().enumerate() {
            self.each(method, *condition, 0..for_shape, progress, &mut |batch| {
                for seen in batch {
                    law.add(number, &seen.misfits, seen.errors.each_ref().map(|errors| mean_size(errors)));
                    for channel in Channel::BOTH {
                        sums[channel].add(number, &seen.places, &seen.errors[channel]);
                    }
                }
            })?;
        }
        let Fit { usual, powers } = law.fit();
        let mut channels = sums.map(|sums| sums.shape(measured));
        for (channel, powers) in channels.each_mut().zip(powers) {
            channel.by_misfit_of_a = powers.a;
            channel.by_misfit_of_u = powers.u;
        }
        let mut sensors = Vec::new();
        for (number, condition) in conditions.iter().enumerate() {
            let usual = usual.each_ref().map(|usual| usual.as_ref().map(|usual| usual[number]));
            let records = for_shape..records;
            sensors.push(self.widths(method, (*condition, usual), records, &mut channels, progress)?);
        }
        let PerChannel { a, u } = channels;
        let typical = |which: usize| {
            [0, 1, 2].map(|k| {
                sensors.iter().map(|sensors| digits::nearest(sensors.typical[k][which], 4)).collect()
            })
        };
        Ok(LayoutBands {
            sensors: sensors.iter().map(|sensors| sensors.number).collect(),
            mean_gap: sensors.iter().map(|sensors| digits::no_less(sensors.mean_gap, 4)).collect(),
            largest_gap: sensors.iter().map(|sensors| digits::no_less(sensors.largest_gap, 4)).collect(),
            typical: typical(0),
            spread: typical(1),
            misfit_of_a: usual.a,
            misfit_of_u: usual.u,
            a,
            u,
        })
    }

    /// Adds the widths of one condition, where misfits are usually so large, to both channels.
    fn widths(
        &self,
        method: &dyn RecoveryMethod,
        (condition, usual): (Condition, Misfits),
        records: Range<usize>,
        channels: &mut PerChannel<ChannelBands>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Sensors, EvalError> {
        let mut counts = PerChannel::<Counts>::default();
        let mut measured: Vec<Measured> = Vec::new();
        self.each(method, condition, records, progress, &mut |batch| {
            let apart: Vec<PerChannel<Counts>> = batch
                .par_iter()
                .map(|seen| {
                    let relative = usual.zip(seen.misfits).map(|(usual, misfit)| {
                        usual.zip(misfit).map(|(usual, misfit)| relative_misfit(misfit, usual))
                    });
                    PerChannel::from_fn(|channel| {
                        let widening = channels[channel].widening(&relative);
                        let shape = channels[channel].shape(&seen.places);
                        let errors = seen.errors[channel].iter().zip(shape);
                        Counts::of_record(errors.map(|(error, shape)| f64::from(*error) / (widening * shape)))
                    })
                })
                .collect();
            for of_record in &apart {
                counts.each_mut().zip(of_record.each_ref()).map(|(all, own)| all.merge(own));
            }
            measured.extend(batch.iter().flat_map(|seen| &seen.measured));
        })?;
        for (channel, counts) in channels.each_mut().zip(counts.each_ref()) {
            for (widths, level) in channel.widths.iter_mut().zip(LEVELS) {
                let width = counts.half_width(level).ok_or_else(|| {
                    EvalError::Mismatch(format!("too few records to tell a band of {level} for {condition}"))
                })?;
                widths.push(digits::no_less(width, 4));
            }
        }
        let widest =
            |of: fn(&Coverage) -> f64| measured.iter().map(|one| of(&one.coverage)).fold(0.0, f64::max);
        let sensors: usize = measured.iter().map(|one| one.sensors).sum();
        let arranged: Vec<Arrangement> = measured.iter().map(|one| one.arrangement).collect();
        Ok(Sensors {
            number: (sensors as f64 / measured.len().max(1) as f64).round() as usize,
            mean_gap: widest(|coverage| coverage.mean_gap),
            largest_gap: widest(|coverage| coverage.largest_gap),
            typical: Arrangement::typical(&arranged),
        })
    }

    /// Recovers some records under a condition, a batch at a time.
    fn each(
        &self,
        method: &dyn RecoveryMethod,
        condition: Condition,
        records: Range<usize>,
        progress: &mut dyn FnMut(usize),
        take: &mut dyn FnMut(&[Errors]),
    ) -> Result<(), EvalError> {
        self.evaluation.recover_each(method, condition, records, &mut |batch| {
            let errors: Vec<Errors> =
                batch.par_iter().map(|seen| self.errors(condition.task(), seen)).collect();
            take(&errors);
            progress(errors.len());
            Ok(())
        })
    }

    fn errors(&self, task: Task, seen: &Seen) -> Errors {
        let Seen { masks, context, fields, .. } = seen;
        let constants = self.evaluation.data.meta().constants();
        let readings = readings(context, masks.shape().points());
        Errors {
            places: Places::of(masks, task, true),
            measured: Measured::all(masks, task),
            misfits: misfits(&constants, task, masks, readings, fields),
            errors: self.evaluation.errors(seen),
        }
    }
}

/// One record's errors under one condition.
struct Errors {
    places: Places,
    /// How the measured channels' sensors lie.
    measured: Vec<Measured>,
    /// How far the recovery is from what it was made from.
    misfits: Misfits,
    /// Recovered minus true values of a and u, \[rows, columns\] each.
    errors: Fields,
}
