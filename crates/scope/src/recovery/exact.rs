//! The exact posterior of someone's own sensors.

use scope_data::{
    Constants, PerChannel,
    observation::{Placed, UserContext},
};
use scope_eval::single_precision;
use scope_exact::{ExactError, Prior, Reading, rounding_noise};
use scope_model::Fields;
use scope_pde::Pde;

use super::{
    remark::{Remark, remarks},
    summary::MethodSummary,
};

/// What the exact posterior is computed with.
#[derive(Clone, Copy, Debug)]
pub struct ExactOptions {
    /// The side S of the grid.
    pub resolution: usize,
    /// How far the measurements may be off; without, by being rounded to single precision.
    pub noise: Option<PerChannel<f64>>,
    /// So many draws of both fields are made from their distribution given the sensors.
    pub samples: usize,
    /// The seed of the draws.
    pub seed: u64,
}

impl Default for ExactOptions {
    /// 128 x 128 points, exact measurements, no draws.
    fn default() -> Self {
        Self { resolution: 128, noise: None, samples: 0, seed: 20_261_013 }
    }
}

/// The exact posterior on one grid.
pub(super) struct Exact {
    prior: Prior,
    constants: Constants,
    noise: PerChannel<f64>,
    samples: usize,
    seed: u64,
}

/// The posterior given some sensors.
pub(super) struct Estimate {
    /// Its mean.
    pub(super) fields: Fields,
    /// The standard deviation of every pixel.
    pub(super) deviation: Fields,
    /// Draws from it.
    pub(super) samples: Vec<Fields>,
    pub(super) remarks: Vec<Remark>,
}

impl Exact {
    pub(super) fn new(pde: Pde, options: ExactOptions) -> Result<Self, ExactError> {
        let constants = Constants::generated(pde);
        Ok(Self {
            prior: Prior::new(pde, options.resolution)?,
            constants,
            noise: options.noise.unwrap_or_else(|| rounding_noise(&constants)),
            samples: options.samples,
            seed: options.seed,
        })
    }

    pub(super) fn summary(&self) -> MethodSummary {
        MethodSummary {
            pde: self.prior.pde(),
            constants: self.constants,
            resolution: self.prior.resolution(),
            name: "exact".to_owned(),
            file: format!(
                "the exact posterior, noise {:.2e} of a and {:.2e} of u",
                self.noise.a, self.noise.u
            ),
            blake3: None,
            held_out_records: None,
            held_out_origin: None,
        }
    }

    pub(super) fn estimate(&self, context: &UserContext) -> Result<Estimate, ExactError> {
        let reading =
            |sensor: &Placed| Reading { channel: sensor.channel, spot: sensor.spot, value: sensor.value };
        let readings: Vec<Reading> = context.sensors.iter().map(reading).collect();
        let posterior = self.prior.given(&readings, self.noise)?;
        let deviations = posterior.deviations(self.seed)?;
        let samples = posterior.samples(self.seed, self.samples)?;
        Ok(Estimate {
            fields: single_precision(posterior.mean()?),
            remarks: remarks(&posterior, readings.len(), deviations.u),
            deviation: single_precision(deviations.fields),
            samples: samples.into_iter().map(single_precision).collect(),
        })
    }
}
