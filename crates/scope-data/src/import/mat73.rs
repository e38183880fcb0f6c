//! MATLAB files of version 7.3, which are HDF5.
//!
//! MATLAB writes the dimensions in reverse: an array of N x S x S is an HDF5 dataset of S x S x N, whose
//! order in memory is MATLAB's own column-major order.

use std::path::Path;

use hdf5_pure::{DType, Dataset, File};

use super::mat::{Parsed, TakeValues, Variable};

/// Every stored byte can expand to this many at most: deflate's own limit, with room to spare.
const MAX_EXPANSION: u64 = 1100;

/// An open file.
pub(super) struct Mat73 {
    file: File,
    variables: Vec<Variable>,
}

impl Mat73 {
    pub(super) fn open(path: &Path, bytes: u64) -> Parsed<Self> {
        let file = File::open_streaming(path).map_err(say)?;
        let mut variables = Vec::new();
        for name in file.root().datasets().map_err(say)? {
            let dataset = file.dataset(&name).map_err(say)?;
            // Strings, structures and references are not for us.
            if !matches!(dataset.dtype(), Ok(DType::F64 | DType::F32)) {
                continue;
            }
            check_claims(&dataset, bytes).map_err(|problem| format!("its dataset '{name}' {problem}"))?;
            let shape = dataset.shape().map_err(say)?;
            let dimensions = shape.iter().rev().map(|d| *d as usize).collect();
            variables.push(Variable { name, dimensions });
        }
        Ok(Self { file, variables })
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.variables.iter()
    }

    /// Hands out the values of a variable in column-major order, from the `skip`-th on, which must begin a
    /// row of the HDF5 dataset.
    pub(super) fn read(&self, name: &str, skip: usize, take: TakeValues) -> Parsed<()> {
        let dataset = self.file.dataset(name).map_err(say)?;
        let shape = dataset.shape().map_err(say)?;
        let rows = shape.first().copied().unwrap_or(0);
        let row_length: u64 = shape.iter().skip(1).product();
        for row in skip as u64 / row_length.max(1)..rows {
            take(&dataset.read_f64_rows(row, 1).map_err(say)?);
        }
        Ok(())
    }
}

/// Refuses a dataset that claims more than the file can hold, before anything is allocated for it.
fn check_claims(dataset: &Dataset, bytes: u64) -> Parsed<()> {
    let limit = bytes.saturating_mul(MAX_EXPANSION);
    let fits = |shape: &[u64]| {
        let values = shape.iter().try_fold(8u64, |product, d| product.checked_mul(*d));
        values.is_some_and(|size| size <= limit)
    };
    let shape = dataset.shape().map_err(say)?;
    if !fits(&shape) {
        return Err(format!("claims {shape:?} values in a file of {bytes} bytes"));
    }
    if let Some(chunk) = dataset.chunk_shape().map_err(say)? {
        let broken = dataset.chunks().map_err(say)?.iter().any(|chunk| chunk.storage_size > bytes);
        if broken || !fits(&chunk) {
            return Err(format!("claims chunks that do not fit in a file of {bytes} bytes"));
        }
    }
    Ok(())
}

fn say(error: hdf5_pure::Error) -> String {
    format!("HDF5: {error}")
}
