//! The `.npy` format: headers, and arrays read in place through a memory map.

use std::{ops::Deref, path::Path};

use memmap2::Mmap;

use crate::{bounded_read::open_regular, error::DataError};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// No header that numpy writes for a plain array comes near this.
const MAX_HEADER: usize = 64 * 1024;
/// The most bytes before the data.
pub(crate) const MAX_PREFIX: usize = MAX_HEADER + 12;
/// numpy aligns the data to this.
const ALIGNMENT: usize = 64;

/// The element types that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// `<f4`
    F32,
    /// `<f8`
    F64,
    /// `<i4`
    I32,
    /// `<i8`
    I64,
    /// `|u1`
    U8,
    /// `|b1`
    Bool,
}

impl Dtype {
    const ALL: [(Dtype, &'static str); 6] = [
        (Dtype::F32, "<f4"),
        (Dtype::F64, "<f8"),
        (Dtype::I32, "<i4"),
        (Dtype::I64, "<i8"),
        (Dtype::U8, "|u1"),
        (Dtype::Bool, "|b1"),
    ];

    /// The name numpy writes.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(dtype, _)| *dtype == self).map_or("", |(_, name)| name)
    }

    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Dtype::F32 | Dtype::I32 => 4,
            Dtype::F64 | Dtype::I64 => 8,
            Dtype::U8 | Dtype::Bool => 1,
        }
    }

    /// The element at a place in bytes, as f64. Panics beyond the end, as slices do.
    pub(crate) fn value(self, bytes: &[u8], index: usize) -> f64 {
        let size = self.size();
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[index * size..][..size]);
        let [b0, b1, b2, b3, ..] = word;
        match self {
            Dtype::F32 => f32::from_le_bytes([b0, b1, b2, b3]).into(),
            Dtype::F64 => f64::from_le_bytes(word),
            Dtype::I32 => i32::from_le_bytes([b0, b1, b2, b3]).into(),
            Dtype::I64 => i64::from_le_bytes(word) as f64,
            Dtype::U8 => b0.into(),
            Dtype::Bool => f64::from(u8::from(b0 != 0)),
        }
    }
}

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The element type.
    pub dtype: Dtype,
    /// Whether the first axis is contiguous, instead of the last.
    pub fortran_order: bool,
    /// The lengths of the axes.
    pub shape: Vec<usize>,
}

impl Header {
    /// A C-order header.
    pub fn new(dtype: Dtype, shape: &[usize]) -> Self {
        Self { dtype, fortran_order: false, shape: shape.to_vec() }
    }

