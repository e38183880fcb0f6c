//! `scope recover --method exact`: the exact posterior of someone's own sensors.

use clap::Args;
use scope_data::{
    Constants,
    observation::{Placed, UserContext},
};
use scope_exact::{DENSE_LIMIT, How, Method, Noise, Posterior, Prior, Reading};
use scope_model::Fields;
use scope_pde::Pde;

use super::method::Recovered;
use crate::{
    commands::{
        Misuse,
        device::DeviceArguments,
        noise::{StatedNoise, stated_noise},
        pde_names, resolution,
    },
    terminal::grouped,
    threads::Threads,
};

/// Measurements this many standard errors further from the prior than they should be are told of.
const SURPRISING: f64 = 6.0;

/// What only the exact posterior takes.
#[derive(Debug, Args)]
pub(super) struct ExactArguments {
    /// A method that needs no model: the exact posterior of poisson, helmholtz or ns, with standard deviations
    #[arg(long, requires = "pde", value_parser = ["exact"])]
    method: Option<String>,
    /// The problem that --method is for
    #[arg(long, requires = "method", conflicts_with = "model", value_parser = pde_names())]
    pde: Option<Pde>,
    /// The standard deviation of the measurements' errors in physical units, or with a percent sign as a share of the field's own, one
    /// for both channels or one each for a and u [default: rounding to float32]; a model does not know of it, only
    /// --calibrate does
    #[arg(long, value_name = "S[,S]", value_parser = stated_noise)]
    noise: Option<StatedNoise>,
    /// With --method: also write N draws of both fields from their distribution given the sensors
    #[arg(
        long,
        value_name = "N",
        requires = "method",
        conflicts_with = "model",
        default_value_t = 0,
        hide_default_value = true
    )]
    samples: u16,
    /// With --method: the seed of the draws
    #[arg(
        long,
        value_name = "SEED",
        requires = "method",
        conflicts_with = "model",
        default_value_t = 20_261_013
    )]
    seed: u64,
    /// Points along each axis for --method; a model has its own
    #[arg(long, value_name = "S", requires = "method", conflicts_with = "model", default_value_t = 128, value_parser = resolution)]
    resolution: usize,
}

impl ExactArguments {
    /// The noise that was stated, if any was.
    pub(super) fn stated_noise(&self) -> Option<StatedNoise> {
        self.noise
    }
}

/// The exact posterior on one grid.
pub(super) struct ExactMethod {
    prior: Prior,
    constants: Constants,
    noise: Noise,
    samples: usize,
    seed: u64,
    threads: Threads,
}

impl ExactMethod {
    /// What was asked for; none if it was a model.
    pub(super) fn asked(
        arguments: &ExactArguments,
        device: &DeviceArguments,
    ) -> anyhow::Result<Option<Self>> {
        let Some(pde) = arguments.pde else {
            return Ok(None);
        };
        device.require_processor("the exact posterior")?;
        let constants = Constants::generated(pde);
        Ok(Some(Self {
            prior: Prior::new(pde, arguments.resolution).map_err(Misuse::of)?,
            constants,
            noise: arguments.noise.map_or(Noise::rounding(&constants), |noise| {
                let [a, u] = noise.physical(&constants);
                Noise { a, u }
            }),
            samples: arguments.samples.into(),
            seed: arguments.seed,
            threads: device.pool(),
        }))
    }

    pub(super) fn pde(&self) -> Pde {
        self.prior.pde()
    }

    pub(super) fn constants(&self) -> Constants {
        self.constants
    }

    pub(super) fn resolution(&self) -> usize {
        self.prior.resolution()
    }

    /// What it is, in words.
    pub(super) fn describe(&self) -> String {
        format!("the exact posterior, noise {:.2e} of a and {:.2e} of u", self.noise.a, self.noise.u)
    }

    pub(super) fn recover(&self, context: &UserContext) -> anyhow::Result<Recovered> {
        self.threads.install(|| {
            let reading =
                |sensor: &Placed| Reading { channel: sensor.channel, spot: sensor.spot, value: sensor.value };
            let readings: Vec<Reading> = context.sensors.iter().map(reading).collect();
            let posterior = self.prior.given(&readings, self.noise)?;
            let deviations = posterior.deviations(self.seed)?;
            let samples = posterior.samples(self.seed, self.samples)?;
            Ok(Recovered {
                fields: single(posterior.mean()?),
                remarks: remarks(&posterior, readings.len(), deviations.u),
                deviation: Some(single(deviations.fields)),
                samples: samples.into_iter().map(single).collect(),
                bands: None,
            })
        })
    }
}

fn single(fields: scope_exact::Fields) -> Fields {
    let narrow = |field: Vec<f64>| field.into_iter().map(|x| x as f32).collect();
    Fields { a: narrow(fields.a), u: narrow(fields.u) }
}

/// What a user should know of a posterior from so many measurements.
fn remarks(posterior: &Posterior, measurements: usize, spread_of_u: How) -> Vec<String> {
    let mut remarks = Vec::new();
    if posterior.between_pixels() > 0 {
        remarks.push(format!(
            "{} of {} sensors lie between pixels: fields are interpolated there, and what that may be off is added to the noise",
            grouped(posterior.between_pixels()),
            grouped(measurements)
        ));
    }
    let silent = posterior.silent();
    if silent > 0 {
        remarks.push(format!(
            "{} of {} sensors lie on the edge, where the value is zero by definition, and were left out",
            grouped(silent),
            grouped(measurements)
        ));
    }
    if let Some(surprise) = posterior.surprise() {
        let limit = 1.0 + SURPRISING * (2.0 / posterior.sensors().max(1) as f64).sqrt();
        if surprise > limit {
            remarks.push(format!(
                "the measurements are {surprise:.1} times as far from what the problem's fields look like as they should be: state a larger --noise, or do not trust the standard deviations"
            ));
        }
    }
    match posterior.method() {
        Method::Factor { noise_floor: Some(floor), .. } => remarks.push(format!(
            "sensors are too close to be told apart: a noise of {floor:.0e} of the field's standard deviation was taken"
        )),
        Method::Factor { left_out, .. } if left_out > 0 => {
            remarks.push(format!("{} sensors were left out, to keep {}", grouped(left_out), grouped(DENSE_LIMIT)));
        }
        Method::ConjugateGradients { converged: false, iterations } => remarks.push(format!(
            "an approximation on the smooth side: more than {} sensors, and conjugate gradients stopped after {iterations} steps",
            grouped(DENSE_LIMIT)
        )),
        _ => {}
    }
    if let How::Samples(count) = spread_of_u {
        remarks.push(format!("the standard deviation of u is estimated from {count} draws"));
    }
    remarks
}
