//! `fields.npy`: records that are read from disk when they are wanted.
//!
//! By reads at a place, not through a memory map: a file that is cut short while it is mapped ends the process by a
//! signal, and a read that comes up short is an error like any other.

use std::{
    fs::File,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use scope_pde::GridShape;

use super::stamp::Stamp;
use crate::{
    bounded_read::open_regular,
    error::DataError,
    npy::{Dtype, Header, MAX_PREFIX},
    pair::Pair,
};

/// About so many bytes are read and hashed together.
const BLOCK: usize = 16 << 20;

/// The open file.
#[derive(Debug)]
pub(super) struct FieldsFile {
    path: PathBuf,
    file: File,
    /// What it was like when it was opened.
    stamp: Stamp,
    /// The bytes before the data.
    prefix: Vec<u8>,
    count: usize,
    shape: GridShape,
}

/// What every byte of the file has told.
pub(super) struct Content {
    /// BLAKE3 of the file, as `b3sum` prints it.
    pub(super) blake3: String,
    /// The first value that is not finite.
    pub(super) fault: Option<DataError>,
}

impl FieldsFile {
    /// Opens a file that must hold `count` pairs of fields on a grid, and nothing else.
    pub(super) fn open(path: &Path, count: usize, shape: GridShape) -> Result<Self, DataError> {
        let (file, _) = open_regular(path)?;
        let stamp = Stamp::of(&file).map_err(DataError::io("inspect", path))?;
        let length = stamp.length();
        let mut prefix = vec![0; usize::try_from(length).map_or(MAX_PREFIX, |length| length.min(MAX_PREFIX))];
        read_exact_at(&file, &mut prefix, 0).map_err(DataError::io("read", path))?;
        let malformed = |problem| DataError::malformed(path, ".npy file", problem);
        let (header, data) = Header::parse(&prefix).map_err(malformed)?;
        header.require_length(data, length).map_err(malformed)?;
        header.require(path, Dtype::F32, &[count, 2, shape.rows, shape.columns])?;
        prefix.truncate(data);
        Ok(Self { path: path.to_owned(), file, stamp, prefix, count, shape })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// The numbers of one record.
    pub(super) fn record_length(&self) -> usize {
        2 * self.shape.points()
    }

    /// Reads whole records from number `first` on.
    pub(super) fn read(&self, first: usize, values: &mut [f32]) -> Result<(), DataError> {
        let place = self.prefix.len() as u64 + (first * self.record_length() * size_of::<f32>()) as u64;
        match read_exact_at(&self.file, bytemuck::cast_slice_mut(values), place) {
            Ok(()) => self.require_unchanged(),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                self.require_unchanged()?;
                Err(DataError::io("read", &self.path)(error))
            }
            Err(error) => Err(DataError::io("read", &self.path)(error)),
        }
    }

    /// Refuses a file that was written to since it was opened: what was verified then is not what is read now.
    pub(super) fn require_unchanged(&self) -> Result<(), DataError> {
        let now = Stamp::of(&self.file).map_err(DataError::io("inspect", &self.path))?;
        match self.stamp.difference(&now) {
            None => Ok(()),
            Some(difference) => Err(DataError::ChangedMeanwhile { path: self.path.clone(), difference }),
        }
    }

    /// Hashes every byte and looks at every value, on all threads; one block is read while the one before is hashed.
    pub(super) fn content(&self) -> Result<Content, DataError> {
        let each = self.record_length();
        let together = (BLOCK / size_of::<f32>() / each).max(1);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.prefix);
        let mut fault = None;
        let mut here = Vec::new();
        let mut next = Vec::new();
        for first in (0..self.count).step_by(together) {
            let records = together.min(self.count - first);
            next.resize(records * each, 0.0);
            let before = first.saturating_sub(together);
            let (read, found) =
                rayon::join(|| self.read(first, &mut next), || take(&mut hasher, &here, before, self.shape));
            read?;
            fault = fault.or(found);
            std::mem::swap(&mut here, &mut next);
        }
        let last = (self.count.max(1) - 1) / together * together;
        fault = fault.or(take(&mut hasher, &here, last, self.shape));
        Ok(Content { blake3: hasher.finalize().to_hex().to_string(), fault })
    }
}

/// Adds the records from number `first` on to the hash, and finds the first value among them that is not finite.
fn take(hasher: &mut blake3::Hasher, values: &[f32], first: usize, shape: GridShape) -> Option<DataError> {
    hasher.update_rayon(bytemuck::cast_slice(values));
    let fault = |(k, values): (usize, &[f32])| Pair::new(values, shape).require_finite(first + k).err();
    values.par_chunks(2 * shape.points()).enumerate().find_map_first(fault)
}

/// Fills a buffer from a place in a file, whatever other threads read meanwhile.
#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, place)
}

/// Fills a buffer from a place in a file, whatever other threads read meanwhile.
#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut place: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, place)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        buffer = &mut buffer[read..];
        place += read as u64;
    }
    Ok(())
}

/// There is no such read here.
#[cfg(not(any(unix, windows)))]
fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
