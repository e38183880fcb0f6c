//! Batches of a training set, as examples on a device.

use std::ops::Range;

use rayon::prelude::*;
use scope_data::{
    Channel, Constants, DataError, Dataset, Origin, PerChannel,
    observation::{Mask, MaskSampler, words_for},
    schedule::{Batch, BatchMaker, Producer, Schedule, SensorMix},
};
use scope_engine::{Device, ImageTable, RowNoise, SelectedBatch, SelectedNoise, Selection};

use super::context::{row_noise, write_readings};
use crate::{
    error::TrainError,
    examples::{Examples, loss_weights},
};

/// Batches that each thread may have made ahead of their use: one of clusters takes as long as ten others.
const AHEAD: usize = 8;

/// Which conditions batches have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Conditions {
    /// The protocol's mixture of families, tasks and budgets.
    Mixed,
    /// Forward and inverse in turn, uniform/500: what replacement heads are trained on.
    Alternating,
    /// The auxiliary operator study: forward and inverse in turn, from 3% of the pixels. The hidden field alone is
    /// weighed, by one over its standard deviation, and complete views show the other field only.
    Auxiliary {
        /// The standard deviation of each channel in stored coordinates.
        deviations: PerChannel<f64>,
    },
}

/// Which batches a loader hands out.
#[derive(Clone, Copy, Debug)]
pub struct SamplerConfig {
    /// Conditions of the batches.
    pub conditions: Conditions,
    /// Few and noisy sensors among the others, if there are any.
    pub sensors: Option<SensorMix>,
    /// Seed of the batch schedule and of the masks.
    pub seed: u64,
    /// Number of records in a batch.
    pub batch: usize,
    /// The number of the first batch.
    pub first: u64,
}

/// The share of a GPU's free memory that the records may take.
const TABLE_SHARE: f64 = 0.5;

/// A training set that hands out batches in order.
pub struct DataLoader<'a> {
    data: &'a Dataset,
    producer: Producer,
    weights: Weights,
    /// All records, where they fit on the device.
    table: Option<ImageTable>,
    /// In the auxiliary study, the standard deviation of each channel.
    deviations: Option<PerChannel<f64>>,
}

/// The weights of records in the loss.
struct Weights {
    constants: Constants,
    /// The records whose channel is zero, for each channel.
    zero: PerChannel<Vec<bool>>,
    scale: PerChannel<f64>,
    /// Which fields there are.
    present: PerChannel<bool>,
    /// Weights of all records, where those are on the device.
    known: Vec<PerChannel<f32>>,
}

/// A batch's numbers in main memory.
struct Numbers {
    fields: Vec<f32>,
    contexts: Vec<f32>,
    weights: Vec<f32>,
}

impl<'a> DataLoader<'a> {
    /// Batches made by `threads` threads ahead of their use. On a GPU the records are kept there if they fit.
    pub fn new(
        data: &'a Dataset,
        device: &Device,
        sampler: SamplerConfig,
        threads: usize,
    ) -> Result<Self, TrainError> {
        Self::of_rows(data, device, sampler, 0..sampler.batch, threads)
    }

