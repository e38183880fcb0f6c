//! Error bands about a network's fields: those of its card, or measured for the very sensors on the spot.

use std::sync::{Arc, Mutex, PoisonError};

use scope_data::{
    Channel, PerChannel,
    observation::{Placed, UserContext},
};
use scope_eval::{
    EvalError,
    bands::{LEVELS, OnTheSpot, SpotMeasures},
    report::grouped,
    trust::{Trust, task_of},
};
use scope_exact::NO_NOISE;
use scope_model::{
    About, Fields,
    bands::{Bands, misfits},
    impose_certainty,
};
use serde::Serialize;

use super::{
    network::{Imposed, Network, NetworkOptions},
    without_bands::{WithoutBands, WithoutBandsReason},
};

/// With fewer measurements than this within the wider band, the band does not hold for them.
const FEWEST_WITHIN: f64 = 0.6;
/// No band is more times as wide as usual, or as narrow: the law by which widths follow misfits was fitted to the
/// problem's own fields, of which hardly any is so hard or so easy. Over 40 records each of four conditions, Poisson's
/// were 0.3 to 3.3 times as wide; flows past a cylinder had 0.1 to 9 times the usual misfit.
const MOST_WIDENING: f64 = 10.0;

const MEANING: &str = "on average over fields drawn like the training data, this share of all pixels is no further \
                       from the truth than the half-width there; for one field it may be more or less";

/// Error bands about recovered fields: for a stated share of all pixels the truth lies within the half-width there.
#[derive(Clone, Debug)]
pub struct ErrorBands {
    /// The half-widths at each of the two levels, in the user's units, \[rows, columns\] each.
    pub half_widths: [Fields; 2],
    /// The levels, what they mean, and what the bands were measured on.
    pub summary: BandSummary,
}

/// What `summary.json` says of error bands.
#[derive(Clone, Debug, Serialize)]
pub struct BandSummary {
    /// The shares of pixels whose truth lies within each band.
    pub levels: [f64; 2],
    /// A sentence that says what these shares are.
    pub meaning: &'static str,
    /// The records that they were measured on, in words.
    pub measured_on: String,
    /// Means over pixels, of a and of u at each level; none for a field of two values.
    pub mean_half_width: [Option<[f64; 2]>; 2],
    /// How many times as wide as usual those of a and of u are, because the recovery is so far from the measurements;
    /// none where bands do not follow that.
    pub times_usual: Option<[f64; 2]>,
    /// The share of the measurements themselves that lie within, of a and of u at each level.
    pub measurements_within: [Option<[f64; 2]>; 2],
}

impl BandSummary {
    /// What is said of half-widths of these levels, but for where they come from.
    pub(super) fn of(levels: [f64; 2], [low, high]: &[Fields; 2]) -> Self {
        Self {
            levels,
            meaning: MEANING,
            measured_on: String::new(),
            mean_half_width: [Some([mean(&low.a), mean(&high.a)]), Some([mean(&low.u), mean(&high.u)])],
            times_usual: None,
            measurements_within: [None; 2],
        }
    }
}

/// A network's bands, for measurements with a stated noise.
pub(super) struct BandSource {
    stated_noise: Option<PerChannel<f64>>,
    origin: Origin,
}

/// Where they come from.
enum Origin {
    /// Nowhere: the card has none, or there is no card.
    None,
    /// The bands of the model's card.
    Card(Box<Bands>),
    /// Fresh records, for each set of sensors.
    Measured(Box<Measured>),
}

/// Bands that are measured on fresh records.
struct Measured {
    fresh: OnTheSpot,
    /// The last ones: sets in a row mostly have the same sensors.
    last: Mutex<Option<OfSensors>>,
}

/// What was measured for some sensors.
struct OfSensors {
    sensors: Vec<Placed>,
    measures: Arc<SpotMeasures>,
}

/// Half-widths, and what they were measured on.
struct Stated {
    levels: [f64; 2],
    half_widths: [Fields; 2],
    measured_on: String,
    times_usual: Option<[f64; 2]>,
}

impl BandSource {
    /// Bands of the card, or measured on so many fresh records.
    pub(super) fn new(network: &Network, options: NetworkOptions) -> Result<Self, EvalError> {
        let About { pde, config, .. } = network.model.about();
        let NetworkOptions { noise, calibration, .. } = options;
        let origin = match calibration {
            Some(_) if network.is_of_imported_records() => {
                return Err(EvalError::Mismatch(format!(
                    "the model was trained on imported records, and the solver of {pde} may make others: its bands \
                     come from held-out records of the same kind (scope model calibrate)"
                )));
            }
            Some(records) => {
                let fresh = OnTheSpot::new(*pde, config.resolution(), records, noise.unwrap_or(NO_NOISE))?;
                Origin::Measured(Box::new(Measured { fresh, last: Mutex::default() }))
            }
            None => {
                let bands = network.card.as_ref().and_then(|card| card.bands.clone());
                bands.map_or(Origin::None, |bands| Origin::Card(Box::new(bands)))
            }
        };
        Ok(Self { stated_noise: noise, origin })
    }

