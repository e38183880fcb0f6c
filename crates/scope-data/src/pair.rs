//! A record in memory.

use scope_pde::{Channel, GridShape, PerChannel};

use crate::error::DataError;

/// A pair of fields in stored coordinates, \[2, rows, columns\]: its own values, or values borrowed from wherever they
/// lie.
#[derive(Clone, Copy, Debug)]
pub struct Pair<V = Vec<f32>> {
    values: V,
    shape: GridShape,
}

impl<V: AsRef<[f32]>> Pair<V> {
    /// Views \[2, rows, columns\] values as a pair.
    pub(crate) fn new(values: V, shape: GridShape) -> Self {
        assert_eq!(values.as_ref().len(), 2 * shape.points(), "a pair of fields");
        Self { values, shape }
    }

    /// One of the fields, \[rows, columns\].
    pub fn field(&self, channel: Channel) -> &[f32] {
        match channel {
            Channel::A => self.a(),
            Channel::U => self.u(),
        }
    }

    /// Both fields, \[rows, columns\] each.
    pub fn fields(&self) -> PerChannel<&[f32]> {
        PerChannel { a: self.a(), u: self.u() }
    }

    /// The input field, \[rows, columns\].
    pub fn a(&self) -> &[f32] {
        &self.values()[..self.shape.points()]
    }

    /// The response field, \[rows, columns\].
    pub fn u(&self) -> &[f32] {
        &self.values()[self.shape.points()..]
    }

    /// Both fields, \[2, rows, columns\].
    pub fn values(&self) -> &[f32] {
        self.values.as_ref()
    }

    /// Refuses NaN and infinity; `record` is named in the error.
    pub(crate) fn require_finite(&self, record: usize) -> Result<(), DataError> {
        let values = self.values();
        match values.iter().position(|x| !x.is_finite()) {
            None => Ok(()),
            Some(at) => {
                let points = self.shape.points();
                let [row, column] = self.shape.place(at % points);
                let channel = Channel::BOTH[at / points].name();
                Err(DataError::NotFinite { record, channel, row, column, value: values[at].into() })
            }
        }
    }

    /// The grid's points along each axis.
    pub fn shape(&self) -> GridShape {
        self.shape
    }
}
