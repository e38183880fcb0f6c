//! Error bands about a network's fields: those of its card, or measured for the very sensors on the spot.

use std::cell::RefCell;

use scope_data::{
    Channel,
    observation::{Placed, UserContext},
};
use scope_eval::{
    bands::{LEVELS, OnTheSpot},
    trust::{Trust, Usual, Warning, task_of},
};
use scope_model::{About, Card, Fields, Reconstructor, bands::Bands};
use scope_pde::Pde;
use serde::Serialize;

use crate::terminal::grouped;

/// With fewer measurements than this within the wider band, the band does not hold for them.
const FEWEST_WITHIN: f64 = 0.6;

/// How to have bands that the card has not.
const REMEDY: &str = "; to measure them for these very sensors, add --calibrate 200";

/// A network's bands, for measurements with a stated noise of a and u.
pub(super) struct BandSource {
    noise: [f64; 2],
    origin: Origin,
}

/// Where they come from.
enum Origin {
    /// Nowhere: the card has none, or there is no card.
    None,
    /// Its card.
    Card(Box<Bands>),
    /// Fresh records, for each set of sensors; sets in a row are mostly the same.
    Measured { on: Box<OnTheSpot>, records: usize, last: RefCell<Option<Box<OfSensors>>> },
}

/// The half-widths that were measured for some sensors.
struct OfSensors {
    sensors: Vec<Placed>,
    half_widths: [Fields; 2],
}

impl OfSensors {
    /// Whether sensors measure the same at the same places, whatever they say.
    fn are(&self, others: &[Placed]) -> bool {
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

/// The bands of one recovery.
pub(super) struct RecoveredBands {
    pub(super) half_widths: [Fields; 2],
    pub(super) summary: BandSummary,
}

/// What is said of them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BandSummary {
    /// The shares of pixels that lie within.
    pub(super) levels: [f64; 2],
    meaning: &'static str,
    /// What they were measured on.
    pub(super) measured_on: String,
    /// Means over pixels, of a and of u at each level.
    pub(super) mean_half_width: [[f64; 2]; 2],
    /// The share of the measurements themselves that lie within, of a and of u at each level.
    measurements_within: [Option<[f64; 2]>; 2],
}

const MEANING: &str = "on average over fields drawn like the training data, this share of all pixels is no further from the truth than the half-width there; for one field it may be more or less";

impl BandSource {
    /// Of the card, or measured on so many fresh records.
    pub(super) fn new(
        model: &Reconstructor,
        card: Option<&Card>,
        calibrate: Option<usize>,
        noise: [f64; 2],
    ) -> anyhow::Result<Self> {
        let About { pde, config, .. } = model.about();
        let origin = match calibrate {
            Some(records) => {
                let on = Box::new(OnTheSpot::new(*pde, config.resolution(), records, noise)?);
                Origin::Measured { on, records, last: RefCell::default() }
            }
            None => {
                let bands = card.and_then(|card| card.bands.clone());
                bands.map_or(Origin::None, |bands| Origin::Card(Box::new(bands)))
            }
        };
        Ok(Self { noise, origin })
    }

