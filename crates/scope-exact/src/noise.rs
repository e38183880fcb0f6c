//! How exact measurements are: the standard deviations of the errors of a's and u's sensors, in physical units;
//! independent, Gaussian, zero mean.

use scope_data::{Constants, PerChannel, Scaling};

use crate::error::PosteriorError;

/// Perfect sensors.
pub const NO_NOISE: PerChannel<f64> = PerChannel { a: 0.0, u: 0.0 };

/// Sensors that are exact but for being stored as float32, in the coordinates x / (2 sigma) of data sets: half a
/// unit in the last place of a stored value near 1/2, that is sigma 2^-24.
pub fn rounding_noise(constants: &Constants) -> PerChannel<f64> {
    constants.map(|scaling: Scaling| scaling.sigma * f64::from(f32::EPSILON) / 2.0)
}

/// A noise that was stated, but no less than that of being stored as float32.
pub fn with_rounding(noise: PerChannel<f64>, constants: &Constants) -> PerChannel<f64> {
    noise.zip(rounding_noise(constants)).map(|(noise, least)| noise.max(least))
}

/// Refuses standard deviations that are negative or not finite.
pub(crate) fn require_sensible(noise: PerChannel<f64>) -> Result<(), PosteriorError> {
    let bad = noise.into_iter().find(|sd| !(sd.is_finite() && *sd >= 0.0));
    bad.map_or(Ok(()), |sd| Err(PosteriorError::Noise(sd)))
}
