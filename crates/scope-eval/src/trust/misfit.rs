//! How far a recovery is from the measurements that it was made from.

use scope_data::{
    Channel,
    observation::{STENCIL_POINTS, Spot, Stencil, UserContext},
};
use scope_model::Fields;
use scope_pde::Pde;

/// A sensor, and what a recovery is at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// Where it is.
    pub spot: Spot,
    /// What it measured.
    pub measured: f64,
    /// What was recovered there.
    pub recovered: f64,
}

impl Fitted {
    /// Recovered minus measured.
    pub fn residual(&self) -> f64 {
        self.recovered - self.measured
    }

    /// All sensors of a channel, where they are.
    pub fn all(pde: Pde, context: &UserContext, fields: &Fields, channel: Channel) -> Vec<Self> {
        let field = &fields[channel];
        let grid = context.masks.shape();
        let own = context.sensors.iter().filter(|sensor| sensor.channel == channel);
        own.map(|sensor| {
            let stencil = Stencil::new(pde, channel, grid, sensor.spot, STENCIL_POINTS);
            let recovered = stencil.sum(|point| f64::from(field[point]));
            Self { spot: sensor.spot, measured: sensor.value, recovered }
        })
        .collect()
    }
}

/// 100 |recovered - measured| / |measured| over sensors; none without sensors or for zeros.
pub(crate) fn misfit_percent(sensors: &[Fitted]) -> Option<f64> {
    let apart: f64 = sensors.iter().map(|sensor| sensor.residual().powi(2)).sum();
    let size = squares(sensors);
    (size > 0.0).then(|| 100.0 * (apart / size).sqrt())
}

/// The misfit, in percent, that a noise of this standard deviation alone would give a recovery that is the truth.
pub(super) fn misfit_of_noise(sensors: &[Fitted], noise: f64) -> f64 {
    let size = squares(sensors);
    if size > 0.0 { 100.0 * noise * (sensors.len() as f64 / size).sqrt() } else { 0.0 }
}

fn squares(sensors: &[Fitted]) -> f64 {
    sensors.iter().map(|sensor| sensor.measured.powi(2)).sum()
}

/// The root mean square of what was measured.
pub(super) fn root_mean_square(sensors: &[Fitted]) -> f64 {
    (squares(sensors) / sensors.len().max(1) as f64).sqrt()
}
