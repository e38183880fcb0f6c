//! Fields in an archive of arrays, read as they are unpacked: however many there are, one record is in memory.

use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use flate2::read::DeflateDecoder;
use scope_pde::GridShape;
use zip::{CompressionMethod, ZipArchive, result::ZipError};

use super::source::{FieldReader, OpenField, require_fields};
use crate::{
    error::{DataError, some_of},
    npy::{Dtype, Header, MAX_PREFIX},
};

const KIND: &str = ".npz file";

/// An array \[N, rows, columns\] in an archive.
pub(super) struct NpzField {
    path: PathBuf,
    name: String,
    /// Where its bytes begin in the file, and how many there are.
    place: u64,
    packed: u64,
    deflated: bool,
    dtype: Dtype,
    /// Bytes of the array before its data.
    prefix: usize,
    count: usize,
}

impl NpzField {
    pub(super) fn open(path: &Path, variable: &str, shape: GridShape) -> Result<Self, DataError> {
        let malformed = |problem: String| DataError::malformed(path, KIND, problem);
        let damaged = |error: ZipError| malformed(format!("{error}: write it again with numpy.savez"));
        let file = File::open(path).map_err(DataError::io("open", path))?;
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
        let name = format!("{variable}.npy");
        let Some(index) = archive.index_for_name(&name) else {
            let names: Vec<String> =
                archive.file_names().flatten().map(|name| name.trim_end_matches(".npy").to_owned()).collect();
            return Err(malformed(format!("it has no array '{variable}'; it has: {}", some_of(&names))));
        };
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let deflated = match entry.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => return Err(malformed(format!("'{variable}' is packed by {other}: use numpy.savez"))),
        };
        let stated = entry.size();
        let packed = entry.compressed_size();
        let place =
            entry.data_start().ok_or_else(|| malformed(format!("'{variable}' has no place in it")))?;
        let mut start = Vec::new();
        let read = entry.by_ref().take(MAX_PREFIX as u64).read_to_end(&mut start);
        read.map_err(|error| malformed(format!("'{variable}': {error}")))?;
        let inside = |problem: String| malformed(format!("'{variable}': {problem}"));
        let (header, prefix) = Header::parse(&start).map_err(inside)?;
        header.require_length(prefix, stated).map_err(inside)?;
        if header.fortran_order {
            return Err(inside("it is in Fortran order: save numpy.ascontiguousarray(x)".to_owned()));
        }
        let count = require_fields(path, &format!("'{variable}'"), &header.shape, shape)?;
        let path = path.to_owned();
        let name = variable.to_owned();
        let dtype = header.dtype;
        Ok(Self { path, name, place, packed, deflated, dtype, prefix, count })
    }
}

impl OpenField for NpzField {
    fn count(&self) -> usize {
        self.count
    }

    fn reader(&self) -> Result<Box<dyn FieldReader + '_>, DataError> {
        let mut file = File::open(&self.path).map_err(DataError::io("open", &self.path))?;
        file.seek(SeekFrom::Start(self.place)).map_err(DataError::io("read", &self.path))?;
        let packed = BufReader::new(file.take(self.packed));
        let mut unpacked: Box<dyn Read> =
            if self.deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
        let mut prefix = vec![0; self.prefix];
        unpacked.read_exact(&mut prefix).map_err(DataError::io("read", &self.path))?;
        Ok(Box::new(NpzReader { field: self, unpacked, bytes: Vec::new() }))
    }
}

struct NpzReader<'a> {
    field: &'a NpzField,
    unpacked: Box<dyn Read>,
    bytes: Vec<u8>,
}

impl FieldReader for NpzReader<'_> {
    fn read(&mut self, values: &mut [f64]) -> Result<(), DataError> {
        let NpzField { path, name, dtype, .. } = self.field;
        self.bytes.resize(values.len() * dtype.size(), 0);
        self.unpacked.read_exact(&mut self.bytes).map_err(|error| {
            DataError::malformed(path, KIND, format!("'{name}' ends before its last record: {error}"))
        })?;
        values.iter_mut().enumerate().for_each(|(k, value)| *value = dtype.value(&self.bytes, k));
        Ok(())
    }
}
