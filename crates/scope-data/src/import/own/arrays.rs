//! Fields in a .npy file.

use std::path::Path;

use scope_pde::GridShape;

use super::source::{FieldReader, OpenField, require_fields};
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

impl OpenField for NpyField {
    fn count(&self) -> usize {
        self.count
    }

    fn reader(&self) -> Result<Box<dyn FieldReader + '_>, DataError> {
        Ok(Box::new(NpyReader { field: self, next: 0 }))
    }
}

struct NpyReader<'a> {
    field: &'a NpyField,
    next: usize,
}

impl FieldReader for NpyReader<'_> {
    fn read(&mut self, values: &mut [f64]) -> Result<(), DataError> {
        let NpyField { array, shape, .. } = self.field;
        for (point, value) in values.iter_mut().enumerate() {
            let [i, j] = shape.place(point);
            *value = array.at(&[self.next, i, j]);
        }
        self.next += 1;
        Ok(())
    }
}