    /// The same with some rows of each batch only: those of one of several processes.
    pub(crate) fn of_rows(
        data: &'a Dataset,
        device: &Device,
        sampler: SamplerConfig,
        rows: Range<usize>,
        threads: usize,
    ) -> Result<Self, TrainError> {
        let SamplerConfig { conditions, sensors, seed, batch, first } = sampler;
        let meta = data.meta();
        if data.is_empty() {
            return Err(DataError::Empty(data.folder().to_owned()).into());
        }
        let schedule =
            Schedule::new(seed, data.len(), batch).of_problem(meta.pde).mixing(sensors).of_rows(rows);
        let schedule = match conditions {
            Conditions::Mixed => schedule,
            Conditions::Alternating => {
                let each_field = schedule.sparse_conditions();
                schedule.taking_in_turn(each_field)
            }
            Conditions::Auxiliary { .. } => {
                let each_field = schedule.bernoulli_conditions();
                schedule.taking_in_turn(each_field)
            }
        };
        let deviations = match conditions {
            Conditions::Auxiliary { deviations } => Some(deviations),
            Conditions::Mixed | Conditions::Alternating => None,
        };
        let sampler = MaskSampler::new(meta.pde, seed, meta.resolution);
        let regions = (0..data.len()).filter_map(|record| data.region(record)).cloned().collect();
        let maker = BatchMaker { schedule, sampler, regions, shape: meta.resolution };
        let mut weights = Weights::new(data);
        let table = table_on(device, data)?;
        if table.is_some() {
            let known = (0..data.len()).into_par_iter().map(|record| weights.read(data, record));
            weights.known = known.collect::<Result<_, DataError>>()?;
        }
        let producer = Producer::start(maker, first, threads, AHEAD * threads);
        Ok(Self { data, producer, weights, table, deviations })
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Result<Batch, TrainError> {
        let lost = || TrainError::Request("the threads that make batches have died".to_owned());
        self.producer.next().ok_or_else(lost)
    }

    /// All records, if they are on the device.
    pub fn table(&self) -> Option<&ImageTable> {
        self.table.as_ref()
    }

    /// Makes a selection of the table name a batch.
    pub(crate) fn select(&self, batch: &Batch, selection: &mut Selection) -> Result<(), TrainError> {
        let weights: Vec<f32> = batch
            .records
            .iter()
            .flat_map(|record| self.weighed(batch, || self.weights.known[*record]))
            .collect();
        let rows = batch.noise.as_ref().map(row_noise);
        let noise = batch.noise.as_ref().zip(rows.as_ref());
        let noise = noise.map(|(noise, rows)| SelectedNoise { rows, exact: &noise.exact });
        Ok(selection.change(&SelectedBatch {
            indices: &batch.records,
            weights: &weights,
            masks: &batch.bits,
            noise,
        })?)
    }

    /// In the auxiliary study, a selection for complete inputs: all of the observed field, and nothing of the hidden
    /// one.
    pub(crate) fn complete_selection(&self, batch: &Batch) -> Result<Option<Selection>, TrainError> {
        let Some(table) = self.table.as_ref().filter(|_| self.deviations.is_some()) else { return Ok(None) };
        let mut selection = Selection::new(table, batch.records.len())?;
        self.select_complete(batch, &mut selection)?;
        Ok(Some(selection))
    }

    /// Makes that selection name another batch.
    pub(crate) fn select_complete(&self, batch: &Batch, selection: &mut Selection) -> Result<(), TrainError> {
        let full = Mask::full(self.data.meta().resolution);
        let empty = Mask::empty(self.data.meta().resolution);
        let observed = batch.condition.task().observes();
        let masks = observed.map(|observed| if observed { full.words() } else { empty.words() });
        let bits: Vec<u64> =
            batch.records.iter().flat_map(|_| masks.into_iter().flatten().copied()).collect();
        let complete = Batch { bits, noise: None, ..batch.clone() };
        self.select(&complete, selection)
    }

    /// The weights of a record in a batch: its own, or in the auxiliary study one over the hidden channel's standard
    /// deviation.
    fn weighed(&self, batch: &Batch, own: impl FnOnce() -> PerChannel<f32>) -> PerChannel<f32> {
        let Some(deviations) = self.deviations else { return own() };
        let observed = batch.condition.task().observes();
        observed.zip(deviations).map(|(seen, deviation)| if seen { 0.0 } else { (1.0 / deviation) as f32 })
    }

    /// A batch on a device.
    pub fn examples(&self, batch: &Batch, device: &Device) -> Result<Examples, TrainError> {
        if let Some(table) = &self.table {
            let mut selection = Selection::new(table, batch.records.len())?;
            self.select(batch, &mut selection)?;
            return Examples::gathered(table, &selection, self.complete_selection(batch)?.as_ref());
        }
        let Numbers { fields, contexts, weights } = self.numbers(batch)?;
        let grid = self.data.meta().resolution;
        let mut examples = Examples::new(device, grid, &fields, &contexts, &weights)?;
        if let Some(hidden) = self.hidden(batch) {
            examples.hide(grid, &fields, hidden)?;
        }
        Ok(examples)
    }

    /// The channel that complete views of a batch do not show, which there is in the auxiliary study only.
    fn hidden(&self, batch: &Batch) -> Option<Channel> {
        self.deviations.and_then(|_| batch.condition.task().hidden())
    }

    /// Puts a batch in the place of examples.
    pub(crate) fn overwrite(&self, batch: &Batch, examples: &mut Examples) -> Result<(), TrainError> {
        let Numbers { fields, contexts, weights } = self.numbers(batch)?;
        let grid = self.data.meta().resolution;
        examples.overwrite(grid, &fields, &contexts, &weights)?;
        self.hidden(batch).map_or(Ok(()), |hidden| examples.hide(grid, &fields, hidden))
    }

    /// What is seen of a batch's records, \[batch, 4, rows, columns\] in main memory.
    pub(super) fn contexts(&self, batch: &Batch) -> Result<Vec<f32>, DataError> {
        Ok(self.numbers(batch)?.contexts)
    }

    /// Reads the records of a batch, and makes its contexts and weights.
    fn numbers(&self, batch: &Batch) -> Result<Numbers, DataError> {
        let grid = self.data.meta().resolution;
        let pixels = grid.points();
        let words = words_for(grid);
        let count = batch.records.len();
        let mut fields = vec![0.0; count * 2 * pixels];
        let mut contexts = vec![0.0; count * 4 * pixels];
        let mut weights = Vec::with_capacity(count * 2);
        let rows = batch.noise.as_ref().map_or_else(|| vec![RowNoise::NONE; 2 * count], row_noise);
        let none = vec![0; words];
        for (k, (record, pair)) in batch.records.iter().zip(fields.chunks_mut(2 * pixels)).enumerate() {
            self.data.read(*record, pair)?;
            let (a, u) = pair.split_at(pixels);
            weights.extend(self.weighed(batch, || self.weights.of(*record, PerChannel { a, u })));
            let exact = batch.noise.as_ref().map_or(&none[..], |noise| &noise.exact[k * words..][..words]);
            for (channel, field) in [a, u].into_iter().enumerate() {
                let row = 2 * k + channel;
                let seen = &batch.bits[row * words..][..words];
                let context = &mut contexts[row * 2 * pixels..][..2 * pixels];
                write_readings(field, seen, exact, &rows[row], context);
            }
        }
        Ok(Numbers { fields, contexts, weights })
    }
}

/// All records on a GPU, if they fit.
fn table_on(device: &Device, data: &Dataset) -> Result<Option<ImageTable>, TrainError> {
    let Device::Cuda(cuda) = device else { return Ok(None) };
    let grid = data.meta().resolution;
    let shape = [data.len(), 2, grid.rows, grid.columns];
    let bytes = size_of::<f32>() * shape.iter().product::<usize>();
    let (free, _) = cuda.memory_left()?;
    let fits = (bytes as f64) < TABLE_SHARE * free as f64 && grid.points().is_multiple_of(64);
    let read = |first: usize, images: &mut [f32]| data.read(first, images).map_err(TrainError::from);
    fits.then(|| ImageTable::new(device, shape, read)).transpose()
}

impl Weights {
    fn new(data: &Dataset) -> Self {
        let meta = data.meta();
        let zero = PerChannel::from_fn(|channel| {
            let mut flags = vec![false; data.len()];
            meta.channel(channel).zero_records.iter().for_each(|record| flags[*record] = true);
            flags
        });
        let released = match meta.origin {
            Origin::Imported { .. } => meta.pde.descriptor().distribution.released(),
            Origin::Generated { .. } => None,
        };
        let stated = released.and_then(|released| released.zero_target_scale);
        let scale = stated.unwrap_or(PerChannel { a: meta.a.rms, u: meta.u.rms });
        Self { constants: meta.constants(), zero, scale, present: meta.pde.present(), known: Vec::new() }
    }

