//! How far the mean of a posterior may be off: what an exact one states itself, and what held-out records say of that
//! of a fit.

use scope_data::{Channel, PerChannel};
use scope_eval::{bands::LEVELS, report::grouped, single_precision};
use scope_exact::{Calibration, Deviations, Posterior, PosteriorError, Progress};
use scope_model::Fields;

use super::{
    bands::{BandSummary, ErrorBands},
    recovered::Uncertainty,
    without_bands::{WithoutBands, WithoutBandsReason},
};

/// How far fields may be off, and what that says of draws.
pub(super) struct Spread {
    pub(super) uncertainty: Uncertainty,
    /// What a draw's distance from the mean is to be multiplied by; none if nothing is known of it.
    pub(super) of_draws: Option<PerChannel<f64>>,
    /// How standard deviations were found, if they were.
    pub(super) deviations: Option<Deviations>,
}

impl Spread {
    /// That of an exact posterior; standard deviations take most of the time.
    pub(super) fn exact(
        posterior: &Posterior,
        wanted: bool,
        seed: u64,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        let deviations = wanted.then(|| posterior.deviations_watched(seed, progress)).transpose()?;
        let uncertainty = match &deviations {
            Some(deviations) => Uncertainty::Deviation(single_precision(deviations.fields.clone())),
            None => Uncertainty::NotAsked,
        };
        Ok(Self { uncertainty, of_draws: Some(PerChannel::both(1.0)), deviations })
    }

    /// That of a fit: what held-out records say of the very sensors, and nothing if there are too few of them.
    pub(super) fn measured(
        posterior: &Posterior,
        wanted: bool,
        seed: u64,
        progress: Progress,
    ) -> Result<Self, PosteriorError> {
        if posterior.held_out_fields() == 0 {
            let reason = WithoutBandsReason::NotCalibrated;
            let without = WithoutBands { reason, can_be_measured: false };
            return Ok(Self { uncertainty: Uncertainty::Unknown(without), of_draws: None, deviations: None });
        }
        if !wanted {
            return Ok(Self { uncertainty: Uncertainty::NotAsked, of_draws: None, deviations: None });
        }
        let deviations = posterior.deviations_watched(seed, progress)?;
        let known = posterior.calibrate(&deviations, LEVELS, progress)?;
        let uncertainty = match known {
            Some(known) => Uncertainty::Measured {
                deviation: times(&deviations, known.deviation),
                bands: Box::new(bands(&deviations, &known)),
            },
            None => Uncertainty::NotAsked,
        };
        Ok(Self { uncertainty, of_draws: known.map(|known| known.deviation), deviations: Some(deviations) })
    }
}

/// Bands as wide as held-out records want them.
fn bands(deviations: &Deviations, known: &Calibration) -> ErrorBands {
    let half_widths = known.half_widths.map(|factors| times(deviations, factors));
    let measured_on = format!(
        "{} held-out records of the fit, seen by these very sensors; {} times as wide as usual, by how far these \
         readings are from what was expected",
        grouped(known.fields),
        format_args!("{:.2}", known.times_usual)
    );
    let summary = BandSummary { measured_on, ..BandSummary::of(LEVELS, &half_widths) };
    ErrorBands { half_widths, summary }
}

/// Standard deviations times a factor for each channel.
fn times(deviations: &Deviations, factors: PerChannel<f64>) -> Fields {
    let of = |channel: Channel| {
        deviations.fields[channel].iter().map(|deviation| (factors[channel] * deviation) as f32).collect()
    };
    PerChannel::from_fn(of)
}
