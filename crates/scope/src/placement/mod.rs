//! Placing sensors: where the next ones say most, before any of them has said anything.
//!
//! The uncertainty of a Gaussian posterior depends on where sensors are, not on what they say. So layouts can be
//! compared, and sensors placed one by one, each where it leaves least unknown.

mod candidates;
mod folder;
mod random_layouts;

use scope_data::{
    Channel, PerChannel,
    frame::Frame,
    observation::{Placed, Spot, UserContext},
    sensors::SensorSet,
};
use scope_eval::{PosteriorMethod, RecoveryMethod, single_precision};
use scope_exact::{Placement, Progress, Reading, Target};
use scope_model::Fields;
use scope_pde::{GridShape, Pde};
use serde::Serialize;

pub use candidates::Candidates;
pub use folder::PlacementSummary;
pub use random_layouts::RandomLayouts;

use crate::recovery::RecoveryError;

/// What is placed, for which fields, and what it is compared with.
#[derive(Clone, Copy, Debug)]
pub struct PlacementOptions {
    /// How many sensors to place.
    pub count: usize,
    /// The field that they measure.
    pub channel: Channel,
    /// The fields that are to be known well.
    pub target: PerChannel<bool>,
    /// The number of random layouts of as many sensors that they are compared with.
    pub random_layouts: usize,
    /// The seed of the random layouts.
    pub seed: u64,
}

/// A sensor that was placed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlacedSensor {
    /// Its place along axis 0, in the problem's own coordinates: the unit square's, unless its file has others.
    pub x: f64,
    /// Its place along axis 1, in the same coordinates.
    pub y: f64,
    /// The relative L2 errors of a and u that are expected with it and all before, in percent; none of a u that is not
    /// linear.
    pub expected_percent: PerChannel<Option<f64>>,
}

/// Sensors that were placed, and what they leave unknown.
#[derive(Clone, Debug)]
pub struct SensorPlacement {
    /// The problem.
    pub pde: Pde,
    /// The points of the grid along each axis.
    pub resolution: GridShape,
    /// The options that they were placed with.
    pub options: PlacementOptions,
    /// The number of sensors that were there before.
    pub given: usize,
    /// The number of places that were chosen from.
    pub candidates: usize,
    /// The relative L2 errors of a and u that are expected with the earlier sensors alone, in percent; none of a u that
    /// is not linear.
    pub before_percent: PerChannel<Option<f64>>,
    /// The sensors in the order in which they were placed; fewer than asked for where there are no more places.
    pub sensors: Vec<PlacedSensor>,
    /// The standard deviations of both fields that remain, \[rows, columns\] each.
    pub deviations: Fields,
    /// What random layouts would have given, if any were asked.
    pub random: Option<RandomLayouts>,
    /// Pixels along both axes of given sensors, and of those placed.
    marks: [Vec<[f64; 2]>; 2],
}

/// Places sensors one by one, each where it leaves least unknown of the fields that are to be known well.
///
/// Sensors that are `given` are there already; only their places count, not what they read. The noise of all is the
/// method's. `progress` is told of each step, and returns whether to go on.
///
/// ```
/// use scope::{
///     data::{Channel, Constants, PerChannel},
///     eval::PosteriorMethod,
///     exact::UNHEARD,
///     pde::Pde,
///     placement::{Candidates, PlacementOptions, place},
/// };
///
/// let method = PosteriorMethod::exact(Pde::POISSON, Constants::generated(Pde::POISSON), 16)?;
/// let target = PerChannel::both(true);
/// let options = PlacementOptions { count: 3, channel: Channel::U, target, random_layouts: 0, seed: 0 };
/// let placed = place(&method, options, &Candidates::Grid, None, UNHEARD)?;
///
/// assert_eq!(placed.sensors.len(), 3);
/// assert!(placed.sensors[2].expected_percent.u < placed.before_percent.u);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn place(
    method: &PosteriorMethod,
    options: PlacementOptions,
    candidates: &Candidates,
    given: Option<&SensorSet>,
    progress: Progress,
) -> Result<SensorPlacement, RecoveryError> {
    let pde = method.pde();
    let grid = method.resolution();
    let noise = method.noise();
    let frame = Frame::of_problem(pde);
    let spots = candidates.spots(pde, grid)?;
    let given = match given {
        Some(set) => {
            let set = frame.sensors_to_ours(grid, set)?;
            UserContext::new(pde, &method.constants(), grid, &set.sensors, None)?.sensors
        }
        None => Vec::new(),
    };
    let options = for_present_fields(pde, options)?;
    let target = Target(options.target);
    let mut placement = Placement::new(method.prior(), options.channel, &spots, noise, target, progress)?;
    let reading = |sensor: &Placed| Reading::new(sensor.channel, sensor.spot, sensor.value);
    let readings: Vec<Reading> = given.iter().map(reading).collect();
    placement.given(&readings, noise, progress)?;
    let present = pde.present();
    let known = |percent: PerChannel<f64>| PerChannel {
        a: Some(percent.a).filter(|_| present.a),
        u: Some(percent.u).filter(|_| present.u && method.prior().is_linear()),
    };
    let before_percent = known(placement.expected_percent());
    let random = RandomLayouts::draw(&placement, pde, &options, spots.len(), progress)?;
    let mut sensors = Vec::with_capacity(options.count);
    let mut chosen_spots: Vec<Spot> = Vec::with_capacity(options.count);
    while sensors.len() < options.count {
        let Some(chosen) = placement.place_next() else { break };
        let spot = spots[chosen.candidate];
        let [x, y] = frame.point_of_unit(spot.point(pde, grid));
        sensors.push(PlacedSensor { x, y, expected_percent: known(chosen.expected_percent) });
        chosen_spots.push(spot);
    }
    Ok(SensorPlacement {
        pde,
        resolution: grid,
        options,
        given: given.len(),
        candidates: spots.len(),
        before_percent,
        sensors,
        deviations: single_precision(placement.deviations()),
        random,
        marks: [
            given.iter().map(|sensor| sensor.spot.at).collect(),
            chosen_spots.iter().map(|spot| spot.at).collect(),
        ],
    })
}

/// What is asked for, without a field that the problem has not; asking for that one alone is refused.
fn for_present_fields(pde: Pde, mut options: PlacementOptions) -> Result<PlacementOptions, RecoveryError> {
    let present = pde.present();
    let wanted = options.target;
    options.target = wanted.zip(present).map(|(wanted, present)| wanted && present);
    let alone = |channel: &Channel| wanted[*channel] && options.target == PerChannel::both(false);
    let asked = |channel: &Channel| !present[*channel] && (options.channel == *channel || alone(channel));
    match Channel::BOTH.into_iter().find(asked) {
        Some(absent) => Err(RecoveryError::AbsentField(pde, absent.name())),
        None => Ok(options),
    }
}

/// One figure of the fields that are to be known well: 100 sqrt of the mean share of their variance that is left.
pub(crate) fn wanted_percent(percent: PerChannel<Option<f64>>, target: PerChannel<bool>) -> f64 {
    let wanted: Vec<f64> = percent
        .zip(target)
        .into_array()
        .into_iter()
        .filter_map(|(percent, wanted)| percent.filter(|_| wanted))
        .collect();
    (wanted.iter().map(|percent| percent * percent).sum::<f64>() / wanted.len().max(1) as f64).sqrt()
}
