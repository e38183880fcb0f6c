//! Measurements as JSON: a list of sensors, or problems with their names and disks.
//!
//! ```json
//! { "problems": [ { "name": "run 7", "geometry": [40, 60, 10],
//!                   "sensors": [ { "x": 0.25, "y": 0.5, "channel": "u", "value": 0.013 } ] } ] }
//! ```
//!
//! A geometry beside `problems` is that of every problem without one of its own. Of a single problem the inner object,
//! or its list of sensors alone, is enough.

use scope_pde::cylinder::Disk;
use serde::Deserialize;

use super::{
    error::Fault,
    set::{Labels, SensorSet},
};
use crate::{
    Channel,
    budget::Budget,
    observation::{Place, Sensor},
};

/// A file of one problem, or of several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    problems: Option<Vec<Problem>>,
    name: Option<String>,
    geometry: Option<[f64; 3]>,
    sensors: Option<Vec<Reading>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Problem {
    name: Option<String>,
    geometry: Option<[f64; 3]>,
    sensors: Vec<Reading>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    x: Option<f64>,
    y: Option<f64>,
    i: Option<usize>,
    j: Option<usize>,
    channel: ChannelName,
    value: f64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChannelName {
    A,
    U,
}

/// The memory of a sensor or a problem while a document is read, room to grow included: the shortest sensor has 38
/// bytes, and is allowed ten times as many.
const OBJECT_MEMORY: usize = 370;

/// Reads the problems of a document.
pub(super) fn parse(text: &str) -> Result<Vec<SensorSet>, Fault> {
    let objects = text.bytes().filter(|byte| *byte == b'{').count();
    Budget::of_file(text.len() as u64).spend_elements(objects, OBJECT_MEMORY)?;
    let problems = if text.trim_start().starts_with('[') {
        vec![Problem { name: None, geometry: None, sensors: read(text)? }]
    } else {
        problems_of(read(text)?)?
    };
    if problems.iter().all(|problem| problem.sensors.is_empty()) {
        return Err(Fault::NoRows);
    }
    let several = problems.len() > 1;
    let set = |(k, problem): (usize, Problem)| {
        let name = problem.name.clone().unwrap_or_else(|| (k + 1).to_string());
        let set = problem.into_set(name.clone());
        set.map_err(|fault| if several { fault.in_problem(name) } else { fault })
    };
    problems.into_iter().enumerate().map(set).collect()
}

fn problems_of(document: Document) -> Result<Vec<Problem>, Fault> {
    let Document { problems, name, geometry, sensors } = document;
    let refuse = |problem: &str, hint| Err(Fault::Json { problem: problem.to_owned(), hint });
    match (problems, sensors, &name) {
        (Some(_), None, Some(_)) => {
            refuse("\"name\" stands beside \"problems\"", ": give each problem a name of its own")
        }
        (Some(problems), None, None) => {
            Ok(problems.into_iter().map(|problem| problem.with_geometry(geometry)).collect())
        }
        (None, Some(sensors), _) => Ok(vec![Problem { name, geometry, sensors }]),
        _ => refuse("expected either \"sensors\" or \"problems\"", ""),
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        let problem = error.to_string();
        // The line is said first, as in every other message.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let problem = problem.strip_suffix(&place).unwrap_or(&problem).to_owned();
        let cut = problem.starts_with("EOF");
        let nan = problem.starts_with("expected value") || problem.starts_with("expected ident");
        let hint = match (cut, nan) {
            (true, _) => ": the file is cut short; write it again",
            (_, true) => "; JSON has no NaN or infinity: leave out sensors that gave no value",
            _ => "",
        };
        Fault::Json { problem, hint }.on_line(error.line())
    })
}

impl Problem {
    /// The problem, with a geometry where it has none of its own.
    fn with_geometry(mut self, geometry: Option<[f64; 3]>) -> Self {
        self.geometry = self.geometry.or(geometry);
        self
    }

    fn into_set(self, name: String) -> Result<SensorSet, Fault> {
        let sensors = self.sensors.iter().enumerate().map(|(k, reading)| {
            reading.sensor().map_err(|fault| Fault::Sensor { sensor: k + 1, fault: Box::new(fault) })
        });
        Ok(SensorSet {
            name,
            sensors: sensors.collect::<Result<_, _>>()?,
            region: self.geometry.map(|[cx, cy, r]| Disk { cx, cy, r }.into()),
            labels: Labels::Numbers,
        })
    }
}

impl Reading {
    fn sensor(&self) -> Result<Sensor, Fault> {
        let place = match (self.x, self.y, self.i, self.j) {
            (Some(x), Some(y), None, None) => Place::Point(x, y),
            (None, None, Some(i), Some(j)) => Place::Index(i, j),
            _ => return Err(Fault::Place),
        };
        let channel = match self.channel {
            ChannelName::A => Channel::A,
            ChannelName::U => Channel::U,
        };
        let value = Fault::require_storable(self.value, || "value".to_owned())?;
        Ok(Sensor { channel, place, value })
    }
}
