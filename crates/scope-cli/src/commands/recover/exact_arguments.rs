//! `scope recover --method exact`: what only the exact posterior takes.

use clap::Args;
use scope::{ExactOptions, Recovery};
use scope_data::{Constants, frame::Frame};
use scope_pde::Pde;

use crate::commands::{
    Misuse,
    noise::{StatedNoise, stated_noise},
    pde_names, resolution,
};

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
    /// for both channels or one each for a and u [default: rounding to float32]; a model that was trained with noise weighs
    /// readings by it, and --calibrate measures what it costs
    #[arg(long, value_name = "S[,S]", value_parser = stated_noise, allow_hyphen_values = true)]
    noise: Option<StatedNoise>,
    /// Leave out readings that do not fit the others, a tenth of them at most, and say which; with a model this takes up to
    /// sixteen more passes
    #[arg(long)]
    drop_suspects: bool,
    /// With --method: the fields only, without standard deviations, which take most of the time
    #[arg(long, requires = "method", conflicts_with = "model")]
    no_deviations: bool,
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
    /// The problem whose exact posterior is asked for, if it is.
    pub(super) fn pde(&self) -> Option<Pde> {
        self.pde
    }

    /// Whether standard deviations are wanted.
    pub(super) fn with_deviations(&self) -> bool {
        !self.no_deviations
    }

    /// Whether readings that do not fit the others are left out.
    pub(super) fn drops_suspects(&self) -> bool {
        self.drop_suspects
    }

    /// The noise that was stated, if any was.
    pub(super) fn stated_noise(&self) -> Option<StatedNoise> {
        self.noise
    }

    /// The exact posterior of a problem.
    pub(super) fn recovery(&self, pde: Pde, frame: Frame) -> Result<Recovery, Misuse> {
        let constants = frame.constants(&Constants::generated(pde));
        let options = ExactOptions {
            resolution: self.resolution,
            noise: self.noise.map(|noise| noise.physical(&constants)),
            drop_suspects: self.drop_suspects,
            deviations: !self.no_deviations,
            samples: self.samples.into(),
            seed: self.seed,
            frame,
        };
        Recovery::exact(pde, options).map_err(Misuse::of)
    }
}
