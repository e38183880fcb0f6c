//! How exact measurements are.

use scope_data::{Channel, Constants, Scaling};

use crate::error::ExactError;

/// The standard deviations of the measurements' errors, in physical units: independent, Gaussian, zero mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Of sensors of a.
    pub a: f64,
    /// Of sensors of u.
    pub u: f64,
}

impl Noise {
    /// Perfect sensors.
    pub const NONE: Noise = Noise { a: 0.0, u: 0.0 };

    /// Sensors that are exact but for being stored as float32, in the coordinates x / (2 sigma) of data sets: half a
    /// unit in the last place of a stored value near 1/2, that is sigma 2^-24.
    pub fn rounding(constants: &Constants) -> Self {
        let half_unit = |scaling: Scaling| scaling.sigma * f64::from(f32::EPSILON) / 2.0;
        Self { a: half_unit(constants.a), u: half_unit(constants.u) }
    }

    /// Of one channel.
    pub fn of(&self, channel: Channel) -> f64 {
        match channel {
            Channel::A => self.a,
            Channel::U => self.u,
        }
    }

    pub(crate) fn require_sensible(&self) -> Result<(), ExactError> {
        let bad = [self.a, self.u].into_iter().find(|sd| !(sd.is_finite() && *sd >= 0.0));
        bad.map_or(Ok(()), |sd| Err(ExactError::Noise(sd)))
    }
}
