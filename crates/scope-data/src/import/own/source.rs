//! Where a field of all records is: an array, or a variable of a file.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use scope_pde::GridShape;

use super::{arrays::NpyField, hdf5::Hdf5Field, matlab::MatlabField, npz::NpzField};
use crate::{bounded_read::open_regular, error::DataError};

/// A file, and the variable in it where it may hold several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSource {
    /// A .npy, .npz, HDF5, NetCDF-4 or MATLAB file.
    pub path: PathBuf,
    /// The variable's name; a .npy file has none.
    pub variable: String,
}

/// The field of all records, its shape checked.
pub(super) trait OpenField {
    /// How many records it has.
    fn count(&self) -> usize;

    /// A reader that begins with the first record.
    fn reader(&self) -> Result<Box<dyn FieldReader + '_>, DataError>;
}

/// Reads one record after the other.
pub(super) trait FieldReader {
    /// Fills a field \[rows, columns\] with the next record's.
    fn read(&mut self, field: &mut [f64]) -> Result<(), DataError>;
}

/// A field whose records can be read in any order.
pub(super) trait IndexedField {
    /// How many records it has.
    fn count(&self) -> usize;

    /// Points along each axis.
    fn shape(&self) -> GridShape;

    /// The value of a record at row i and column j.
    fn value(&self, record: usize, place: [usize; 2]) -> f64;
}

impl<F: IndexedField> OpenField for F {
    fn count(&self) -> usize {
        IndexedField::count(self)
    }

    fn reader(&self) -> Result<Box<dyn FieldReader + '_>, DataError> {
        Ok(Box::new(InOrder { field: self, next: 0 }))
    }
}

/// Reads the records of an indexed field one after the other.
struct InOrder<'a, F> {
    field: &'a F,
    next: usize,
}

impl<F: IndexedField> FieldReader for InOrder<'_, F> {
    fn read(&mut self, values: &mut [f64]) -> Result<(), DataError> {
        let shape = self.field.shape();
        for (point, value) in values.iter_mut().enumerate() {
            *value = self.field.value(self.next, shape.place(point));
        }
        self.next += 1;
        Ok(())
    }
}

impl FieldSource {
    /// Opens it; what a file is, is told by its content.
    pub(super) fn open(&self, shape: GridShape) -> Result<Box<dyn OpenField>, DataError> {
        let Self { path, variable } = self;
        let mut start = Vec::new();
        let (file, _) = open_regular(path)?;
        file.take(10).read_to_end(&mut start).map_err(DataError::io("read", path))?;
        match start.as_slice() {
            start if start.starts_with(b"\x93NUMPY") => Ok(Box::new(NpyField::open(path, shape)?)),
            start if start.starts_with(b"PK\x03\x04") => Ok(Box::new(NpzField::open(path, variable, shape)?)),
            start if start.starts_with(b"\x89HDF") => Ok(Box::new(Hdf5Field::open(path, variable, shape)?)),
            start if start.starts_with(b"MATLAB") => Ok(Box::new(MatlabField::open(path, variable, shape)?)),
            start if start.starts_with(b"CDF") => Err(DataError::malformed(
                path,
                "file of fields",
                "it is a NetCDF file of version 3: write it as NetCDF-4, as nccopy -k nc4 does",
            )),
            _ => Err(DataError::malformed(
                path,
                "file of fields",
                "it begins as none of .npy, .npz, HDF5 (NetCDF-4) and MATLAB files do",
            )),
        }
    }
}

/// The number of records of an array, which must be \[N, rows, columns\].
pub(super) fn require_fields(
    path: &Path,
    what: &str,
    dimensions: &[usize],
    shape: GridShape,
) -> Result<usize, DataError> {
    let GridShape { rows, columns } = shape;
    if let [count, ..] = *dimensions
        && dimensions[1..] == shape.lengths()
        && count > 0
    {
        return Ok(count);
    }
    let remedy = match *dimensions {
        [_, y, x] if [x, y] == [rows, columns] => {
            "its last two axes are exchanged: save numpy.swapaxes(x, 1, 2), or exchange rows and columns in the problem file"
        }
        [x, y, _] if [x, y] == [rows, columns] => "its records come last: save numpy.moveaxis(x, -1, 0)",
        [x, y] if [x, y] == [rows, columns] => "it is one record: save x[None] if there are no more",
        [_, 1, x, y] | [_, x, y, 1] if [x, y] == [rows, columns] => {
            "it has an axis of length 1: save numpy.squeeze(x)"
        }
        [0, ..] => "it holds no records",
        _ => "is it the grid that the problem file states?",
    };
    Err(DataError::malformed(
        path,
        "file of fields",
        format!("{what} has the shape {dimensions:?}, expected [N, {rows}, {columns}], N records; {remedy}"),
    ))
}