    /// The bytes before the data, padded as numpy pads them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let order = if self.fortran_order { "True" } else { "False" };
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let shape = match axes.as_slice() {
            [one] => format!("({one},)"),
            many => format!("({})", many.join(", ")),
        };
        let mut text =
            format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': {shape}, }}", self.dtype.name());
        let prefix = MAGIC.len() + 4;
        let padding = (prefix + text.len() + 1).next_multiple_of(ALIGNMENT) - (prefix + text.len() + 1);
        text.push_str(&" ".repeat(padding));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[1, 0]);
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    /// Reads a header; returns it with the offset of the data.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), String> {
        let prefix =
            bytes.get(..8).filter(|p| p.starts_with(MAGIC)).ok_or("it does not begin as a .npy file")?;
        let (length, start) = match prefix[6] {
            1 => (read_le(bytes, 8, 2)?, 10),
            2 | 3 => (read_le(bytes, 8, 4)?, 12),
            version => return Err(format!("its format version is {version}, expected 1, 2 or 3")),
        };
        if length > MAX_HEADER {
            return Err(format!("its header claims {length} bytes, expected at most {MAX_HEADER}"));
        }
        let text = bytes.get(start..start + length).ok_or("it ends inside its header")?;
        let text = std::str::from_utf8(text).map_err(|_| "its header is not text")?;
        Ok((Self::parse_text(text)?, start + length))
    }

    fn parse_text(text: &str) -> Result<Self, String> {
        let field = |key: &str| {
            let pattern = format!("'{key}':");
            let at = text.find(&pattern).ok_or_else(|| format!("its header has no key '{key}'"))?;
            Ok::<_, String>(text[at + pattern.len()..].trim_start())
        };
        let descr = field("descr")?;
        let name = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
        let name = name.ok_or("its elements are records, expected plain numbers")?;
        let found = Dtype::ALL.into_iter().find(|(_, known)| *known == name);
        let (dtype, _) = found.ok_or_else(|| {
            let remedy = match name.trim_start_matches(['<', '>', '=', '|']).chars().next() {
                Some('f' | 'i' | 'u') => ": save x.astype(numpy.float64)",
                _ => "",
            };
            format!(
                "its elements are '{name}', expected one of '<f4', '<f8', '<i4', '<i8', '|u1', '|b1'{remedy}"
            )
        })?;
        let order = field("fortran_order")?;
        let fortran_order = match (order.starts_with("True"), order.starts_with("False")) {
            (true, _) => true,
            (_, true) => false,
            _ => return Err("its fortran_order is neither True nor False".into()),
        };
        let shape = field("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (shape, _) = shape.ok_or("its shape is not a tuple")?;
        let axes = shape.split(',').map(str::trim).filter(|axis| !axis.is_empty());
        let axes: Result<Vec<usize>, _> = axes.map(str::parse).collect();
        let shape = axes.map_err(|_| format!("its shape ({shape}) is not a tuple of numbers"))?;
        Ok(Self { dtype, fortran_order, shape })
    }

    /// The number of elements, if it fits in memory addresses.
    pub fn elements(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |product, axis| product.checked_mul(*axis))
    }

    /// Refuses a file of `length` bytes, of which `before` come before the data, that does not hold just what the
    /// header says.
    pub(crate) fn require_length(&self, before: usize, length: u64) -> Result<(), String> {
        let data = self.elements().and_then(|n| n.checked_mul(self.dtype.size()));
        let expected = data.and_then(|data| data.checked_add(before));
        if expected.is_some_and(|expected| expected as u64 == length) {
            return Ok(());
        }
        let expected = expected.map_or("more than any file holds".into(), |n| format!("{n} bytes"));
        Err(format!(
            "shape {:?} of {} needs {expected}, the file has {length} bytes",
            self.shape,
            self.dtype.name()
        ))
    }

    /// Refuses an array of a dataset that is of another kind or shape, or not in C order.
    pub(crate) fn require(&self, path: &Path, dtype: Dtype, shape: &[usize]) -> Result<(), DataError> {
        if self.dtype == dtype && !self.fortran_order && self.shape == shape {
            return Ok(());
        }
        let problem = format!(
            "expected {} of shape {shape:?} in C order, got {} of shape {:?} in {} order",
            dtype.name(),
            self.dtype.name(),
            self.shape,
            if self.fortran_order { "Fortran" } else { "C" }
        );
        Err(DataError::malformed(path, "array of a dataset", problem))
    }
}

