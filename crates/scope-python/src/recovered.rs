//! What was recovered, as arrays and JSON.

use std::path::PathBuf;

use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use scope::recovery::{ProblemSummary, ResultFolder, Summary, Uncertainty};

use crate::{
    arrays::field_of,
    error::{invalid, json, refused},
    work::{stopped, work},
};

/// Both complete fields of one problem, and how far to trust them.
#[pyclass(frozen, module = "fieldscope._native")]
pub(crate) struct Recovered {
    recovered: scope::Recovered,
}

/// Where sensors are, which channel each measures (0 is a, 1 is u) and what it says.
type Readings<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<f64>>,
);

#[pymethods]
impl Recovered {
    /// What the problem is called.
    #[getter]
    fn name(&self) -> &str {
        &self.recovered.problem.name
    }

    /// The names of its arrays: those of the files of a result folder.
    fn arrays(&self) -> Vec<String> {
        self.recovered.arrays().into_iter().map(|(name, _)| name).collect()
    }

    /// An array by name. It shows the result's own memory.
    fn array<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let Recovered { recovered } = slf.get();
        let arrays = recovered.arrays();
        match arrays.iter().find(|(own, _)| own == name).map(|(_, fields)| &fields[..]) {
            Some([field]) => field_of(slf, field, recovered.method.resolution).map(Some),
            _ => Ok(None),
        }
    }

    /// Draws of a channel, \[n, rows, columns\].
    fn samples<'py>(&self, py: Python<'py>, channel: &str) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let grid = self.recovered.method.resolution;
        let channel = crate::sensors::channel_of(channel)?;
        let samples = self.recovered.samples.iter();
        let values: Vec<f32> = samples.flat_map(|fields| fields[channel].iter().copied()).collect();
        values.to_pyarray(py).reshape([self.recovered.samples.len(), grid.rows, grid.columns])
    }

    /// Where the points of the grid are along x and along y, in the coordinates of the sensors.
    fn coordinates<'py>(&self, py: Python<'py>) -> [Bound<'py, PyArray1<f64>>; 2] {
        self.recovered.method.coordinates().map(|axis| axis.to_pyarray(py))
    }

    /// What the axes are called, and the unit of coordinates where a problem file states one.
    fn axes(&self) -> ([&'static str; 2], &'static str) {
        let extent = self.recovered.method.pde.descriptor().extent;
        (extent.names, extent.unit)
    }

    /// The readings, in the coordinates and units that they came in.
    fn readings<'py>(&self, py: Python<'py>) -> Readings<'py> {
        let readings = self.recovered.readings();
        let numbers = |number: &dyn Fn(&scope::recovery::SensorReading) -> f64| {
            readings.iter().map(number).collect::<Vec<f64>>().to_pyarray(py)
        };
        let channels: Vec<u8> = readings.iter().map(|reading| reading.channel as u8).collect();
        (numbers(&|r| r.x), numbers(&|r| r.y), channels.to_pyarray(py), numbers(&|r| r.value))
    }

    /// What speaks against trusting it, in sentences.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.recovered.trust.warnings.iter().map(ToString::to_string).collect()
    }

    /// What the method itself has to say.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.recovered.remarks.iter().map(ToString::to_string).collect()
    }

    /// Why there are no error bands, if there are none.
    #[getter]
    fn without_bands(&self) -> Option<String> {
        match &self.recovered.uncertainty {
            Uncertainty::Unknown(reason) => Some(reason.to_string()),
            _ => None,
        }
    }

    /// What `summary.json` says of the problem.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        json(&ProblemSummary::from(&self.recovered))
    }

    /// What `summary.json` says of all of it, for this problem alone.
    fn whole_summary(&self, sensors: &str, notes: Vec<String>) -> PyResult<String> {
        let problems = vec![ProblemSummary::from(&self.recovered)];
        json(&Summary::new(&self.recovered.method, sensors, &notes, problems))
    }

    /// Whether the readings contradict the model.
    #[getter]
    fn is_contradicted(&self) -> bool {
        self.recovered.trust.is_contradicted()
    }

    /// A picture, as PNG.
    fn picture(&self, heading: &str) -> PyResult<Vec<u8>> {
        self.recovered.picture(heading).to_png().map_err(refused)
    }
}

impl Recovered {
    pub(crate) fn new(recovered: scope::Recovered) -> Self {
        Self { recovered }
    }
}

/// Writes the folder that the command writes, with pictures of the first problems.
#[pyfunction]
pub(crate) fn save(
    py: Python<'_>,
    recovered: Vec<PyRef<'_, Recovered>>,
    folder: PathBuf,
    sensors: &str,
    notes: Vec<String>,
    pictures: usize,
) -> PyResult<()> {
    let all: Vec<&scope::Recovered> = recovered.iter().map(|one| &one.recovered).collect();
    let Some(first) = all.first() else { return Err(invalid("there is nothing to save")) };
    work(py, None, |watch| {
        let mut results = ResultFolder::create(&folder, all.len()).map_err(refused)?;
        for (number, one) in all.iter().enumerate() {
            results.add(one).map_err(refused)?;
            if number < pictures {
                results.draw(one).map_err(refused)?;
            }
            if !watch.go_on() {
                return Err(stopped());
            }
        }
        results.finish(&first.method, sensors, &notes).map_err(refused).map(drop)
    })
}
