//! The amplitude of a linear problem, estimated from its readings.
//!
//! Readings y of a field of amplitude U have the covariance U^2 K + s^2, with K that of the problem in our units and s their noise. The
//! estimate is the U with which y^T (U^2 K + s^2)^-1 y is their number, as it is on average; without noise it is the most likely one.
//! It is right to about 1 / sqrt(2 n) of n readings, where the root of their mean square may be off by a factor of two: a field is
//! smooth, and all its readings are large or small together.

use scope_data::{
    Constants, PerChannel,
    frame::{Frame, FrameError, StatedFrame},
    sensors::SensorSet,
};
use scope_exact::{PosteriorError, Prior, Reading, with_rounding};
use scope_pde::Pde;

use super::error::RecoveryError;

/// The grid of the estimate: finer ones have the same covariances.
const RESOLUTION: usize = 64;

/// The most readings that are used.
const MOST_READINGS: usize = 300;

/// Steps of the iteration U^2 <- U^2 statistic / number; without noise the first one arrives.
const STEPS: usize = 8;

/// Estimates U of a frame that leaves it open, from one problem's readings in the frame's units; `noise` are the standard deviations of
/// their errors in a frame. None where readings cannot be placed, or are all zero.
pub fn estimate_amplitude(
    stated: &StatedFrame,
    pde: Pde,
    sensors: &SensorSet,
    noise: &dyn Fn(&Frame) -> PerChannel<f64>,
) -> Result<Option<f64>, RecoveryError> {
    if pde != Pde::POISSON && pde != Pde::HELMHOLTZ {
        return Err(RecoveryError::Frame(FrameError::NoFreeAmplitude(pde)));
    }
    let prior = Prior::new(pde, RESOLUTION)?;
    let constants = Constants::generated(pde);
    let mut amplitude = 1.0;
    for step in 0..=STEPS {
        let frame = stated.with_amplitude(amplitude).of_problem(pde).map_err(RecoveryError::Frame)?;
        let Some(readings) = readings(&frame, pde, sensors) else { return Ok(None) };
        let ratio = if step == 0 {
            let share = |reading: &Reading| (reading.value / constants[reading.channel].sigma).powi(2);
            readings.iter().map(share).sum::<f64>() / readings.len().max(1) as f64
        } else {
            let noise = with_rounding(frame.widths_to_ours(noise(&frame)), &constants);
            match statistic(&prior, &readings, noise)? {
                Some(ratio) => ratio,
                None => return Ok(None),
            }
        };
        if !ratio.is_finite() || ratio <= 0.0 {
            return Ok(None);
        }
        amplitude *= ratio.sqrt();
    }
    Ok(Some(amplitude))
}

/// The chi-square statistic of readings, as a share of what it is on average.
fn statistic(
    prior: &Prior,
    readings: &[Reading],
    noise: PerChannel<f64>,
) -> Result<Option<f64>, PosteriorError> {
    let check = prior.given(readings, noise)?.model_check();
    Ok(check.filter(|check| check.degrees > 0).map(|check| check.statistic / check.degrees as f64))
}

/// Readings in our units, evenly chosen if there are many.
fn readings(frame: &Frame, pde: Pde, set: &SensorSet) -> Option<Vec<Reading>> {
    let step = set.sensors.len().div_ceil(MOST_READINGS).max(1);
    let chosen = set.sensors.iter().enumerate().step_by(step);
    let reading = |(number, sensor): (usize, &scope_data::observation::Sensor)| {
        let spot = frame.spot(pde, RESOLUTION, number, sensor.place).ok()?;
        let value = frame.value_to_ours(sensor.channel, sensor.value);
        Some(Reading { channel: sensor.channel, spot, value })
    };
    chosen.map(reading).collect()
}