    /// What fresh records say of sensors, if any are to be asked. `progress` hears how many were, and says whether to
    /// go on.
    pub(super) fn measure(
        &self,
        network: &Network,
        context: &UserContext,
        progress: &dyn Fn(usize) -> bool,
    ) -> Result<Option<Arc<SpotMeasures>>, EvalError> {
        match &self.origin {
            Origin::Measured(measured) => measured.of(network, context, progress).map(Some),
            Origin::None | Origin::Card(_) => Ok(None),
        }
    }

    /// The bands about recovered fields, or why there are none; those that were measured, if they were. A card's follow
    /// how far the network's own fields are from the readings.
    pub(super) fn about(
        &self,
        network: &Network,
        context: &UserContext,
        (of_network, fields): (&Fields, &Fields),
        trust: &Trust,
        measures: Option<&SpotMeasures>,
    ) -> Result<ErrorBands, WithoutBands> {
        let without = |reason| Err(WithoutBands { reason, can_be_measured: false });
        let denied = trust.warnings.iter().find(|warning| warning.denies_errors());
        if let Some(warning) = denied.filter(|_| !matches!(self.origin, Origin::None)) {
            return without(WithoutBandsReason::Unlike(warning.clone()));
        }
        let stated = match (&self.origin, measures) {
            (_, Some(measures)) => Ok(Stated::measured(measures)),
            (Origin::Card(bands), None) => self.of_card(bands, network, context, of_network),
            (Origin::None | Origin::Measured(_), None) => Err(WithoutBandsReason::NotInCard),
        };
        let Stated { levels, mut half_widths, measured_on, times_usual } = match stated {
            Ok(stated) => stated,
            Err(reason) => {
                let can_be_measured = network.is_of_fresh_records();
                return Err(WithoutBands { reason, can_be_measured });
            }
        };
        let measurements_within =
            Channel::BOTH.map(|channel| self.within(network, context, fields, &half_widths, channel));
        let wide = measurements_within.iter().flatten().map(|[_, wide]| *wide);
        if let Some(share) = wide.min_by(f64::total_cmp).filter(|share| *share < FEWEST_WITHIN) {
            return without(WithoutBandsReason::FewWithin { share, level: levels[1] });
        }
        // Errors were measured of the network's own fields, and what is known was imposed on these.
        let pde = network.model.about().pde;
        half_widths.iter_mut().for_each(|widths| impose_certainty(pde, context, widths));
        let of_all = BandSummary::of(levels, &half_widths);
        let two_valued = pde.descriptor().fields.a.is_two_valued();
        let [of_a, of_u] = of_all.mean_half_width;
        let mean_half_width = [of_a.filter(|_| !two_valued), of_u];
        let summary =
            BandSummary { measured_on, mean_half_width, times_usual, measurements_within, ..of_all };
        Ok(ErrorBands { half_widths, summary })
    }

    fn of_card(
        &self,
        bands: &Bands,
        network: &Network,
        context: &UserContext,
        of_network: &Fields,
    ) -> Result<Stated, WithoutBandsReason> {
        if self.stated_noise.is_some_and(|noise| noise.a > 0.0 || noise.u > 0.0) {
            return Err(WithoutBandsReason::Noise);
        }
        // Problems without measurements are refused before anything is recovered.
        let task = task_of(&context.measured).ok_or(WithoutBandsReason::NotInCard)?;
        let constants = &network.model.about().constants;
        let readings = context.values.each_ref().map(Vec::as_slice);
        let misfits = misfits(constants, task, &context.masks, readings, of_network);
        let found = bands.of(task, &context.masks, &misfits).map_err(WithoutBandsReason::Sensors)?;
        let times_usual = found.widening.map(|widening| [widening.a, widening.u]);
        let unusual = |times: &f64| !(1.0 / MOST_WIDENING..=MOST_WIDENING).contains(times);
        if let Some(times) = times_usual.into_iter().flatten().find(unusual) {
            return Err(WithoutBandsReason::Misfit { times });
        }
        let [fewer, more] = found.between.map(grouped);
        let number = if fewer == more { fewer } else { format!("{fewer} and {more}") };
        let records = grouped(bands.records);
        let measured_on = format!("{records} held-out records with {number} sensors as in {}", found.like);
        Ok(Stated { levels: found.levels, half_widths: found.half_widths, measured_on, times_usual })
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
        let slack = 2.0 * self.stated_noise.map_or(0.0, |noise| noise[channel]);
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

impl Stated {
    /// Bands that were measured on the spot.
    fn measured(measures: &SpotMeasures) -> Self {
        let records = grouped(measures.calibrated.records);
        let measured_on = format!("{records} fresh records seen by these very sensors");
        Self { levels: LEVELS, half_widths: measures.half_widths.clone(), measured_on, times_usual: None }
    }
}

impl Measured {
    /// What fresh records say of sensors, whatever these measured.
    fn of(
        &self,
        network: &Network,
        context: &UserContext,
        progress: &dyn Fn(usize) -> bool,
    ) -> Result<Arc<SpotMeasures>, EvalError> {
        let sensors = &context.sensors;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match last.take().filter(|known| context.has_places_of(&known.sensors)) {
            Some(known) => known,
            None => OfSensors {
                sensors: sensors.clone(),
                measures: Arc::new(self.fresh.measure(&Imposed(&network.model), context, progress)?),
            },
        };
        Ok(Arc::clone(&last.insert(known).measures))
    }
}

fn mean(field: &[f32]) -> f64 {
    field.iter().copied().map(f64::from).sum::<f64>() / field.len().max(1) as f64
}
