//! Fields in a .npy file.

use std::path::Path;

use scope_pde::GridShape;

use super::source::{IndexedField, require_fields};
use crate::{error::DataError, npy::MappedArray};

/// An array \[N, rows, columns\] in either order, mapped into memory.
pub(super) struct NpyField {
    array: MappedArray,
    count: usize,
    shape: GridShape,
}

impl NpyField {
    pub(super) fn open(path: &Path, shape: GridShape) -> Result<Self, DataError> {
        let array = MappedArray::open(path)?;
        let count = require_fields(path, "the array", &array.header().shape, shape)?;
        Ok(Self { array, count, shape })
    }
}

impl IndexedField for NpyField {
    fn count(&self) -> usize {
        self.count
    }

    fn shape(&self) -> GridShape {
        self.shape
    }

    fn value(&self, record: usize, [i, j]: [usize; 2]) -> f64 {
        self.array.at(&[record, i, j])
    }
}
