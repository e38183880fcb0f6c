//! Error bands about a network's fields: those of its card, or measured for the very sensors on the spot.

use std::sync::{Mutex, PoisonError};

use scope_data::{
    Channel, PerChannel,
    observation::{Placed, UserContext},
};
use scope_eval::{
    EvalError,
    bands::{LEVELS, OnTheSpot},
    report::grouped,
    trust::{Trust, Usual, Warning, task_of},
};
use scope_model::{About, Fields, bands::Bands};
use serde::Serialize;

use super::{
    network::{Network, NetworkOptions},
    without_bands::{WithoutBands, WithoutBandsReason},
};

/// With fewer measurements than this within the wider band, the band does not hold for them.
const FEWEST_WITHIN: f64 = 0.6;

const MEANING: &str = "on average over fields drawn like the training data, this share of all pixels is no further from the truth than the half-width there; for one field it may be more or less";

/// Error bands about recovered fields.
#[derive(Clone, Debug)]
pub struct ErrorBands {
    /// Half-widths at each level, in physical units, \[S, S\] each.
    pub half_widths: [Fields; 2],
    /// What is said of them.
    pub summary: BandSummary,
}

/// What is said of error bands.
#[derive(Clone, Debug, Serialize)]
pub struct BandSummary {
    /// The shares of pixels that lie within.
    pub levels: [f64; 2],
    /// What that means.
    pub meaning: &'static str,
    /// What they were measured on.
    pub measured_on: String,
    /// Means over pixels, of a and of u at each level.
    pub mean_half_width: [[f64; 2]; 2],
    /// The share of the measurements themselves that lie within, of a and of u at each level.
    pub measurements_within: [Option<[f64; 2]>; 2],
}

/// A network's bands, for measurements with a stated noise.
pub(super) struct BandSource {
    noise: PerChannel<f64>,
    origin: Origin,
}

/// Where they come from.
enum Origin {
    /// Nowhere: the card has none, or there is no card.
    None,
    /// Its card.
    Card(Box<Bands>),
    /// Fresh records, for each set of sensors.
    Measured(Box<Measured>),
}

/// Bands that are measured on fresh records.
struct Measured {
    fresh: OnTheSpot,
    records: usize,
    /// The last ones: sets in a row mostly have the same sensors.
    last: Mutex<Option<OfSensors>>,
}

/// The half-widths that were measured for some sensors.
struct OfSensors {
    sensors: Vec<Placed>,
    half_widths: [Fields; 2],
}

impl OfSensors {
    /// Whether sensors measure the same at the same places, whatever their values are.
    fn are_for(&self, others: &[Placed]) -> bool {
        let place = |sensor: &Placed| (sensor.channel, sensor.spot.at);
        self.sensors.iter().map(place).eq(others.iter().map(place))
    }
}

/// Half-widths, and what they were measured on.
struct Stated {
    levels: [f64; 2],
    half_widths: [Fields; 2],
    measured_on: String,
}

impl BandSource {
    /// Bands of the card, or measured on so many fresh records.
    pub(super) fn new(network: &Network, options: NetworkOptions) -> Result<Self, EvalError> {
        let About { pde, config, .. } = network.model.about();
        let NetworkOptions { noise, calibration } = options;
        let origin = match calibration {
            Some(records) => {
                let fresh = OnTheSpot::new(*pde, config.resolution(), records, noise)?;
                Origin::Measured(Box::new(Measured { fresh, records, last: Mutex::default() }))
            }
            None => {
                let bands = network.card.as_ref().and_then(|card| card.bands.clone());
                bands.map_or(Origin::None, |bands| Origin::Card(Box::new(bands)))
            }
        };
        Ok(Self { noise, origin })
    }

