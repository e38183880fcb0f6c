//! What a recovery is asked for, as the package hands it over: a dictionary with every key.

use pyo3::prelude::*;
use scope::{
    NetworkOptions, PosteriorOptions, RecoveryError, SensorSet,
    data::{
        Constants, GridShape, PerChannel, RecordRegion,
        frame::{Domain, Frame, FrameError, StatedFrame, StatedNoise, StatedScale},
        observation::Mask,
    },
    pde::{Pde, cylinder::Disk, descriptor::KnownRegion},
    recovery::estimate_amplitude,
};

use crate::error::{invalid, refused};

/// On how many fresh records bands may be measured.
const CALIBRATION: std::ops::RangeInclusive<usize> = 19..=2000;

/// The most draws of a posterior at once.
const MOST_SAMPLES: usize = u16::MAX as usize;

/// What a recovery is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RecoverOptions {
    /// As the command takes it: "0.01", "5%", "0.01,1e-4".
    noise: Option<String>,
    domain: Option<[f64; 4]>,
    /// As the command takes it: "length=500,u=auto".
    scale: Option<String>,
    edge_value: Option<f64>,
    pub(crate) geometry: Option<[f64; 3]>,
    /// Where the fields are known without sensors, a row of booleans for each row of the grid.
    known: Option<Vec<Vec<bool>>>,
    drop_suspects: bool,
    calibrate: Option<usize>,
    unprojected: bool,
    deviations: bool,
    samples: usize,
    seed: u64,
}

impl RecoverOptions {
    /// The coordinates and units of sensors; an amplitude that is left open is estimated from those of the first
    /// problem.
    pub(crate) fn frame(&self, pde: Pde, constants: &Constants, first: &SensorSet) -> PyResult<Frame> {
        let domain = self.domain.map(|[x0, x1, y0, y1]| Domain::new([x0, y0], [x1, y1])).transpose();
        let scale: Option<Result<StatedScale, _>> = self.scale.as_deref().map(str::parse);
        let stated = StatedFrame {
            domain: domain.map_err(refused)?,
            scale: scale.transpose().map_err(refused)?,
            edge_value: self.edge_value,
            estimated: None,
        };
        if !stated.leaves_amplitude_open() {
            return stated.of_problem(pde).map_err(refused);
        }
        let noise = |frame: &Frame| self.noise_in(frame, constants).ok().flatten().unwrap_or_default();
        let amplitude = estimate_amplitude(&stated, pde, first, &noise);
        let amplitude = amplitude.map_err(|error: RecoveryError| match error {
            RecoveryError::Frame(error) => refused(error),
            other => invalid(other.describe(|sensor| first.label(sensor))),
        })?;
        let (ratio, deviation) = amplitude.map_or((1.0, 1.0), |found| (found.ratio, found.deviation));
        stated.with_amplitude(ratio, deviation).of_problem(pde).map_err(refused)
    }

    /// The noise that was stated, in the units of a frame.
    fn noise_in(&self, frame: &Frame, constants: &Constants) -> PyResult<Option<PerChannel<f64>>> {
        let stated = stated_noise(self.noise.as_deref())?;
        Ok(stated.map(|noise| noise.physical(&frame.constants(constants))))
    }

    /// What a network takes of it.
    pub(crate) fn of_network(&self, frame: Frame, constants: &Constants) -> PyResult<NetworkOptions> {
        if let Some(records) = self.calibrate.filter(|records| !CALIBRATION.contains(records)) {
            let least = CALIBRATION.start();
            let most = CALIBRATION.end();
            return Err(invalid(format!("calibrate is {records}: expected {least} to {most} fresh records")));
        }
        Ok(NetworkOptions {
            noise: self.noise_in(&frame, constants)?,
            calibration: self.calibrate,
            drop_suspects: self.drop_suspects,
            unprojected: self.unprojected,
            frame,
        })
    }

    /// What a posterior takes of it.
    pub(crate) fn of_posterior(&self, frame: Frame, constants: &Constants) -> PyResult<PosteriorOptions> {
        if self.samples > MOST_SAMPLES {
            return Err(invalid(format!("samples is {}: expected {MOST_SAMPLES} at most", self.samples)));
        }
        Ok(PosteriorOptions {
            noise: self.noise_in(&frame, constants)?,
            drop_suspects: self.drop_suspects,
            deviations: self.deviations,
            samples: self.samples,
            seed: self.seed,
            frame,
        })
    }

    /// Where the fields are known, for problems of a file that says nothing of it.
    pub(crate) fn region(&self) -> Option<RecordRegion> {
        let disk = self.geometry.map(|[cx, cy, r]| RecordRegion::Disk(Disk { cx, cy, r }));
        disk.or_else(|| self.known.as_deref().map(region_of_rows))
    }

    /// Refuses geometry and known points for a problem whose records have no such region.
    pub(crate) fn require_region_of(&self, pde: Pde) -> PyResult<()> {
        if self.geometry.is_some() && !pde.has_disk() {
            return Err(invalid(format!("{pde} has no geometry: leave geometry out")));
        }
        let per_record = matches!(pde.descriptor().known_region, KnownRegion::PerRecord(_));
        if self.known.is_some() && !per_record {
            return Err(invalid(format!("{pde} has no known region in each record: leave known out")));
        }
        Ok(())
    }

    /// Whether a domain was stated.
    pub(crate) fn has_domain(&self) -> bool {
        self.domain.is_some()
    }
}

/// A noise as the package hands it over.
pub(crate) fn stated_noise(noise: Option<&str>) -> PyResult<Option<StatedNoise>> {
    let read = |text: &str| {
        text.parse().map_err(|expected: FrameError| invalid(format!("noise is \"{text}\": {expected}")))
    };
    noise.map(read).transpose()
}

/// The region of rows that say where fields are known; the package hands over those of an array, which have equal
/// lengths.
fn region_of_rows(rows: &[Vec<bool>]) -> RecordRegion {
    let shape = GridShape { rows: rows.len(), columns: rows.first().map_or(0, Vec::len) };
    RecordRegion::Points(Mask::from_fn(shape, |i, j| rows[i].get(j) == Some(&true)))
}
