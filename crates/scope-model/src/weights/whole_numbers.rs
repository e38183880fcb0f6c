//! Rows of numbers as whole numbers with a scale each.
//!
//! x = scale q, q from -largest to largest, scale = max |x| / largest of the row: no number is off by more than half a
//! scale. Scales of eight bits have the bits of a bf16: that moves max |x| / scale from 127 to at most 127.5, which
//! is still rounded to 127. Where it is known what a layer's weights are multiplied with, they are rounded for its results instead.

use half::bf16;
use scope_pde::linear::cholesky::Cholesky;

use super::nearest_plane;

/// How many bits a whole number has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bits {
    /// From -127 to 127.
    Eight,
    /// From -32767 to 32767.
    Sixteen,
}

impl Bits {
    /// The largest whole number.
    fn largest(self) -> f32 {
        match self {
            Bits::Eight => f32::from(i8::MAX),
            Bits::Sixteen => f32::from(i16::MAX),
        }
    }

    /// The scale of a row whose numbers are `most` at most.
    fn scale(self, most: f32) -> f32 {
        let scale = most / self.largest();
        match self {
            Bits::Eight => bf16::from_f32(scale).to_f32(),
            Bits::Sixteen => scale,
        }
    }
}

/// Rows as whole numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rounded {
    /// The whole numbers of all rows, little endian.
    pub(super) bytes: Vec<u8>,
    /// One for each row; zero for a row of zeros.
    pub(super) scales: Vec<f32>,
}

/// Rounds rows of `width` numbers: to nearest, or for the results of a layer with inputs of a factor.
pub(super) fn round(values: &[f32], width: usize, bits: Bits, inputs: Option<&Cholesky>) -> Rounded {
    let width = width.max(1);
    let scale = |row: &[f32]| bits.scale(row.iter().fold(0.0, |most, x| most.max(x.abs())));
    let scales: Vec<f32> = values.chunks(width).map(scale).collect();
    let largest = bits.largest();
    let nearest = |x: f32, scale: f32| match scale {
        0.0 => 0.0,
        _ => (x / scale).round().clamp(-largest, largest),
    };
    let rows = values.chunks(width).zip(&scales);
    let whole: Vec<f32> = match inputs {
        Some(factor) => nearest_plane::round(values, &scales, largest, factor),
        None => rows.flat_map(|(row, scale)| row.iter().map(move |x| nearest(*x, *scale))).collect(),
    };
    let bytes = match bits {
        Bits::Eight => whole.iter().flat_map(|q| (*q as i8).to_le_bytes()).collect(),
        Bits::Sixteen => whole.iter().flat_map(|q| (*q as i16).to_le_bytes()).collect(),
    };
    Rounded { bytes, scales }
}

/// The numbers that rows of `width` whole numbers stand for.
pub(super) fn restore(bytes: &[u8], scales: &[f32], width: usize, bits: Bits) -> Vec<f32> {
    let whole: Vec<f32> = match bits {
        Bits::Eight => bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect(),
        Bits::Sixteen => bytes.as_chunks().0.iter().map(|q| f32::from(i16::from_le_bytes(*q))).collect(),
    };
    let rows = whole.chunks(width.max(1)).zip(scales);
    rows.flat_map(|(row, scale)| row.iter().map(move |q| scale * q)).collect()
}
