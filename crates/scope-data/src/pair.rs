//! A record in memory.

/// A pair of fields in stored coordinates, borrowed from wherever it lies.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    values: &'a [f32],
    size: usize,
}

impl<'a> Pair<'a> {
    /// Views \[2, S, S\] values as a pair.
    pub(crate) fn new(values: &'a [f32], size: usize) -> Self {
        assert_eq!(values.len(), 2 * size * size, "a pair of square fields");
        Self { values, size }
    }

    /// The input field, \[S, S\].
    pub fn a(&self) -> &'a [f32] {
        &self.values[..self.size * self.size]
    }

    /// The response field, \[S, S\].
    pub fn u(&self) -> &'a [f32] {
        &self.values[self.size * self.size..]
    }

    /// Both fields, \[2, S, S\].
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// Grid points along each axis.
    pub fn resolution(&self) -> usize {
        self.size
    }
}
