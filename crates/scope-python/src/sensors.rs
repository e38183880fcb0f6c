//! Measurements of one problem or of many.

use std::{borrow::Cow, path::PathBuf};

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use scope::{
    SensorFile, SensorSet,
    data::{
        Channel,
        observation::{Place, Sensor},
        sensors::TableOptions,
    },
};

use crate::{
    arrays::{numbers, points},
    error::{invalid, refused},
    method::Method,
};

/// What measurements that come from no file are called.
const ARRAYS: &str = "arrays";

/// Measurements, checked as far as they can be without knowing the grid.
#[pyclass(frozen, module = "fieldscope._native")]
pub(crate) struct Sensors {
    source: Source,
}

enum Source {
    File(SensorFile),
    Arrays(Vec<SensorSet>),
}

/// The readings of one channel: its name, points \[n, 2\] and values \[n\], and which of these were not measured.
type Readings<'py> = (String, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, Vec<usize>);

#[pymethods]
impl Sensors {
    /// Reads a file for a method, whose problem may have names of its own for columns; `columns` and `missing` as the
    /// command takes them.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        columns: Option<&str>,
        missing: Option<&str>,
        method: PyRef<'_, Method>,
    ) -> PyResult<Self> {
        let options = table_options(columns, missing)?.of_problem(method.pde());
        let file = py.detach(|| SensorFile::open_with(path, &options)).map_err(refused)?;
        Ok(Self { source: Source::File(file) })
    }

    /// Reads a table at hand, which messages call `name`.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        name: String,
        bytes: Vec<u8>,
        columns: Option<&str>,
        missing: Option<&str>,
        method: PyRef<'_, Method>,
    ) -> PyResult<Self> {
        let options = table_options(columns, missing)?.of_problem(method.pde());
        let file = py.detach(|| SensorFile::parse_with(name, bytes, &options)).map_err(refused)?;
        Ok(Self { source: Source::File(file) })
    }

    /// One problem for each list of readings. Those that were not measured are left out, and messages count them still.
    #[staticmethod]
    fn of_arrays(problems: Vec<Vec<Readings<'_>>>) -> PyResult<Self> {
        let set = |(index, readings): (usize, &Vec<Readings<'_>>)| {
            let mut sensors = Vec::new();
            let mut left_out = Vec::new();
            for (channel, at, values, unmeasured) in readings {
                let channel = channel_of(channel)?;
                left_out.extend(unmeasured.iter().map(|number| sensors.len() + number));
                let places = points(at)?.into_iter().map(|[x, y]| Place::Point(x, y));
                let measured = places.zip(numbers(values));
                sensors.extend(measured.map(|(place, value)| Sensor { channel, place, value }));
            }
            let all = SensorSet::new((index + 1).to_string(), sensors);
            Ok(if left_out.is_empty() { all } else { all.without(&left_out) })
        };
        let sets: PyResult<Vec<SensorSet>> = problems.iter().enumerate().map(set).collect();
        Ok(Self { source: Source::Arrays(sets?) })
    }

    /// The measurements of one problem alone, under its name.
    fn one(&self, index: usize) -> PyResult<Self> {
        Ok(Self { source: Source::Arrays(vec![self.set(index)?.into_owned()]) })
    }

    fn __len__(&self) -> usize {
        match &self.source {
            Source::File(file) => file.len(),
            Source::Arrays(sets) => sets.len(),
        }
    }

    /// Where they come from.
    #[getter]
    pub(crate) fn name(&self) -> &str {
        match &self.source {
            Source::File(file) => file.name(),
            Source::Arrays(_) => ARRAYS,
        }
    }

    /// What was read otherwise than one may expect.
    #[getter]
    pub(crate) fn notes(&self) -> Vec<String> {
        match &self.source {
            Source::File(file) => file.notes().to_vec(),
            Source::Arrays(_) => Vec::new(),
        }
    }
}

impl Sensors {
    pub(crate) fn len(&self) -> usize {
        self.__len__()
    }

    /// The measurements of a problem, by its number from 0.
    pub(crate) fn set(&self, index: usize) -> PyResult<Cow<'_, SensorSet>> {
        match &self.source {
            _ if index >= self.len() => Err(invalid(format!("there is no problem {index}"))),
            Source::File(file) => file.set(index).map_err(refused),
            Source::Arrays(sets) => Ok(Cow::Borrowed(&sets[index])),
        }
    }

    /// Whether they come from a file, or a table that is read as one.
    pub(crate) fn are_a_file(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    /// The grid, where a file is made of whole grids.
    pub(crate) fn grid(&self) -> Option<scope::pde::GridShape> {
        match &self.source {
            Source::File(file) => file.resolution(),
            Source::Arrays(_) => None,
        }
    }

    /// How a sentence about a problem begins: with its file, and its name where there are several.
    pub(crate) fn place(&self, set: &SensorSet) -> String {
        match (&self.source, self.len()) {
            (Source::File(file), 1) => format!("{}, ", file.name()),
            (Source::File(file), _) => format!("{}, problem {}, ", file.name(), set.name),
            (Source::Arrays(_), 1) => String::new(),
            (Source::Arrays(_), _) => format!("problem {}, ", set.name),
        }
    }
}

fn table_options(columns: Option<&str>, missing: Option<&str>) -> PyResult<TableOptions> {
    Ok(TableOptions {
        columns: columns
            .map(str::parse)
            .transpose()
            .map_err(|error: String| invalid(error))?
            .unwrap_or_default(),
        missing: missing
            .map(str::parse)
            .transpose()
            .map_err(|error: String| invalid(error))?
            .unwrap_or_default(),
    })
}

/// The channel of a name.
pub(crate) fn channel_of(name: &str) -> PyResult<Channel> {
    let named = Channel::BOTH.into_iter().find(|channel| channel.name() == name);
    named.ok_or_else(|| invalid(format!("\"{name}\" is no channel: expected \"a\" or \"u\"")))
}
