//! MATLAB files of version 5, as small as they can be.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};

/// A variable: values of type uint8 behind a class of double, as MATLAB itself stores small whole numbers.
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    /// The first is contiguous.
    pub(crate) dimensions: &'a [i32],
    /// The bytes of the values, and their type's number in the format.
    pub(crate) values: &'a [u8],
    pub(crate) kind: u32,
    pub(crate) compressed: bool,
}

/// uint8 and double among the format's types.
pub(crate) const UINT8: u32 = 2;
pub(crate) const DOUBLE: u32 = 9;

/// A file of variables.
pub(crate) fn file(variables: &[Variable]) -> Vec<u8> {
    let mut bytes = b"MATLAB 5.0 MAT-file".to_vec();
    bytes.resize(124, b' ');
    bytes.extend_from_slice(&[0x00, 0x01, b'I', b'M']);
    variables.iter().for_each(|variable| bytes.extend_from_slice(&variable.element()));
    bytes
}

impl Variable<'_> {
    fn element(&self) -> Vec<u8> {
        // Class 6 is double.
        let flags = element(6, &[6, 0, 0, 0, 0, 0, 0, 0]);
        let dimensions: Vec<u8> = self.dimensions.iter().flat_map(|d| d.to_le_bytes()).collect();
        let parts = [
            flags,
            element(5, &dimensions),
            element(1, self.name.as_bytes()),
            element(self.kind, self.values),
        ];
        let matrix = element(14, &parts.concat());
        if !self.compressed {
            return matrix;
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&matrix).unwrap();
        let packed = encoder.finish().unwrap();
        [&15u32.to_le_bytes()[..], &(packed.len() as u32).to_le_bytes(), &packed].concat()
    }
}

/// Type, length, data and padding to eight bytes.
fn element(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}
