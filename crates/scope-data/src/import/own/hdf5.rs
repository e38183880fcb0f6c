//! Fields in an HDF5 file, which NetCDF-4 files are.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use scope_pde::GridShape;

use super::{
    super::mat73::Mat73,
    source::{FieldReader, OpenField, require_fields},
};
use crate::{
    error::{DataError, some_of},
    npy::map_file,
};

const KIND: &str = "HDF5 file";

/// A dataset \[N, rows, columns\] of floating-point numbers in the root of a file, read a few records at a time.
pub(super) struct Hdf5Field {
    path: PathBuf,
    file: Mat73,
    name: String,
    count: usize,
}

impl Hdf5Field {
    pub(super) fn open(path: &Path, variable: &str, shape: GridShape) -> Result<Self, DataError> {
        let malformed = |problem: String| DataError::malformed(path, KIND, problem);
        let file = Mat73::open(Arc::new(map_file(path)?)).map_err(malformed)?;
        let Some(found) = file.variables().find(|known| known.name == variable) else {
            let names: Vec<String> = file.variables().map(|known| known.name.clone()).collect();
            return Err(malformed(format!(
                "it has no floating-point dataset '{variable}' in its root; it has: {}",
                some_of(&names)
            )));
        };
        // MATLAB's order of dimensions is the reverse of the file's.
        let dimensions: Vec<usize> = found.dimensions.iter().rev().copied().collect();
        let count = require_fields(path, &format!("'{variable}'"), &dimensions, shape)?;
        Ok(Self { path: path.to_owned(), name: variable.to_owned(), file, count })
    }
}

impl OpenField for Hdf5Field {
    fn count(&self) -> usize {
        self.count
    }

    fn reader(&self) -> Result<Box<dyn FieldReader + '_>, DataError> {
        Ok(Box::new(Hdf5Reader { field: self, next: 0, read: Vec::new(), taken: 0 }))
    }
}

struct Hdf5Reader<'a> {
    field: &'a Hdf5Field,
    /// The next record that is not read yet.
    next: u64,
    /// Records that were read together, and how many of their values were handed on.
    read: Vec<f64>,
    taken: usize,
}

impl FieldReader for Hdf5Reader<'_> {
    fn read(&mut self, values: &mut [f64]) -> Result<(), DataError> {
        let Hdf5Field { path, file, name, .. } = self.field;
        let malformed = |problem: String| DataError::malformed(path, KIND, problem);
        if self.taken == self.read.len() {
            self.read = file.rows_from(name, self.next).map_err(malformed)?;
            self.next += (self.read.len() / values.len()) as u64;
            self.taken = 0;
        }
        let rest = self.read.get(self.taken..self.taken + values.len());
        let rest = rest.ok_or_else(|| malformed(format!("'{name}' ends before its last record")))?;
        values.copy_from_slice(rest);
        self.taken += values.len();
        Ok(())
    }
}
