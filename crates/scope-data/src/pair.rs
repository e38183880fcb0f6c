//! A record in memory.

use scope_pde::{Channel, PerChannel};

use crate::error::DataError;

/// A pair of fields in stored coordinates, \[2, S, S\]: its own values, or values borrowed from wherever they lie.
#[derive(Clone, Copy, Debug)]
pub struct Pair<V = Vec<f32>> {
    values: V,
    size: usize,
}

impl<V: AsRef<[f32]>> Pair<V> {
    /// Views \[2, S, S\] values as a pair.
    pub(crate) fn new(values: V, size: usize) -> Self {
        assert_eq!(values.as_ref().len(), 2 * size * size, "a pair of square fields");
        Self { values, size }
    }

    /// One of the fields, \[S, S\].
    pub fn field(&self, channel: Channel) -> &[f32] {
        match channel {
            Channel::A => self.a(),
            Channel::U => self.u(),
        }
    }

    /// Both fields, \[S, S\] each.
    pub fn fields(&self) -> PerChannel<&[f32]> {
        PerChannel { a: self.a(), u: self.u() }
    }

    /// The input field, \[S, S\].
    pub fn a(&self) -> &[f32] {
        &self.values()[..self.size * self.size]
    }

    /// The response field, \[S, S\].
    pub fn u(&self) -> &[f32] {
        &self.values()[self.size * self.size..]
    }

    /// Both fields, \[2, S, S\].
    pub fn values(&self) -> &[f32] {
        self.values.as_ref()
    }

    /// Refuses NaN and infinity; `record` is named in the error.
    pub(crate) fn require_finite(&self, record: usize) -> Result<(), DataError> {
        let values = self.values();
        match values.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(at) => Err(DataError::NotFinite {
                record,
                channel: Channel::BOTH[at / (self.size * self.size)].name(),
                row: at / self.size % self.size,
                column: at % self.size,
                value: values[at].into(),
            }),
        }
    }

    /// Grid points along each axis.
    pub fn resolution(&self) -> usize {
        self.size
    }
}
