//! What every reader of foreign files gives: records in order, in stored coordinates.

use std::path::PathBuf;

use crate::{Channel, Constants, error::DataError};

/// What the numbers in a file mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Physical values.
    Physical,
    /// Values that are already (x - mean) / (2 sigma).
    Stored,
}

/// Turns file values into stored coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion {
    constants: Constants,
    units: Units,
}

impl Conversion {
    pub(super) fn new(constants: Constants, units: Units) -> Self {
        Self { constants, units }
    }

    /// The conversion of a channel.
    pub(super) fn channel(&self, channel: Channel) -> impl Fn(f64) -> f32 + Copy + use<> {
        let scaling = self.constants[channel];
        let units = self.units;
        move |x| match units {
            Units::Physical => scaling.store(x),
            Units::Stored => x as f32,
        }
    }
}

/// Takes a record \[2, S, S\] in stored coordinates.
pub(super) type Take<'a> = &'a mut dyn FnMut(&[f32]) -> Result<(), DataError>;

/// An open file or folder of records, checked as far as its headers go.
pub(super) trait Source {
    /// The number of records.
    fn count(&self) -> usize;

    /// Grid points along each axis.
    fn resolution(&self) -> usize;

    /// The files that are read, in order.
    fn files(&self) -> Vec<PathBuf>;

    /// Hands out every record in order.
    fn read(&self, conversion: Conversion, take: Take) -> Result<(), DataError>;
}