fn read_le(bytes: &[u8], at: usize, width: usize) -> Result<usize, String> {
    let field = bytes.get(at..at + width).ok_or("it ends inside its header")?;
    Ok(field.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

/// An array with its header, in memory or mapped into it.
#[derive(Debug)]
pub struct NpyArray<B = Vec<u8>> {
    header: Header,
    bytes: B,
    data: usize,
}

/// An array on disk, mapped into memory: pages are read when they are used.
pub type MappedArray = NpyArray<Mmap>;

impl MappedArray {
    /// Maps a file and checks that it holds just what its header says.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        Self::parse(map_file(path)?).map_err(|problem| DataError::malformed(path, ".npy file", problem))
    }
}

impl<B: Deref<Target = [u8]>> NpyArray<B> {
    /// Reads a header and checks that the bytes are just what it says.
    pub fn parse(bytes: B) -> Result<Self, String> {
        let (header, data) = Header::parse(&bytes)?;
        header.require_length(data, bytes.len() as u64)?;
        Ok(Self { header, bytes, data })
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The whole file, header included.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements in file order, if they are f32.
    pub fn as_f32(&self) -> Option<&[f32]> {
        if self.header.dtype != Dtype::F32 {
            return None;
        }
        bytemuck::try_cast_slice(&self.bytes[self.data..]).ok()
    }

    /// The element at a place in file order, as f64. Panics beyond the end, as slices do.
    pub fn value(&self, index: usize) -> f64 {
        self.header.dtype.value(&self.bytes[self.data..], index)
    }

    /// The element at an index, whichever axis is contiguous.
    pub fn at(&self, index: &[usize]) -> f64 {
        let step = |at: usize, (k, length): (usize, usize)| at * length + k;
        let pairs = index.iter().copied().zip(self.header.shape.iter().copied());
        self.value(if self.header.fortran_order { pairs.rev().fold(0, step) } else { pairs.fold(0, step) })
    }
}

/// Maps a file for reading.
#[allow(unsafe_code)]
pub(crate) fn map_file(path: &Path) -> Result<Mmap, DataError> {
    let (file, _) = open_regular(path)?;
    // SAFETY: the map is read-only and private to this process. A file that someone truncates while it is
    // mapped can still end the process with a bus error; there is no defence short of copying it.
    unsafe { Mmap::map(&file) }.map_err(DataError::io("map", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What numpy 2 writes for `numpy.zeros((3, 2, 32, 32), "<f4")`, up to the padding.
    #[test]
    fn headers_are_numpy_s_own() {
        let bytes = Header::new(Dtype::F32, &[3, 2, 32, 32]).to_bytes();
        assert_eq!(bytes.len(), 128);
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 32, 32), }";
        assert!(bytes[10..].starts_with(text.as_bytes()));
        assert_eq!(bytes.last(), Some(&b'\n'));
    }

    #[test]
    fn headers_survive_the_round_trip() {
        for shape in [&[][..], &[5], &[2, 3], &[1000, 128, 128, 10]] {
            for (dtype, _) in Dtype::ALL {
                let header = Header { fortran_order: shape.len() == 2, ..Header::new(dtype, shape) };
                let bytes = header.to_bytes();
                assert_eq!(Header::parse(&bytes), Ok((header, bytes.len())));
            }
        }
    }

    fn refusal(bytes: &[u8]) -> String {
        Header::parse(bytes).unwrap_err()
    }

    fn with_text(text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    #[test]
    fn each_way_to_be_wrong_has_its_own_words() {
        assert!(refusal(b"hello, world").contains("does not begin"));
        assert!(refusal(b"\x93NUMPY\x09\x00\x00\x00").contains("version is 9"));
        assert!(refusal(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("claims 4294967295 bytes"));
        assert!(refusal(b"\x93NUMPY\x01\x00\x80\x00{'descr'").contains("ends inside"));
        assert!(refusal(&with_text("{'shape': (1,)}")).contains("no key 'descr'"));
        assert!(refusal(&with_text("{'descr': [('x', '<f4')]}")).contains("records"));
        assert!(refusal(&with_text("{'descr': '>f8', 'fortran_order': False}")).contains("'>f8'"));
        for name in [">f8", "<f2", "<i2", "|i1", "<u8"] {
            let text = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': (1,)}}");
            assert!(refusal(&with_text(&text)).ends_with("'|b1': save x.astype(numpy.float64)"), "{name}");
        }
        let order = "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}";
        assert!(refusal(&with_text(order)).contains("fortran_order"));
        let shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, -2)}";
        assert!(refusal(&with_text(shape)).contains("(1, -2)"));
    }

    #[test]
    fn a_file_of_the_wrong_length_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("short.npy");
        for (shape, problem) in
            [(vec![4, 4], "needs 192 bytes"), (vec![1 << 40, 1 << 40], "more than any file")]
        {
            let mut bytes = Header::new(Dtype::F32, &shape).to_bytes();
            bytes.extend_from_slice(&[0; 60]);
            std::fs::write(&path, bytes).unwrap();
            let error = MappedArray::open(&path).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
