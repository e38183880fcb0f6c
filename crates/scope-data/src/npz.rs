//! The `.npz` format: named arrays in a zip archive.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Cursor, Read, Seek, Write},
    path::Path,
};

use thiserror::Error;
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use crate::{
    budget::{Budget, OverBudget},
    error::DataError,
    npy::{Dtype, Header},
};

/// What a file is called in errors.
const KIND: &str = ".npz file";
/// The most arrays that are read.
const MAX_ARRAYS: usize = 4096;

/// An array of a file, whatever type its elements have there.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its name, without the ending `.npy`.
    pub name: String,
    /// The lengths of its axes.
    pub shape: Vec<usize>,
    /// Its elements, the last axis contiguous.
    pub values: Vec<f64>,
}

/// Why an archive cannot be read, and what to do about it.
#[derive(Debug, Error)]
pub(crate) enum NpzError {
    #[error("{0}: the archive is damaged; write it again with numpy.savez")]
    Damaged(String),
    #[error("it holds {0} files, expected at most {MAX_ARRAYS}")]
    TooMany(usize),
    #[error("it holds two files of one name: write it again with numpy.savez, each name once")]
    Duplicate,
    #[error("its files overlap, which no program does in earnest: write it again with numpy.savez")]
    Overlap,
    #[error("\"{name}\" in it: {problem}")]
    Inside { name: String, problem: String },
    #[error(
        "\"{name}\" in it: {over}: write it without compression, with numpy.savez instead of savez_compressed"
    )]
    OverBudget { name: String, over: OverBudget },
}

