//! Quantised rows: integers with one scale for each row (symmetric, per output channel).
//!
//! x = scale q, q from -max to max, scale = max |x| / max of the row: no number is off by more than half a scale. The
//! scales of int8 rows have the bits of a bf16: that moves max |x| / scale from 127 to at most 127.5, which is still
//! rounded to 127. Where the Hessian of a layer is known, its weights are rounded with error compensation instead.

use scope_engine::bf16;
use scope_pde::linear::cholesky::Cholesky;

use super::compensated::round_compensated;

/// The integers that rows are quantised to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntegerType {
    /// Whole numbers from -127 to 127.
    Int8,
    /// Whole numbers from -32767 to 32767.
    Int16,
}

impl IntegerType {
    /// The largest integer.
    pub(super) fn max(self) -> f32 {
        match self {
            IntegerType::Int8 => f32::from(i8::MAX),
            IntegerType::Int16 => f32::from(i16::MAX),
        }
    }

    /// The scale of a row whose numbers are `max_abs` at most.
    fn scale(self, max_abs: f32) -> f32 {
        let scale = max_abs / self.max();
        match self {
            IntegerType::Int8 => bf16::from_f32(scale).to_f32(),
            IntegerType::Int16 => scale,
        }
    }
}

/// Rows as integers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QuantisedRows {
    /// The integers of all rows, little endian.
    pub(super) bytes: Vec<u8>,
    /// One for each row; zero for a row of zeros.
    pub(super) scales: Vec<f32>,
}

/// Quantises rows of `width` numbers: to nearest, or with error compensation if the Cholesky factor of a layer's
/// Hessian is given.
pub(super) fn quantise_rows(
    values: &[f32],
    width: usize,
    integers: IntegerType,
    hessian: Option<&Cholesky>,
) -> QuantisedRows {
    let width = width.max(1);
    let scale = |row: &[f32]| integers.scale(row.iter().fold(0.0, |most, x| most.max(x.abs())));
    let scales: Vec<f32> = values.chunks(width).map(scale).collect();
    let max = integers.max();
    let nearest = |x: f32, scale: f32| match scale {
        0.0 => 0.0,
        _ => (x / scale).round().clamp(-max, max),
    };
    let rows = values.chunks(width).zip(&scales);
    let rounded: Vec<f32> = match hessian {
        Some(factor) => round_compensated(values, &scales, max, factor),
        None => rows.flat_map(|(row, scale)| row.iter().map(move |x| nearest(*x, *scale))).collect(),
    };
    let bytes = match integers {
        IntegerType::Int8 => rounded.iter().flat_map(|q| (*q as i8).to_le_bytes()).collect(),
        IntegerType::Int16 => rounded.iter().flat_map(|q| (*q as i16).to_le_bytes()).collect(),
    };
    QuantisedRows { bytes, scales }
}
