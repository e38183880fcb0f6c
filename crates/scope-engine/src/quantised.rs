//! Rows of integers with one scale each, as numbers.

/// Rows of integers of eight bits, with one scale each.
#[derive(Clone, Debug)]
pub struct QuantisedRows {
    /// \[n, k\].
    pub integers: Vec<i8>,
    /// \[n\].
    pub scales: Vec<f32>,
}

impl QuantisedRows {
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