    /// The weights of a record with these fields.
    fn of(&self, record: usize, pair: PerChannel<&[f32]>) -> PerChannel<f32> {
        let zero = self.zero.each_ref().map(|flags| flags[record]);
        let weights = loss_weights(&self.constants, pair, zero, self.scale);
        // A field that there is not has no error.
        weights.zip(self.present).map(|(weight, present)| if present { weight } else { 0.0 })
    }

    /// The weights of a record that is not at hand.
    fn read(&self, data: &Dataset, record: usize) -> Result<PerChannel<f32>, DataError> {
        let pair = data.pair(record)?;
        Ok(self.of(record, pair.fields()))
    }
}

#[cfg(test)]
mod tests {
    use scope_data::{Request, generate};
    use scope_pde::{Identity, Pde, Split};

    use super::*;

    const MIX: SensorMix =
        SensorMix { noise_share: 0.5, noise: [0.01, 0.2], few_share: 0.3, few: [20, 400], sparse_share: 0.0 };

    fn with_loader(pde: Pde, sensors: Option<SensorMix>, check: impl FnOnce(DataLoader<'_>)) {
        let root = tempfile::tempdir().unwrap();
        let identity = Identity { pde, seed: 5, split: Split::Train, resolution: 32 };
        generate(&Request { identity, count: 6, shard: None }, &root.path().join("set"), |_| true).unwrap();
        let data = Dataset::open(&root.path().join("set")).unwrap();
        let sampler = SamplerConfig { conditions: Conditions::Mixed, sensors, seed: 3, batch: 8, first: 0 };
        check(DataLoader::new(&data, &Device::cpu(1), sampler, 1).unwrap());
    }

    /// What a table on a device gives for a batch.
    fn gathered(loader: &mut DataLoader<'_>, batch: &Batch) -> Vec<f32> {
        let data = loader.data;
        let read = |first: usize, images: &mut [f32]| data.read(first, images).map_err(TrainError::from);
        let table = ImageTable::new(&Device::cpu(1), [data.len(), 2, 32, 32], read).unwrap();
        loader.weights.known = vec![PerChannel::both(1.0); data.len()];
        let mut selection = Selection::new(&table, batch.records.len()).unwrap();
        loader.select(batch, &mut selection).unwrap();
        table.gather(&selection).unwrap().seen.to_vec::<f32>().unwrap()
    }

    #[test]
    fn main_memory_and_tables_show_the_same() {
        for (pde, sensors) in [(Pde::POISSON, None), (Pde::POISSON, Some(MIX)), (Pde::CYLINDER, Some(MIX))] {
            with_loader(pde, sensors, |mut loader| {
                for _ in 0..12 {
                    let batch = loader.next_batch().unwrap();
                    assert!(loader.contexts(&batch).unwrap() == gathered(&mut loader, &batch), "{pde}");
                }
            });
        }
    }

    /// Exact draws of a mixed batch are those of a plain one, and a disk is exact in all of them.
    #[test]
    fn noise_changes_noisy_draws_only_and_leaves_disks_alone() {
        let noise_alone = SensorMix { few_share: 0.0, ..MIX };
        with_loader(Pde::CYLINDER, Some(noise_alone), |mut loader| {
            for _ in 0..12 {
                let noisy = loader.next_batch().unwrap();
                let plain = Batch { noise: None, ..noisy.clone() };
                let [got, whole] = [&noisy, &plain].map(|batch| loader.contexts(batch).unwrap());
                let noise = noisy.noise.unwrap();
                for (row, (got, whole)) in got.chunks(2048).zip(whole.chunks(2048)).enumerate() {
                    let exact = &noise.exact[row / 2 * 16..][..16];
                    let level = noise.rows[row].level;
                    let trust = noise.rows[row].trust();
                    for k in 0..1024 {
                        let seen = whole[1024 + k] == 1.0;
                        let given = exact[k / 64] >> (k % 64) & 1 == 1;
                        let same = [k, 1024 + k].iter().all(|k| got[*k].to_bits() == whole[*k].to_bits());
                        assert_eq!(same, level == 0.0 || given || !seen);
                        assert!(same || got[1024 + k] == trust);
                    }
                }
            }
        });
    }
}
