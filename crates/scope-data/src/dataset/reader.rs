//! Reading a dataset folder in place.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use scope_pde::{Pde, cylinder::Disk};

use super::{FIELDS, GEOMETRY, META, meta::Meta};
use crate::{
    error::DataError,
    geometry::read_disks,
    npy::{Dtype, MappedArray},
    pair::Pair,
};

/// A dataset folder, open for reading. Records are read from disk when they are used.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    meta: Meta,
    fields: MappedArray,
    disks: Vec<Disk>,
}

impl Dataset {
    /// Opens a folder and checks kinds, shapes and sizes. Contents are checked by [`Dataset::verify`].
    pub fn open(folder: &Path) -> Result<Self, DataError> {
        if !folder.exists() {
            return Err(DataError::Missing(folder.to_owned()));
        }
        if !folder.join(META).is_file() {
            return Err(DataError::malformed(folder, "dataset folder", format!("it holds no {META}")));
        }
        let meta = Meta::read(&folder.join(META))?;
        let size = meta.resolution;
        let fields = open_array(&folder.join(FIELDS), Dtype::F32, &[meta.count, 2, size, size])?;
        if fields.as_f32().is_none() {
            let problem = "its data do not begin at a multiple of 4 bytes; save it again with numpy";
            return Err(DataError::malformed(&folder.join(FIELDS), "array of a dataset", problem));
        }
        let disks = match meta.pde {
            Pde::Cylinder => {
                let path = folder.join(GEOMETRY);
                let array = open_array(&path, Dtype::F64, &[meta.count, 3])?;
                read_disks(&path, meta.count, size, |n, k| array.value(3 * n + k))?
            }
            _ => Vec::new(),
        };
        Ok(Self { folder: folder.to_owned(), meta, fields, disks })
    }

    /// What the folder holds.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.meta.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A record. Panics when `index` is not below [`Dataset::len`], as slices do.
    pub fn pair(&self, index: usize) -> Pair<'_> {
        let size = self.meta.resolution;
        let length = 2 * size * size;
        Pair::new(&self.fields()[index * length..][..length], size)
    }

    /// All records one after the other, \[N, 2, S, S\].
    pub fn fields(&self) -> &[f32] {
        // Type and alignment were checked when the folder was opened.
        self.fields.as_f32().unwrap_or_default()
    }

    /// A record's obstacle; only the cylinder has one.
    pub fn disk(&self, index: usize) -> Option<Disk> {
        self.disks.get(index).copied()
    }

    /// Checks every byte of the arrays against the hashes in `meta.json`, and that every value is finite,
    /// on all threads.
    pub fn verify(&self) -> Result<(), DataError> {
        for (name, expected) in &self.meta.blake3 {
            let path = self.folder.join(name);
            let map = crate::npy::map_file(&path)?;
            let mut hasher = blake3::Hasher::new();
            hasher.update_rayon(&map);
            let got = hasher.finalize().to_hex().to_string();
            if got != *expected {
                return Err(DataError::Changed { path, expected: expected.clone(), got });
            }
        }
        (0..self.len()).into_par_iter().try_for_each(|index| self.pair(index).require_finite(index))
    }
}

fn open_array(path: &Path, dtype: Dtype, shape: &[usize]) -> Result<MappedArray, DataError> {
    let array = MappedArray::open(path)?;
    let header = array.header();
    if header.dtype != dtype || header.fortran_order || header.shape != shape {
        let problem = format!(
            "expected {} of shape {shape:?} in C order, got {} of shape {:?} in {} order",
            dtype.name(),
            header.dtype.name(),
            header.shape,
            if header.fortran_order { "Fortran" } else { "C" }
        );
        return Err(DataError::malformed(path, "array of a dataset", problem));
    }
    Ok(array)
}
