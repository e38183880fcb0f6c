//! Rows of integers with one scale each, as numbers.

/// The integers that activations become before they are multiplied by integers of eight bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activations {
    /// As wide as sums allow, about fourteen bits: errors are those of numbers.
    Wide,
    /// Eight bits from a row's least to its largest number: twice as fast where there are instructions for it, and for
    /// layers only whose errors stay what they were.
    Bytes,
}

/// Rows of integers of eight bits, with one scale each.
#[derive(Clone, Debug)]
pub struct QuantisedRows {
    /// \[n, k\].
    pub(crate) integers: Vec<i8>,
    /// \[n\].
    pub(crate) scales: Vec<f32>,
    /// \[n\]: the sum of each row's integers.
    pub(crate) sums: Vec<f32>,
    pub(crate) activations: Activations,
}

impl QuantisedRows {
    /// Rows of as many integers each as there are for one scale. What they are multiplied by are wide activations where
    /// a row's length is not a multiple of four.
    pub fn new(integers: Vec<i8>, scales: Vec<f32>, activations: Activations) -> Self {
        let width = (integers.len() / scales.len().max(1)).max(1);
        let sum = |row: &[i8]| row.iter().map(|q| i32::from(*q)).sum::<i32>() as f32;
        let sums = integers.chunks(width).map(sum).collect();
        let activations = if width.is_multiple_of(4) { activations } else { Activations::Wide };
        Self { integers, scales, sums, activations }
    }

    /// How many integers a row has.
    pub(crate) fn width(&self) -> usize {
        self.integers.len() / self.scales.len().max(1)
    }
}

/// Writes x = scale q of rows of `width` integers of eight bits, signed.
///
/// # Shapes
/// integers and values \[n, width\], scales \[n\].
pub fn dequantise_int8(integers: &[u8], scales: &[f32], width: usize, values: &mut [f32]) {
    let rows = values.chunks_exact_mut(width.max(1)).zip(integers.chunks_exact(width.max(1)));
    for ((row, integers), scale) in rows.zip(scales) {
        row.iter_mut().zip(integers).for_each(|(value, q)| *value = scale * f32::from(q.cast_signed()));
    }
}

/// The same of integers of sixteen bits, little endian.
pub fn dequantise_int16(integers: &[[u8; 2]], scales: &[f32], width: usize, values: &mut [f32]) {
    let rows = values.chunks_exact_mut(width.max(1)).zip(integers.chunks_exact(width.max(1)));
    for ((row, integers), scale) in rows.zip(scales) {
        row.iter_mut()
            .zip(integers)
            .for_each(|(value, q)| *value = scale * f32::from(i16::from_le_bytes(*q)));
    }
}