    /// The bands about recovered fields, or why there are none. `progress` hears how many fresh records they were measured on,
    /// and says whether to go on.
    pub(super) fn about(
        &self,
        network: &Network,
        context: &UserContext,
        fields: &Fields,
        trust: &Trust,
        progress: &dyn Fn(usize) -> bool,
    ) -> Result<Result<ErrorBands, WithoutBands>, EvalError> {
        let without = |reason| Ok(Err(WithoutBands { reason, can_be_measured: false }));
        if let Some(warning) = trust.warnings.iter().find(|warning| self.is_overruled_by(warning)) {
            return without(WithoutBandsReason::Unlike(warning.clone()));
        }
        let stated = match &self.origin {
            Origin::None => Err(WithoutBandsReason::NotInCard),
            Origin::Card(bands) => self.of_card(bands, context),
            Origin::Measured(measured) => Ok(measured.of(network, context, progress)?),
        };
        let Stated { levels, half_widths, measured_on } = match stated {
            Ok(stated) => stated,
            Err(reason) => {
                // Fresh records would have other disks.
                let can_be_measured = !network.model.about().pde.has_disk();
                return Ok(Err(WithoutBands { reason, can_be_measured }));
            }
        };
        let measurements_within =
            Channel::BOTH.map(|channel| self.within(network, context, fields, &half_widths, channel));
        let wide = measurements_within.iter().flatten().map(|[_, wide]| *wide);
        if let Some(share) = wide.min_by(f64::total_cmp).filter(|share| *share < FEWEST_WITHIN) {
            return without(WithoutBandsReason::FewWithin { share, level: levels[1] });
        }
        let [low, high] = &half_widths;
        let mean_half_width = [[mean(&low.a), mean(&high.a)], [mean(&low.u), mean(&high.u)]];
        let summary =
            BandSummary { levels, meaning: MEANING, measured_on, mean_half_width, measurements_within };
        Ok(Ok(ErrorBands { half_widths, summary }))
    }

    /// Whether measurements are unlike all that bands were measured on. Measured with the stated noise, bands know how far
    /// measurements may be from the recovery.
    fn is_overruled_by(&self, warning: &Warning) -> bool {
        match warning {
            _ if matches!(self.origin, Origin::None) => false,
            Warning::OutsideRange { .. } | Warning::NoGeometry | Warning::Task(_) => true,
            // Bands of a model that never does better are as wide as that.
            Warning::PoorFit { usual, .. } => {
                *usual != Usual::Alike && matches!(self.origin, Origin::Card(_))
            }
            _ => false,
        }
    }

    fn of_card(&self, bands: &Bands, context: &UserContext) -> Result<Stated, WithoutBandsReason> {
        if self.noise.a > 0.0 || self.noise.u > 0.0 {
            return Err(WithoutBandsReason::Noise);
        }
        // Problems without measurements are refused before anything is recovered.
        let task = task_of(&context.measured).ok_or(WithoutBandsReason::NotInCard)?;
        let found = bands.of(task, &context.masks).map_err(WithoutBandsReason::Sensors)?;
        let [fewer, more] = found.between.map(grouped);
        let number = if fewer == more { fewer } else { format!("{fewer} and {more}") };
        let records = grouped(bands.records);
        let measured_on = format!("{records} held-out records with {number} sensors as in {}", found.like);
        Ok(Stated { levels: found.levels, half_widths: found.half_widths, measured_on })
    }

    /// The shares of a channel's measurements that lie within bands about the recovery, give or take twice their noise.
    fn within(
        &self,
        network: &Network,
        context: &UserContext,
        fields: &Fields,
        half_widths: &[Fields; 2],
        channel: Channel,
    ) -> Option<[f64; 2]> {
        let mask = &context.measured[channel];
        let field = &fields[channel];
        let scaling = network.model.about().constants[channel];
        let slack = 2.0 * self.noise[channel];
        let share = |widths: &Fields| {
            let widths = &widths[channel];
            let holds = |point: &usize| {
                let measured = scaling.physical(context.values[channel][*point]);
                (f64::from(field[*point]) - measured).abs() <= f64::from(widths[*point]) + slack
            };
            mask.points().filter(holds).count() as f64 / mask.count() as f64
        };
        (mask.count() > 0).then(|| half_widths.each_ref().map(share))
    }
}

impl Measured {
    /// The bands for sensors, whatever they measured.
    fn of(
        &self,
        network: &Network,
        context: &UserContext,
        progress: &dyn Fn(usize) -> bool,
    ) -> Result<Stated, EvalError> {
        let sensors = &context.sensors;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match last.take().filter(|known| known.are_for(sensors)) {
            Some(known) => known,
            None => OfSensors {
                sensors: sensors.clone(),
                half_widths: self.fresh.half_widths(&network.model, context, progress)?,
            },
        };
        let half_widths = last.insert(known).half_widths.clone();
        let measured_on = format!("{} fresh records seen by these very sensors", grouped(self.records));
        Ok(Stated { levels: LEVELS, half_widths, measured_on })
    }
}

fn mean(field: &[f32]) -> f64 {
    field.iter().copied().map(f64::from).sum::<f64>() / field.len().max(1) as f64
}
