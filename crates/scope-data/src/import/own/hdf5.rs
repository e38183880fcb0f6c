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

/// What NetCDF's libraries write where nothing was, in single and in double precision.
const DEFAULT_FILL: f64 = 9.969_209_968_386_869e36;

/// A dataset \[N, rows, columns\] of floating-point numbers in the root of a file, read a few records at a time.
pub(super) struct Hdf5Field {
    path: PathBuf,
    file: Mat73,
    name: String,
    count: usize,
    packing: Packing,
}

/// How values stand in a file, by NetCDF's conventions.
struct Packing {
    scale: f64,
    offset: f64,
    /// What stands for a value that is not there.
    missing: Vec<f64>,
}

impl Packing {
    fn of(file: &Mat73, variable: &str) -> Result<Self, String> {
        let attribute = |name: &str| file.attribute(variable, name);
        let missing = [attribute("_FillValue")?, attribute("missing_value")?, Some(DEFAULT_FILL)];
        Ok(Self {
            scale: attribute("scale_factor")?.unwrap_or(1.0),
            offset: attribute("add_offset")?.unwrap_or(0.0),
            missing: missing.into_iter().flatten().collect(),
        })
    }

    /// The value that is meant; NaN for one that is not there.
    fn unpack(&self, value: f64) -> f64 {
        let is_missing = self.missing.iter().any(|mark| *mark == value || *mark as f32 == value as f32);
        if is_missing { f64::NAN } else { value * self.scale + self.offset }
    }
}

impl Hdf5Field {
    pub(super) fn open(path: &Path, variable: &str, shape: GridShape) -> Result<Self, DataError> {
        let malformed = |problem: String| DataError::malformed(path, KIND, problem);
        // What the reader says of a file is about its format; the way out is the same.
        let unread = |problem: String| malformed(format!("{problem}; save the fields as .npy files instead"));
        let file = Mat73::open(Arc::new(map_file(path)?)).map_err(unread)?;
        let Some(found) = file.variables().find(|known| known.name == variable) else {
            let names: Vec<String> = file.variables().map(|known| known.name.clone()).collect();
            return Err(malformed(format!(
                "it has no dataset '{variable}' of floating-point numbers in its root: groups and integers, which may be packed, are not read, \
                 save such fields as .npy files; it has: {}",
                some_of(&names)
            )));
        };
        // MATLAB's order of dimensions is the reverse of the file's.
        let dimensions: Vec<usize> = found.dimensions.iter().rev().copied().collect();
        let count = require_fields(path, &format!("'{variable}'"), &dimensions, shape)?;
        let packing = Packing::of(&file, variable).map_err(malformed)?;
        Ok(Self { path: path.to_owned(), name: variable.to_owned(), file, count, packing })
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
        let Hdf5Field { path, file, name, packing, .. } = self.field;
        let malformed = |problem: String| DataError::malformed(path, KIND, problem);
        if self.taken == self.read.len() {
            self.read = file.rows_from(name, self.next).map_err(malformed)?;
            self.next += (self.read.len() / values.len()) as u64;
            self.taken = 0;
        }
        let rest = self.read.get(self.taken..self.taken + values.len());
        let rest = rest.ok_or_else(|| malformed(format!("'{name}' ends before its last record")))?;
        values.iter_mut().zip(rest).for_each(|(value, stored)| *value = packing.unpack(*stored));
        self.taken += values.len();
        Ok(())
    }
}
