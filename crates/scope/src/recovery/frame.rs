//! The way out of our units: everything that a recovery states, in the coordinates and units of the user.

use scope_data::{Channel, PerChannel, frame::Frame, observation::SensorError};
use scope_eval::trust::{Residual, Suspects, Warning};
use scope_model::Fields;

use super::{
    bands::ErrorBands,
    error::RecoveryError,
    recovered::{Recovered, Uncertainty},
    remark::Remark,
    without_bands::{WithoutBands, WithoutBandsReason},
};

impl Recovered {
    /// Turns all that was computed in our units into the frame of the method. Percentages have no unit and stay.
    pub(super) fn express_in_frame(&mut self) {
        let frame = self.method.frame;
        fields_in(&frame, &mut self.fields);
        if !frame.has_own_values() {
            self.unprojected.iter_mut().chain(&mut self.samples).for_each(|fields| values(&frame, fields));
            match &mut self.uncertainty {
                Uncertainty::Deviation(deviation) => widths(&frame, deviation),
                Uncertainty::Bands(bands) => bands_in(&frame, bands),
                Uncertainty::Measured { deviation, bands } => {
                    widths(&frame, deviation);
                    bands_in(&frame, bands);
                }
                Uncertainty::NotAsked | Uncertainty::Unknown(_) => {}
            }
            if let Some(two_valued) = &mut self.two_valued {
                two_valued.values = frame.range_of_ours(Channel::A, two_valued.values);
                each(&mut two_valued.map, |value| frame.value_of_ours(Channel::A, value));
            }
        }
        let residuals = self.residuals.iter_mut().flat_map(|residuals| &mut residuals.readings);
        residuals.for_each(|residual| residual_in(&frame, residual));
        if let Uncertainty::Unknown(WithoutBands { reason: WithoutBandsReason::Unlike(warning), .. }) =
            &mut self.uncertainty
        {
            warning_in(&frame, warning);
        }
        self.trust.warnings.iter_mut().for_each(|warning| warning_in(&frame, warning));
        self.remarks.iter_mut().for_each(|remark| remark_in(&frame, remark));
    }
}

/// Turns recovered fields, in our units, into those of a frame.
pub(super) fn fields_in(frame: &Frame, fields: &mut Fields) {
    if !frame.has_own_values() {
        values(frame, fields);
    }
}

impl RecoveryError {
    /// The error with values in a frame's units.
    pub(super) fn express_in(mut self, frame: &Frame) -> Self {
        match &mut self {
            RecoveryError::Sensors(SensorError::Contradiction { values, channel, sigma, .. }) => {
                let channel = channel_of(channel);
                *values = values.map(|value| frame.value_of_ours(channel, value));
                *sigma = frame.width_of_ours(channel, *sigma);
            }
            RecoveryError::Sensors(SensorError::Units { value, channel, scaling, .. }) => {
                let channel = channel_of(channel);
                *value = frame.value_of_ours(channel, *value);
                scaling.mean = frame.value_of_ours(channel, scaling.mean);
                scaling.sigma = frame.width_of_ours(channel, scaling.sigma);
            }
            RecoveryError::TooLarge { channel, value, sigma, .. } => {
                let channel = channel_of(channel);
                *value = frame.value_of_ours(channel, *value);
                *sigma = frame.width_of_ours(channel, *sigma);
            }
            _ => {}
        }
        self
    }
}

/// The channel of a name.
fn channel_of(name: &str) -> Channel {
    if name == Channel::A.name() { Channel::A } else { Channel::U }
}

fn each(field: &mut [f32], change: impl Fn(f64) -> f64) {
    field.iter_mut().for_each(|value| *value = change(f64::from(*value)) as f32);
}

fn values(frame: &Frame, fields: &mut Fields) {
    for channel in Channel::BOTH {
        each(&mut fields[channel], |value| frame.value_of_ours(channel, value));
    }
}

fn widths(frame: &Frame, fields: &mut Fields) {
    for channel in Channel::BOTH {
        each(&mut fields[channel], |width| frame.width_of_ours(channel, width));
    }
}

fn bands_in(frame: &Frame, bands: &mut ErrorBands) {
    bands.half_widths.iter_mut().for_each(|fields| widths(frame, fields));
    for (channel, mean) in Channel::BOTH.into_iter().zip(&mut bands.summary.mean_half_width) {
        mean.iter_mut().flatten().for_each(|width| *width = frame.width_of_ours(channel, *width));
    }
}

fn residual_in(frame: &Frame, residual: &mut Residual) {
    let channel = channel_of(residual.channel);
    [residual.x, residual.y] = frame.point_of_unit([residual.x, residual.y]);
    // The score has the sign of value - expected.
    residual.score *= frame.scale(channel).signum();
    residual.value = frame.value_of_ours(channel, residual.value);
    residual.expected = frame.value_of_ours(channel, residual.expected);
}

fn suspects_in(frame: &Frame, suspects: &mut Suspects) {
    suspects.first.iter_mut().for_each(|residual| residual_in(frame, residual));
}

fn noise_in(frame: &Frame, noise: &mut PerChannel<Option<f64>>) {
    for channel in Channel::BOTH {
        noise[channel] = noise[channel].map(|noise| frame.width_of_ours(channel, noise));
    }
}

fn warning_in(frame: &Frame, warning: &mut Warning) {
    match warning {
        Warning::OutsideRange { channel, range, .. } => {
            let channel = channel_of(channel);
            *range = frame.range_of_ours(channel, *range);
        }
        Warning::Contradiction(contradiction) => noise_in(frame, &mut contradiction.noise),
        Warning::Suspects(suspects) => suspects_in(frame, suspects),
        _ => {}
    }
}

fn remark_in(frame: &Frame, remark: &mut Remark) {
    match remark {
        Remark::LessNoise(noise) | Remark::FewDigits(noise) => noise_in(frame, noise),
        Remark::SuspectsLeftOut(suspects) => suspects_in(frame, suspects),
        _ => {}
    }
}
