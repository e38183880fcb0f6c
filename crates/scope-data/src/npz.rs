//! The `.npz` format: named arrays in a zip archive.

use std::{
    fs::File,
    io::{BufReader, Cursor, Read, Seek, Write},
    path::Path,
};

use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::{
    error::DataError,
    npy::{Dtype, Header},
};

/// What a file is called in errors.
const KIND: &str = ".npz file";
/// The most that one array may take when unpacked.
const MOST_BYTES: u64 = 1 << 32;
/// The most arrays that are read.
const MOST_ARRAYS: usize = 4096;

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

/// Reads all arrays of a file, compressed or not.
pub fn read_npz(path: &Path) -> Result<Vec<Array>, DataError> {
    let file = File::open(path).map_err(DataError::io("open", path))?;
    let arrays = unpack(BufReader::new(file)).and_then(|files| {
        let array = |(name, bytes): &(String, Vec<u8>)| parse(name, bytes).map_err(|p| inside(name, p));
        files.iter().map(array).collect()
    });
    arrays.map_err(|problem| DataError::malformed(path, KIND, problem))
}

/// The files of an archive, by name.
pub(crate) fn unpack(archive: impl Read + Seek) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut archive = ZipArchive::new(archive).map_err(|error| error.to_string())?;
    if archive.len() > MOST_ARRAYS {
        return Err(format!("it holds {} files, expected at most {MOST_ARRAYS}", archive.len()));
    }
    let mut files = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| error.to_string())?;
        let name = entry.name().map_err(|error| error.to_string())?.into_owned();
        if entry.size() > MOST_BYTES {
            let problem = format!("it takes {} bytes, expected at most {MOST_BYTES}", entry.size());
            return Err(inside(&name, problem));
        }
        // What an archive says of its sizes may be wrong: memory is taken for what really comes out.
        let mut bytes = Vec::new();
        let read = entry.by_ref().take(MOST_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| inside(&name, error.to_string()))?;
        files.push((name, bytes));
    }
    Ok(files)
}

/// A problem with one file of an archive.
fn inside(name: &str, problem: String) -> String {
    format!("\"{name}\" in it: {problem}")
}

fn parse(name: &str, bytes: &[u8]) -> Result<Array, String> {
    let (header, data) = Header::parse(bytes)?;
    if header.fortran_order && header.shape.len() > 1 {
        return Err("it is stored in Fortran order, expected C order: save numpy.ascontiguousarray(x)".into());
    }
    let count = header.elements().filter(|n| n.checked_mul(header.dtype.size()) == Some(bytes.len() - data));
    let count = count
        .ok_or_else(|| format!("its shape {:?} does not fit its {} bytes", header.shape, bytes.len()))?;
    let values = (0..count).map(|index| header.dtype.value(&bytes[data..], index)).collect();
    Ok(Array { name: name.strip_suffix(".npy").unwrap_or(name).to_owned(), shape: header.shape, values })
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
        let read = read_npz(&path).unwrap();
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
            assert!(read_npz(&path).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x5a;
            std::fs::write(&path, &damaged).unwrap();
            // Some bytes carry nothing, such as a time; what is read must then be right.
            if let Ok(arrays) = read_npz(&path) {
                assert!(arrays.iter().all(|array| array.values.len() <= 40), "byte {at}");
            }
        }
    }
}
