//! Sensors: points of a fresh record, or someone's own file.

use scope::{
    RecoveryError, SensorFile, SensorSet,
    data::observation::{Place, Sensor, Spot},
    pde::{GridShape, Pde},
};
use wasm_bindgen::prelude::*;

use crate::{FreshRecord, record::channel_of};

/// The sensors of one problem.
#[wasm_bindgen]
pub struct Sensors {
    pub(crate) set: SensorSet,
    /// What their file is called, if they have one.
    file: Option<String>,
    /// What was read otherwise than one may expect.
    pub(crate) notes: Vec<String>,
}

#[wasm_bindgen]
impl Sensors {
    /// Readings of a record at points of its grid; `channels` has a 0 (a) or a 1 (u) for each.
    pub fn of_record(record: &FreshRecord, channels: &[u8], points: &[u32]) -> Result<Sensors, JsError> {
        let sensor = |(channel, point): (&u8, &u32)| {
            let channel = channel_of(usize::from(*channel));
            let point = *point as usize;
            if point >= record.grid.points() {
                return Err(JsError::new("a point outside the grid"));
            }
            let [i, j] = record.grid.place(point);
            Ok(Sensor { channel, place: Place::Index(i, j), value: record.value(channel, point) })
        };
        let sensors = channels.iter().zip(points).map(sensor).collect::<Result<_, _>>()?;
        let mut set = SensorSet::new("the page", sensors);
        set.region = record.region();
        Ok(Self { set, file: None, notes: Vec::new() })
    }

    /// The first problem of a file of sensors: a table, JSON or a numpy array. A fault is a sentence that names its
    /// line.
    pub fn of_file(name: &str, bytes: Vec<u8>) -> Result<Sensors, JsError> {
        let file = SensorFile::parse(name.to_owned(), bytes)?;
        let mut notes = file.notes().to_vec();
        if file.len() > 1 {
            notes.push(format!("{name} has {} problems: the first of them is shown", file.len()));
        }
        Ok(Self { set: file.set(0)?.into_owned(), file: Some(name.to_owned()), notes })
    }

    /// What was read otherwise than one may expect, a line each.
    pub fn notes(&self) -> String {
        self.notes.join("\n")
    }

    /// Channel, row, column and value of every sensor, one after the other. Rows and columns need not be whole.
    pub fn list(&self, pde: &str, size: usize) -> Result<Vec<f64>, JsError> {
        let pde: Pde = pde.parse()?;
        let row = |sensor: &Sensor| {
            let [i, j] = match sensor.place {
                Place::Index(i, j) => [i as f64, j as f64],
                Place::Point(x, y) => Spot::of_point(pde, GridShape::square(size), x, y).at,
            };
            [f64::from(sensor.channel as u8), i, j, sensor.value]
        };
        Ok(self.set.sensors.iter().flat_map(row).collect())
    }

    /// The sensors as a table that `scope recover` reads.
    pub fn csv(&self, pde: &str, size: usize) -> Result<String, JsError> {
        use std::fmt::Write;
        let pde: Pde = pde.parse()?;
        let mut text = "x,y,channel,value\n".to_owned();
        for Sensor { channel, place, value } in &self.set.sensors {
            let [x, y] = match *place {
                Place::Index(i, j) => Spot::pixel(i, j).point(pde, GridShape::square(size)),
                Place::Point(x, y) => [x, y],
            };
            let _ = writeln!(text, "{x:.9},{y:.9},{},{value}", channel.name());
        }
        Ok(text)
    }
}

impl Sensors {
    /// Why a method refuses them, in words that name the file and its line.
    pub(crate) fn refusal(&self, error: &RecoveryError) -> JsError {
        let sentence = error.describe(|sensor| self.set.label(sensor));
        match &self.file {
            Some(name) => JsError::new(&format!("{name}, {sentence}")),
            None => JsError::new(&sentence),
        }
    }
}