/// An archive whose directory was checked: no name twice, no byte in two files. Files are unpacked by name, within the
/// memory that a file of this length may take.
pub(crate) struct Archive<R> {
    zip: ZipArchive<R>,
    budget: Budget,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory of an archive of `length` bytes.
    pub(crate) fn open(source: R, length: u64) -> Result<Self, NpzError> {
        let mut zip = ZipArchive::new(source).map_err(damaged)?;
        match zip.len() {
            count if count > MAX_ARRAYS => Err(NpzError::TooMany(count)),
            _ if zip.has_duplicate_names() => Err(NpzError::Duplicate),
            _ if zip.has_overlapping_entries().map_err(damaged)? => Err(NpzError::Overlap),
            _ => Ok(Self { zip, budget: Budget::of_file(length) }),
        }
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> Result<Vec<String>, NpzError> {
        self.zip.file_names().map(|name| Ok(name.map_err(damaged)?.into_owned())).collect()
    }

    /// Unpacks the file of a name, if there is one.
    pub(crate) fn unpack(&mut self, name: &str) -> Result<Option<Vec<u8>>, NpzError> {
        let Some(index) = self.zip.index_for_name(name) else { return Ok(None) };
        let inside = |problem: String| NpzError::Inside { name: name.to_owned(), problem };
        let entry = self.zip.by_index(index).map_err(|error| inside(error.to_string()))?;
        let stated = entry.size();
        spend(&mut self.budget, name, stated)?;
        let mut bytes = Vec::with_capacity(stated as usize);
        let unpacked = entry.take(stated + 1).read_to_end(&mut bytes);
        unpacked.map_err(|error| inside(error.to_string()))?;
        if bytes.len() as u64 == stated {
            Ok(Some(bytes))
        } else {
            Err(inside(format!("it does not unpack to the {stated} bytes that it states")))
        }
    }

    /// Unpacks the array of a name and turns its elements into f64.
    fn array(&mut self, name: &str) -> Result<Option<Array>, NpzError> {
        let Some(bytes) = self.unpack(name)? else { return Ok(None) };
        let inside = |problem: String| NpzError::Inside { name: name.to_owned(), problem };
        let (header, data) = Header::parse(&bytes).map_err(inside)?;
        let count = count(&header, bytes.len() - data).map_err(inside)?;
        spend(&mut self.budget, name, 8 * count as u64)?;
        let values = (0..count).map(|index| header.dtype.value(&bytes[data..], index)).collect();
        let name = name.strip_suffix(".npy").unwrap_or(name).to_owned();
        Ok(Some(Array { name, shape: header.shape, values }))
    }
}

fn damaged(error: ZipError) -> NpzError {
    NpzError::Damaged(error.to_string())
}

fn spend(budget: &mut Budget, name: &str, bytes: u64) -> Result<(), NpzError> {
    budget.spend(bytes).map_err(|over| NpzError::OverBudget { name: name.to_owned(), over })
}

/// The number of elements of an array in C order that has just so many bytes.
fn count(header: &Header, bytes: usize) -> Result<usize, String> {
    if header.fortran_order && header.shape.len() > 1 {
        return Err("it is stored in Fortran order, expected C order: save numpy.ascontiguousarray(x)".into());
    }
    let count = header.elements().filter(|n| n.checked_mul(header.dtype.size()) == Some(bytes));
    count.ok_or_else(|| format!("its shape {:?} does not fit its {bytes} bytes", header.shape))
}

/// Reads the arrays of a file whose names, without the ending `.npy`, are wanted.
pub fn read_npz(path: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Array>, DataError> {
    let file = File::open(path).map_err(DataError::io("open", path))?;
    let length = file.metadata().map_err(DataError::io("inspect", path))?.len();
    let read = || -> Result<Vec<Array>, NpzError> {
        let mut archive = Archive::open(BufReader::new(file), length)?;
        let names = archive.names()?;
        let wanted = names.iter().filter(|name| wanted(name.strip_suffix(".npy").unwrap_or(name)));
        wanted.filter_map(|name| archive.array(name).transpose()).collect()
    };
    read().map_err(|problem| DataError::malformed(path, KIND, problem.to_string()))
}

/// The bytes of a file that holds arrays as f64, as `numpy.savez_compressed` writes them.
pub fn npz_bytes(arrays: &[Array]) -> std::io::Result<Vec<u8>> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for array in arrays {
        writer.start_file(format!("{}.npy", array.name), options)?;
        writer.write_all(&Header::new(Dtype::F64, &array.shape).to_bytes())?;
        let bytes: Vec<u8> = array.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        writer.write_all(&bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// The bytes of an archive of whole files, uncompressed, as `numpy.savez` writes them.
pub fn stored_archive(files: &BTreeMap<String, Vec<u8>>) -> std::io::Result<Vec<u8>> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(name.as_str(), options)?;
        writer.write_all(bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(name: &str, shape: &[usize]) -> Array {
        let count: usize = shape.iter().product();
        let values = (0..count).map(|k| if k == 1 { f64::NAN } else { k as f64 / 3.0 }).collect();
        Array { name: name.to_owned(), shape: shape.to_vec(), values }
    }

    #[test]
    fn arrays_survive_the_round_trip_in_every_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        let arrays = [array("forward/uniform/500/a", &[7]), array("b", &[2, 3]), array("none", &[0])];
        std::fs::write(&path, npz_bytes(&arrays).unwrap()).unwrap();
        let read = read_npz(&path, |_| true).unwrap();
        let bits = |array: &Array| array.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for (read, written) in read.iter().zip(&arrays) {
            assert_eq!((&read.name, &read.shape, bits(read)), (&written.name, &written.shape, bits(written)));
        }
        assert_eq!(npz_bytes(&arrays).unwrap(), npz_bytes(&arrays).unwrap(), "no times inside");
    }

    #[test]
    fn damaged_files_are_refused_and_never_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        let bytes = npz_bytes(&[array("a", &[40]), array("b", &[4, 5])]).unwrap();
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            assert!(read_npz(&path, |_| true).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x5a;
            std::fs::write(&path, &damaged).unwrap();
            // Some bytes carry nothing, such as a time; what is read must then be right.
            if let Ok(arrays) = read_npz(&path, |_| true) {
                assert!(arrays.iter().all(|array| array.values.len() <= 40), "byte {at}");
            }
        }
    }
}
