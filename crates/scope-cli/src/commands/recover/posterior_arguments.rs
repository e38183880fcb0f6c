//! `scope recover --method`: what only a posterior takes.

use clap::Args;
use scope::{PosteriorOptions, Recovery};
use scope_data::frame::{Frame, StatedNoise};

use crate::commands::{Misuse, method::ChosenMethod, resolution};

/// Points along each axis if nothing is said.
const RESOLUTION: usize = 128;

/// What only a posterior takes.
#[derive(Debug, Args)]
pub(super) struct PosteriorArguments {
    /// The standard deviation of the measurements' errors in physical units, or with a percent sign as a share of the
    /// field's own, one for both channels or one each for a and u [default: rounding alone]; a model that was
    /// trained with noise weighs readings by it, and --calibrate measures what it costs
    #[arg(long, value_name = "S[,S]", allow_hyphen_values = true)]
    noise: Option<StatedNoise>,
    /// Leave out readings that do not fit the others, a tenth of them at most, and say which; with a model this takes
    /// up to sixteen more passes
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
    /// Points along each axis for --method exact [default: 128]; a model or a fit has its own
    #[arg(long, value_name = "S", requires = "method", conflicts_with_all = ["model", "fit"], value_parser = resolution)]
    resolution: Option<usize>,
}

impl PosteriorArguments {
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

    /// The way from sensors to fields that was chosen; `frame` says in which coordinates and units they come.
    pub(super) fn recovery(
        &self,
        chosen: ChosenMethod,
        frame: impl FnOnce(&ChosenMethod) -> anyhow::Result<Frame>,
    ) -> anyhow::Result<Recovery> {
        let frame = frame(&chosen)?;
        let constants = frame.constants(&chosen.constants());
        let options = PosteriorOptions {
            noise: self.noise.map(|noise| noise.physical(&constants)),
            drop_suspects: self.drop_suspects,
            deviations: !self.no_deviations,
            samples: self.samples.into(),
            seed: self.seed,
            frame,
        };
        match chosen {
            ChosenMethod::Exact(pde) => {
                let size = self.resolution.unwrap_or(RESOLUTION);
                Ok(Recovery::exact(pde, size, options).map_err(Misuse::of)?)
            }
            ChosenMethod::Linear(prior) => Ok(Recovery::linear(*prior, options)),
        }
    }
}
