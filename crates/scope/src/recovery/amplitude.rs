//! The amplitude of a linear problem, estimated from its readings together with their noise.
//!
//! Readings y of a field of amplitude U have the covariance U^2 K + v N, with K that of the problem in our units, N
//! their noise as it was stated (or equal shares of both fields' standard deviations, where none was) and v what that
//! noise has to be multiplied with. Both U^2 and v are the most likely ones, v at least 1 where a noise was stated. A
//! noise that is larger than stated is so taken for noise and not for amplitude: whether it may be as large, the tests
//! of the readings decide afterwards.
//!
//! In the eigenvectors of N^(-1/2) K N^(-1/2), readings are independent with variances U^2 lambda_k + v, so that one
//! search over v / U^2 finds both. Readings that do not fit the others are left out and both estimated again, until
//! none is left that does not.

use scope_data::{
    Constants, PerChannel,
    frame::{Frame, FrameError, StatedFrame},
    observation::Sensor,
    sensors::SensorSet,
};
use scope_exact::{Amplitude, PosteriorError, Prior, Reading, estimate_amplitude_and_noise, with_rounding};
use scope_pde::Pde;

use super::error::RecoveryError;

/// The grid of the estimate: that of the exact posterior.
const RESOLUTION: usize = 128;

/// The most readings that are used.
const MOST_READINGS: usize = 300;

/// Steps of the iteration for a noise that is stated as a share of the field's deviation, which follows from U.
const STEPS: usize = 20;

/// Where U changes by less than this share, it has come to rest.
const AT_REST: f64 = 1e-6;

/// Estimates U of a frame that leaves it open, from one problem's readings in the frame's units; `noise` are the
/// standard deviations of their errors in a frame. None where readings cannot be placed, or are all zero.
pub fn estimate_amplitude(
    stated: &StatedFrame,
    pde: Pde,
    sensors: &SensorSet,
    noise: &dyn Fn(&Frame) -> PerChannel<f64>,
) -> Result<Option<Amplitude>, RecoveryError> {
    if !pde.descriptor().prior.is_linear() {
        let refusal = match pde.descriptor().spec {
            Some(_) => FrameError::UnknownEquation(pde),
            None => FrameError::NoFreeAmplitude(pde),
        };
        return Err(RecoveryError::Frame(refusal));
    }
    let prior = Prior::new(pde, RESOLUTION)?;
    let constants = Constants::generated(pde);
    let Some(mut amplitude) = first_guess(stated, pde, sensors, &constants)? else { return Ok(None) };
    let mut found = None;
    for _ in 0..STEPS {
        let frame = stated.with_amplitude(amplitude, 0.0).of_problem(pde).map_err(RecoveryError::Frame)?;
        let Some(readings) = readings(&frame, pde, sensors) else { return Ok(None) };
        let in_frame = noise(&frame);
        let ours = with_rounding(frame.widths_to_ours(in_frame), &constants);
        let deviations = constants.map(|scaling| scaling.sigma);
        let was_stated = in_frame.iter().any(|noise| *noise > 0.0);
        let Some(step) = of_readings(&prior, &readings, ours, deviations, was_stated)? else {
            return Ok(None);
        };
        amplitude *= step.ratio;
        found = Some(Amplitude { ratio: amplitude, ..step });
        if (step.ratio - 1.0).abs() < AT_REST {
            break;
        }
    }
    Ok(found)
}

/// The amplitude that the root mean square of readings suggests: in a frame of that size numbers are neither large nor
/// small.
fn first_guess(
    stated: &StatedFrame,
    pde: Pde,
    sensors: &SensorSet,
    constants: &Constants,
) -> Result<Option<f64>, RecoveryError> {
    let frame = stated.with_amplitude(1.0, 0.0).of_problem(pde).map_err(RecoveryError::Frame)?;
    let Some(readings) = readings(&frame, pde, sensors) else { return Ok(None) };
    let share = |reading: &Reading| (reading.value / constants[reading.channel].sigma).powi(2);
    let square = readings.iter().map(share).sum::<f64>() / readings.len().max(1) as f64;
    Ok((square.is_finite() && square > 0.0).then(|| square.sqrt()))
}

fn of_readings(
    prior: &Prior,
    readings: &[Reading],
    noise: PerChannel<f64>,
    deviations: PerChannel<f64>,
    was_stated: bool,
) -> Result<Option<Amplitude>, PosteriorError> {
    // A noise of a channel that nothing was said of is as large a share of its field as that of the other.
    let shape = if was_stated { noise } else { deviations };
    let least = if was_stated { 1.0 } else { 0.0 };
    estimate_amplitude_and_noise(prior, readings, shape, least)
}

/// Readings in our units, evenly chosen if there are many.
fn readings(frame: &Frame, pde: Pde, set: &SensorSet) -> Option<Vec<Reading>> {
    let step = set.sensors.len().div_ceil(MOST_READINGS).max(1);
    let chosen = set.sensors.iter().enumerate().step_by(step);
    let reading = |(number, sensor): (usize, &Sensor)| {
        let spot = frame.spot(pde, RESOLUTION, number, sensor.place).ok()?;
        let value = frame.value_to_ours(sensor.channel, sensor.value);
        Some(Reading::new(sensor.channel, spot, value))
    };
    chosen.map(reading).collect()
}
