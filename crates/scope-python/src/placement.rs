//! Where the next sensors say most.

use std::path::PathBuf;

use numpy::{PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use scope::{
    data::{Channel, DataError, PerChannel},
    eval::RecoveryMethod,
    pde::GridShape,
    placement::{Candidates, PlacementOptions, SensorPlacement},
    recovery::RecoveryError,
};

use crate::{
    arrays::field_of,
    error::{invalid, json, refused},
    method::{Kind, Method},
    options::stated_noise,
    sensors::{Sensors, channel_of},
    work::{stopped, work},
};

/// The most sensors that are placed at once.
const MOST: usize = 1000;

/// What is placed, and for what: a dictionary with every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PlaceOptions {
    count: usize,
    channel: Option<String>,
    target: Option<String>,
    noise: Option<String>,
    random_layouts: usize,
    seed: u64,
}

/// Sensors that were placed, and what they leave unknown.
#[pyclass(frozen, module = "fieldscope._native")]
pub(crate) struct Placement {
    placed: SensorPlacement,
}

#[pymethods]
impl Placement {
    /// What `summary.json` says of it.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        json(&self.placed.summary())
    }

    /// The standard deviation of a channel that remains.
    fn deviation<'py>(slf: &Bound<'py, Self>, channel: &str) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let placed = &slf.get().placed;
        field_of(slf, &placed.deviations[channel_of(channel)?], placed.resolution)
    }

    /// Writes the folder that the command writes.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| self.placed.write(folder)).map(drop).map_err(refused)
    }
}

/// Places sensors for a posterior. `allowed` is a mask of the grid, `points` are places in the problem's own
/// coordinates.
#[pyfunction]
pub(crate) fn place(
    py: Python<'_>,
    method: PyRef<'_, Method>,
    options: PlaceOptions,
    given: Option<PyRef<'_, Sensors>>,
    allowed: Option<PyReadonlyArray2<'_, bool>>,
    points: Option<PyReadonlyArray2<'_, f64>>,
) -> PyResult<Placement> {
    let Kind::Posterior(posterior) = &method.kind else {
        return Err(invalid(
            "sensors are placed for a posterior: take fieldscope.exact or fieldscope.linear",
        ));
    };
    let candidates = candidates(posterior.pde(), allowed, points)?;
    let noise = stated_noise(options.noise.as_deref())?;
    let constants = posterior.constants();
    let noise = noise.map(|noise| noise.physical(&constants)).unwrap_or_default();
    let posterior = (**posterior).clone().with_noise(noise);
    let is_linear = posterior.prior().is_linear();
    let options = options.checked(is_linear, posterior.pde().present().u)?;
    let given = given.as_deref().map(|sensors| sensors.set(0)).transpose()?;
    let given = given.as_deref();
    work(py, None, |watch| {
        let placed = scope::placement::place(&posterior, options, &candidates, given, &|_| watch.go_on());
        let placed = placed.map_err(|error| match (error, given) {
            (RecoveryError::Data(DataError::Interrupted), _) => stopped(),
            (error @ RecoveryError::Sensors(_), Some(set)) => {
                invalid(error.describe(|sensor| set.label(sensor)))
            }
            (error, _) => refused(error),
        })?;
        Ok(Placement { placed })
    })
}

impl PlaceOptions {
    /// The library's own, with the command's defaults.
    fn checked(&self, is_linear: bool, has_u: bool) -> PyResult<PlacementOptions> {
        if !(1..=MOST).contains(&self.count) {
            return Err(invalid(format!("count is {}: expected 1 to {MOST}", self.count)));
        }
        let usual = if is_linear && has_u { Channel::U } else { Channel::A };
        let wanted = self.target.as_deref().unwrap_or(if is_linear { "both" } else { "a" });
        if !["a", "u", "both"].contains(&wanted) {
            return Err(invalid(format!("target is \"{wanted}\": expected \"a\", \"u\" or \"both\"")));
        }
        Ok(PlacementOptions {
            count: self.count,
            channel: self.channel.as_deref().map(channel_of).transpose()?.unwrap_or(usual),
            target: PerChannel { a: wanted != "u", u: wanted != "a" },
            random_layouts: self.random_layouts,
            seed: self.seed,
        })
    }
}

/// Where sensors may be placed.
fn candidates(
    pde: scope::pde::Pde,
    allowed: Option<PyReadonlyArray2<'_, bool>>,
    points: Option<PyReadonlyArray2<'_, f64>>,
) -> PyResult<Candidates> {
    match (allowed, points) {
        (Some(mask), _) => {
            let mask = mask.as_array();
            let grid = GridShape { rows: mask.nrows(), columns: mask.ncols() };
            Candidates::of_mask(grid, mask.iter().copied().collect()).map_err(refused)
        }
        (None, Some(points)) => {
            let points = crate::arrays::points(&points)?;
            Candidates::of_points(pde, &points).map_err(refused)
        }
        (None, None) => Ok(Candidates::Grid),
    }
}
