//! Records as arrays.

use scope_data::{DataError, Dataset};

/// The most bytes of records that are in memory at once, and the fewest and most records. A browser gives a page less
/// memory.
const BLOCK_BYTES: usize = if cfg!(target_family = "wasm") { 8 << 20 } else { 64 << 20 };
const BLOCK_RECORDS: [usize; 2] = [16, 512];

/// Pairs of fields in stored coordinates, read some at a time.
pub trait Records {
    /// How many there are.
    fn count(&self) -> usize;

    /// The numbers of a record: those of a, then those of u.
    fn record_length(&self) -> usize;

    /// Reads whole records, from number `first` on.
    fn read(&self, first: usize, values: &mut [f32]) -> Result<(), DataError>;
}

impl Records for Dataset {
    fn count(&self) -> usize {
        self.len()
    }

    fn record_length(&self) -> usize {
        2 * self.meta().resolution.points()
    }

    fn read(&self, first: usize, values: &mut [f32]) -> Result<(), DataError> {
        Dataset::read(self, first, values)
    }
}

/// Records in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordArray {
    /// \[n, length\].
    pub values: Vec<f32>,
    /// The numbers of a record.
    pub length: usize,
}

impl Records for RecordArray {
    fn count(&self) -> usize {
        self.values.len() / self.length
    }

    fn record_length(&self) -> usize {
        self.length
    }

    fn read(&self, first: usize, values: &mut [f32]) -> Result<(), DataError> {
        values.copy_from_slice(&self.values[first * self.length..][..values.len()]);
        Ok(())
    }
}

/// Calls `take` with the first record's number and the values of some records at a time, less a mean, in order. It says
/// whether to go on; what it returns last is returned.
pub(crate) fn for_each_block(
    records: &dyn Records,
    range: std::ops::Range<usize>,
    mean: &[f32],
    take: &mut dyn FnMut(usize, &[f32]) -> bool,
) -> Result<bool, DataError> {
    let length = records.record_length();
    let [fewest, most] = BLOCK_RECORDS;
    let together = (BLOCK_BYTES / (size_of::<f32>() * length)).clamp(fewest, most);
    for first in range.clone().step_by(together) {
        let mut block = vec![0.0; length * together.min(range.end - first)];
        records.read(first, &mut block)?;
        for record in block.chunks_exact_mut(length) {
            record.iter_mut().zip(mean).for_each(|(x, mean)| *x -= mean);
        }
        if !take(first, &block) {
            return Ok(false);
        }
    }
    Ok(true)
}