    /// The bands about recovered fields, or why there are none. `progress` hears how many fresh records they were measured on,
    /// and says whether to go on.
    pub(super) fn of(
        &self,
        model: &Reconstructor,
        context: &UserContext,
        fields: &Fields,
        trust: &Trust,
        progress: &dyn Fn(usize) -> bool,
    ) -> anyhow::Result<Result<RecoveredBands, String>> {
        if let Some(warning) = trust.warnings.iter().find(|warning| self.is_overruled_by(warning)) {
            return Ok(Err(warning.to_string()));
        }
        let Stated { levels, half_widths, measured_on } = match self.stated(model, context, progress)? {
            Ok(stated) => stated,
            Err(reason) => return Ok(Err(reason)),
        };
        let measurements_within =
            Channel::BOTH.map(|channel| self.within(model, context, fields, &half_widths, channel));
        let wide = measurements_within.iter().flatten().map(|[_, wide]| *wide);
        if let Some(share) = wide.min_by(f64::total_cmp).filter(|share| *share < FEWEST_WITHIN) {
            return Ok(Err(format!(
                "only {:.0}% of the measurements lie within the band that should hold {:.0}%: they are noisier than those it was measured with, or do not obey this problem",
                100.0 * share,
                100.0 * levels[1]
            )));
        }
        let [low, high] = &half_widths;
        let mean_half_width = [[mean(&low.a), mean(&high.a)], [mean(&low.u), mean(&high.u)]];
        let summary =
            BandSummary { levels, meaning: MEANING, measured_on, mean_half_width, measurements_within };
        Ok(Ok(RecoveredBands { half_widths, summary }))
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

    /// The bands for sensors, whatever they measured.
    fn stated(
        &self,
        model: &Reconstructor,
        context: &UserContext,
        progress: &dyn Fn(usize) -> bool,
    ) -> anyhow::Result<Result<Stated, String>> {
        // Fresh records of the cylinder would have other disks.
        let remedy = if model.about().pde == Pde::Cylinder { "" } else { REMEDY };
        match &self.origin {
            Origin::None => Ok(Err(format!("the model's card has none{remedy}"))),
            Origin::Card(bands) => {
                Ok(self.of_card(bands, context).map_err(|reason| format!("{reason}{remedy}")))
            }
            Origin::Measured { on, records, last } => {
                let sensors = &context.sensors;
                let known = match last.take().filter(|known| known.are(sensors)) {
                    Some(known) => known,
                    None => Box::new(OfSensors {
                        sensors: sensors.clone(),
                        half_widths: on.half_widths(model, context, progress)?,
                    }),
                };
                let half_widths = known.half_widths.clone();
                last.replace(Some(known));
                let measured_on = format!("{} fresh records seen by these very sensors", grouped(*records));
                Ok(Ok(Stated { levels: LEVELS, half_widths, measured_on }))
            }
        }
    }

    fn of_card(&self, bands: &Bands, context: &UserContext) -> Result<Stated, String> {
        if self.noise.iter().any(|noise| *noise > 0.0) {
            return Err("those of the card were measured without noise".to_owned());
        }
        let task = task_of(&context.measured).ok_or("nothing was measured")?;
        let found = bands.of(task, &context.masks).map_err(|reason| reason.to_string())?;
        let [fewer, more] = found.between.map(grouped);
        let number = if fewer == more { fewer } else { format!("{fewer} and {more}") };
        let records = grouped(bands.records);
        let measured_on = format!("{records} held-out records with {number} sensors as in {}", found.like);
        Ok(Stated { levels: found.levels, half_widths: found.half_widths, measured_on })
    }

    /// The shares of a channel's measurements that lie within bands about the recovery, give or take twice their noise.
    fn within(
        &self,
        model: &Reconstructor,
        context: &UserContext,
        fields: &Fields,
        half_widths: &[Fields; 2],
        channel: Channel,
    ) -> Option<[f64; 2]> {
        let mask = context.measured.of(channel);
        let field = fields.of(channel);
        let (scaling, slack) = (model.about().constants.of(channel), 2.0 * self.noise[channel as usize]);
        let share = |widths: &Fields| {
            let widths = widths.of(channel);
            let holds = |point: &usize| {
                let measured = scaling.physical(context.values[channel as usize][*point]);
                (f64::from(field[*point]) - measured).abs() <= f64::from(widths[*point]) + slack
            };
            mask.points().filter(holds).count() as f64 / mask.count() as f64
        };
        (mask.count() > 0).then(|| half_widths.each_ref().map(share))
    }
}

fn mean(field: &[f32]) -> f64 {
    field.iter().copied().map(f64::from).sum::<f64>() / field.len().max(1) as f64
}
