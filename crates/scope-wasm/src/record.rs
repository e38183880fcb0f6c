//! A record that no model has seen, made on the spot by the problem's own solver.

use scope::{
    data::{
        Channel, RecordRegion,
        observation::{Condition, Family, MaskSampler, Namespace, Spot, Task},
    },
    pde::{Generator, GridShape, Identity, Pde, Record, Split},
};
use wasm_bindgen::prelude::*;

/// The seed of fresh records, that of `scope demo`: no training set has it.
pub(crate) const SEED: u64 = 2_026;

/// Both complete fields of a problem, in physical units: the truth that sensors measure points of.
#[wasm_bindgen]
pub struct FreshRecord {
    pub(crate) pde: Pde,
    pub(crate) grid: GridShape,
    number: u64,
    record: Record,
}

#[wasm_bindgen]
impl FreshRecord {
    /// Solves for the record with a number, on `size` x `size` points.
    #[wasm_bindgen(constructor)]
    pub fn new(pde: &str, number: u32, size: usize) -> Result<FreshRecord, JsError> {
        let pde: Pde = pde.parse()?;
        let identity = Identity { pde, seed: SEED, split: Split::Test, resolution: size };
        let record = Generator::new(identity)?.record(number.into())?;
        Ok(Self { pde, grid: GridShape::square(size), number: number.into(), record })
    }

    /// A field, a row after the other: 0 is a, 1 is u.
    pub fn field(&self, channel: usize) -> Vec<f64> {
        self.record.fields[channel_of(channel)].clone()
    }

    /// Where its points are: x of every row, then y of every column.
    pub fn coordinates(&self) -> Vec<f64> {
        let GridShape { rows, columns } = self.grid;
        let point = |i: usize, j: usize| Spot::pixel(i, j).point(self.pde, self.grid);
        let (xs, ys) = ((0..rows).map(|i| point(i, 0)[0]), (0..columns).map(|j| point(0, j)[1]));
        xs.chain(ys).collect()
    }

    /// Row and column of the disk's centre and its radius, in pixels, where the record has a disk.
    pub fn disk(&self) -> Option<Vec<f64>> {
        self.record.disk.as_ref().map(|disk| vec![disk.cx, disk.cy, disk.r])
    }

    /// The points, row * size + column, that a mask family measures: `draw` says which of its masks.
    pub fn mask(&self, family: &str, budget: usize, channel: usize, draw: u32) -> Result<Vec<u32>, JsError> {
        let family: Family = family.parse().map_err(|error: String| JsError::new(&error))?;
        let channel = channel_of(channel);
        let task = if channel == Channel::A { Task::Forward } else { Task::Inverse };
        let condition = Condition::new(task, family, budget)?;
        let sampler = MaskSampler::new(self.pde, u64::from(draw), self.grid);
        let masks = sampler.masks(Namespace::Test, self.number, condition, self.region().as_ref());
        Ok(masks.sensors(channel).points().map(|point| point as u32).collect())
    }

    /// The relative L2 errors of a and u in percent; and the share of a's pixels that are taken for its other value,
    /// where it has two.
    pub fn errors(&self, a: &[f32], u: &[f32]) -> Vec<f64> {
        let truth = &self.record.fields;
        let mut errors = vec![relative_error(a, &truth.a), relative_error(u, &truth.u)];
        if let Some(threshold) = self.pde.descriptor().fields.a.threshold() {
            let wrong = |(got, truth): &(&f32, &f64)| (f64::from(**got) > threshold) != (**truth > threshold);
            let wrong = a.iter().zip(&truth.a).filter(wrong).count();
            errors.push(100.0 * wrong as f64 / truth.a.len() as f64);
        }
        errors
    }
}

impl FreshRecord {
    pub(crate) fn value(&self, channel: Channel, point: usize) -> f64 {
        self.record.fields[channel][point]
    }

    pub(crate) fn region(&self) -> Option<RecordRegion> {
        self.record.disk.map(RecordRegion::Disk)
    }
}

/// The channel of a number.
pub(crate) fn channel_of(number: usize) -> Channel {
    if number == 0 { Channel::A } else { Channel::U }
}

fn relative_error(recovered: &[f32], truth: &[f64]) -> f64 {
    let squares = recovered.iter().zip(truth).map(|(got, truth)| (f64::from(*got) - truth).powi(2));
    100.0 * (squares.sum::<f64>() / truth.iter().map(|x| x * x).sum::<f64>()).sqrt()
}
