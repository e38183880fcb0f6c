//! Batches of a training set, as examples on a device.

use scope_data::{
    Channel, Constants, Dataset, Origin,
    observation::{Condition, Family, MaskSampler, Task, words_for},
    schedule::{Batch, BatchMaker, Producer, Schedule},
};
use scope_engine::Device;
use scope_pde::Pde;

use crate::{
    error::TrainError,
    examples::{Examples, loss_weights},
};

/// The scale of zero targets in the released cylinder data (paper, "Zero-energy cylinder targets").
const RELEASED_SCALE: [f64; 2] = [2.070_225_306_780_491, 3.349_598_784_012_081_3];
/// Batches made ahead of their use.
const AHEAD: usize = 8;

/// Which conditions batches have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditions {
    /// The protocol's mixture of families, tasks and budgets.
    Mixed,
    /// Forward and inverse in turn, uniform/500: what replacement heads are trained on.
    Alternating,
}

/// A training set that hands out batches in order.
pub struct Feed<'a> {
    data: &'a Dataset,
    constants: Constants,
    /// The records whose channel is zero, for each channel.
    zero: [Vec<bool>; 2],
    scale: [f64; 2],
    producer: Producer,
}

impl<'a> Feed<'a> {
    /// Batches from number `first` on, made by `threads` threads ahead of their use.
    pub fn new(
        data: &'a Dataset,
        conditions: Conditions,
        seed: u64,
        batch: usize,
        first: u64,
        threads: usize,
    ) -> Result<Self, TrainError> {
        let meta = data.meta();
        let schedule = Schedule::new(seed, data.len(), batch);
        let schedule = match conditions {
            Conditions::Mixed => schedule,
            Conditions::Alternating => {
                let uniform = |task| Condition::new(task, Family::Uniform, 500);
                let both =
                    [uniform(Task::Forward), uniform(Task::Inverse)].into_iter().collect::<Result<_, _>>();
                schedule.taking_in_turn(both.map_err(|error| TrainError::Request(error.to_string()))?)
            }
        };
        let sampler = MaskSampler::new(meta.pde, seed, meta.resolution);
        let disks = (0..data.len()).filter_map(|record| data.disk(record)).collect();
        let maker = BatchMaker { schedule, sampler, disks, size: meta.resolution };
        let zero = Channel::BOTH.map(|channel| {
            let mut flags = vec![false; data.len()];
            meta.channel(channel).zero_records.iter().for_each(|record| flags[*record] = true);
            flags
        });
        let released = meta.pde == Pde::Cylinder && matches!(meta.origin, Origin::Imported { .. });
        let scale = if released { RELEASED_SCALE } else { [meta.a.rms, meta.u.rms] };
        let producer = Producer::start(maker, first, threads, AHEAD);
        Ok(Self { data, constants: meta.constants(), zero, scale, producer })
    }

    /// The next batch.
    pub fn next(&mut self) -> Result<Batch, TrainError> {
        let lost = || TrainError::Request("the threads that make batches have died".to_owned());
        self.producer.next().ok_or_else(lost)
    }

    /// A batch on a device.
    pub fn examples(&self, batch: &Batch, device: &Device) -> Result<Examples, TrainError> {
        let size = self.data.meta().resolution;
        let (pixels, words) = (size * size, words_for(size));
        let mut fields = Vec::with_capacity(batch.records.len() * 2 * pixels);
        let mut contexts = Vec::with_capacity(batch.records.len() * 4 * pixels);
        let mut weights = Vec::with_capacity(batch.records.len() * 2);
        for (record, bits) in batch.records.iter().zip(batch.bits.chunks(2 * words)) {
            let pair = self.data.pair(*record);
            let zero = [self.zero[0][*record], self.zero[1][*record]];
            weights.extend(loss_weights(&self.constants, [pair.a(), pair.u()], zero, self.scale));
            for (field, bits) in [pair.a(), pair.u()].into_iter().zip(bits.chunks(words)) {
                fields.extend_from_slice(field);
                let seen = |k: usize| (bits[k / 64] >> (k % 64)) & 1 == 1;
                contexts.extend(field.iter().enumerate().map(|(k, x)| if seen(k) { *x } else { 0.0 }));
                contexts.extend((0..pixels).map(|k| f32::from(u8::from(seen(k)))));
            }
        }
        Examples::new(device, size, &fields, &contexts, &weights)
    }
}
