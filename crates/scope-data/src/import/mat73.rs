//! MATLAB files of version 7.3, which are HDF5.
//!
//! MATLAB writes the dimensions in reverse: an array of N x S x S is an HDF5 dataset of S x S x N, whose
//! order in memory is MATLAB's own column-major order.

use std::sync::Arc;

use hdf5_pure::{AttrValue, Chunk, DType, Dataset, File};
use memmap2::Mmap;

use super::{
    mat::{MAX_VARIABLES, Parsed, TakeValues, Variable},
    metered::{Meter, Metered},
};

/// Bytes of a value as it comes out of a dataset.
const VALUE: u64 = size_of::<f64>() as u64;
/// The most memory for rows that are read together.
const MAX_ROWS_BYTES: u64 = 32 << 20;

/// An open file.
pub(super) struct Mat73 {
    file: File,
    meter: Arc<Meter>,
    variables: Vec<Variable>,
}

impl Mat73 {
    pub(super) fn open(map: Arc<Mmap>) -> Parsed<Self> {
        let bytes = map.len() as u64;
        let meter = Arc::new(Meter::of_file(bytes));
        let file = File::from_source(Metered::new(map, Arc::clone(&meter))).map_err(say)?;
        let names = file.root().datasets().map_err(say)?;
        if names.len() > MAX_VARIABLES {
            return Err(format!("it holds more than {MAX_VARIABLES} variables"));
        }
        let mut variables = Vec::new();
        for name in names {
            let dataset = file.dataset(&name).map_err(say)?;
            // Strings, structures and references are not for us.
            if matches!(dataset.dtype(), Ok(DType::F64 | DType::F32)) {
                let variable = describe(&dataset, name.clone(), bytes);
                variables.push(variable.map_err(|problem| format!("its dataset '{name}' {problem}"))?);
            }
        }
        Ok(Self { file, meter, variables })
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.variables.iter()
    }

    /// The number that an attribute of a variable is, if it is one.
    pub(super) fn attribute(&self, variable: &str, name: &str) -> Parsed<Option<f64>> {
        let attributes = self.file.dataset(variable).map_err(say)?.attrs().map_err(say)?;
        let single = |values: &[f64]| (values.len() == 1).then(|| values[0]);
        Ok(attributes.get(name).and_then(|value| match value {
            AttrValue::F32(x) => Some(f64::from(*x)),
            AttrValue::F64(x) => Some(*x),
            AttrValue::I32(x) => Some(f64::from(*x)),
            AttrValue::I64(x) => Some(*x as f64),
            AttrValue::F32Array(all) => single(&all.iter().map(|x| f64::from(*x)).collect::<Vec<_>>()),
            AttrValue::F64Array(all) => single(all),
            AttrValue::I32Array(all) => single(&all.iter().map(|x| f64::from(*x)).collect::<Vec<_>>()),
            AttrValue::I64Array(all) => single(&all.iter().map(|x| *x as f64).collect::<Vec<_>>()),
            _ => None,
        }))
    }

    /// The values of some records of a variable whose first axis in the file counts them, from number `first` on: as
    /// many as are read together.
    pub(super) fn rows_from(&self, name: &str, first: u64) -> Parsed<Vec<f64>> {
        let dataset = self.file.dataset(name).map_err(say)?;
        let rows = Rows::of(&dataset.shape().map_err(say)?, dataset.chunk_shape().map_err(say)?.as_deref());
        let together = (rows.together - first % rows.together).min(rows.count.saturating_sub(first));
        self.meter.restart();
        dataset.read_f64_rows(first, together).map_err(say)
    }

    /// Hands out the values of a variable in column-major order, from the `skip`-th on, which must begin a
    /// row of the HDF5 dataset.
    pub(super) fn read(&self, name: &str, skip: usize, take: TakeValues) -> Parsed<()> {
        let dataset = self.file.dataset(name).map_err(say)?;
        let rows = Rows::of(&dataset.shape().map_err(say)?, dataset.chunk_shape().map_err(say)?.as_deref());
        let mut row = skip as u64 / rows.length.max(1);
        while row < rows.count {
            // As many as end with a chunk, so that no chunk is unpacked twice where memory allows.
            let together = rows.together - row % rows.together;
            self.meter.restart();
            take(&dataset.read_f64_rows(row, together).map_err(say)?);
            row += together;
        }
        Ok(())
    }
}

/// The rows of a dataset, along its first axis.
struct Rows {
    count: u64,
    /// The values of a row.
    length: u64,
    /// How many are read together: those of a chunk, as far as memory allows.
    together: u64,
}

impl Rows {
    fn of(shape: &[u64], chunk: Option<&[u64]>) -> Self {
        let count = shape.first().copied().unwrap_or(0);
        let length = product(shape.get(1..).unwrap_or_default());
        let most = MAX_ROWS_BYTES / (2 * VALUE).saturating_mul(length).max(1);
        let in_chunk = chunk.and_then(|chunk| chunk.first().copied()).unwrap_or(1);
        Self { count, length, together: in_chunk.min(most).max(1) }
    }

    /// The memory of rows as they are stored and as they are handed on.
    fn bytes(&self) -> u64 {
        self.together.min(self.count).saturating_mul(self.length).saturating_mul(2 * VALUE)
    }
}

/// What a dataset is, and what reading it takes. Chunks lie inside the file, none in the place of another.
fn describe(dataset: &Dataset, name: String, bytes: u64) -> Parsed<Variable> {
    let shape = dataset.shape().map_err(say)?;
    let dimensions = shape.iter().rev().map(|d| *d as usize).collect();
    let chunk = dataset.chunk_shape().map_err(say)?;
    let rows = Rows::of(&shape, chunk.as_deref());
    let Some(chunk) = chunk else {
        return Ok(Variable { name, dimensions, unpacked: 0, buffers: rows.bytes() });
    };
    require_apart(dataset.chunks().map_err(say)?, bytes)?;
    let buffers = product(&chunk).saturating_mul(VALUE).saturating_add(rows.bytes());
    Ok(Variable { name, dimensions, unpacked: product(&shape).saturating_mul(VALUE), buffers })
}

/// Refuses chunks that overlap or end beyond the file.
fn require_apart(mut chunks: Vec<Chunk>, bytes: u64) -> Parsed<()> {
    chunks.sort_unstable_by_key(|chunk| chunk.address);
    let end = |chunk: &Chunk| chunk.address.saturating_add(chunk.storage_size);
    if chunks.iter().any(|chunk| end(chunk) > bytes) {
        return Err(format!("claims chunks that do not fit in a file of {bytes} bytes"));
    }
    if chunks.windows(2).any(|pair| end(&pair[0]) > pair[1].address) {
        Err("has chunks that overlap, which no program writes in earnest: save it again".into())
    } else {
        Ok(())
    }
}

fn product(lengths: &[u64]) -> u64 {
    lengths.iter().fold(1, |product, length| product.saturating_mul(*length))
}

fn say(error: hdf5_pure::Error) -> String {
    let said = error.to_string();
    if said.contains("layout version") {
        return format!(
            "{said}; write it for older readers, as h5py.File(name, \"w\", libver=\"v110\") does"
        );
    }
    if said.starts_with("HDF5") { said } else { format!("HDF5: {said}") }
}
