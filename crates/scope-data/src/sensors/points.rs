//! Points at which values are wanted: a table of coordinates, read as tables of sensors are.

use std::path::Path;

use super::{
    SensorFileError,
    columns::{Coordinates, place_of, twice},
    error::Fault,
    options::TableOptions,
    rows::{Table, finite_number, is_index},
};
use crate::{budget::Budget, observation::Place};

/// What to do about a coordinate that is not finite.
const REMEDY: &str = "remove the row of a point that is nowhere";

/// The memory of a point, room to grow included.
const POINT_MEMORY: u64 = 64;

/// A file of points.
#[derive(Clone, Debug, PartialEq)]
pub struct PointFile {
    /// What messages call it.
    pub name: String,
    /// The points, in the order of the file.
    pub points: Vec<Place>,
    /// The lines they stand on, from 1.
    pub lines: Vec<usize>,
}

impl PointFile {
    /// Reads a file.
    pub fn open(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self, SensorFileError> {
        let (name, bytes) = super::read(path.as_ref())?;
        Self::parse(name, &bytes, options)
    }

    /// Reads the bytes of a file that messages call `name`. Columns other than those of the place are passed over.
    pub fn parse(name: String, bytes: &[u8], options: &TableOptions) -> Result<Self, SensorFileError> {
        let (points, lines) = super::text_of(bytes)
            .and_then(|text| points_of(text, options))
            .map_err(|fault| fault.of(&name))?;
        Ok(Self { name, points, lines })
    }
}

fn points_of(text: &str, options: &TableOptions) -> Result<(Vec<Place>, Vec<usize>), Fault> {
    let table = Table::open(text)?;
    let (names, coordinates, place) = match table.header() {
        Some(header) => {
            let names: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
            let meanings =
                options.columns.place_meanings(&header).map_err(|fault| fault.on_line(table.number))?;
            if let Some((first, second)) = twice(&meanings) {
                let fault = Fault::TwoColumns { first: names[first].clone(), second: names[second].clone() };
                return Err(fault.on_line(table.number));
            }
            let (coordinates, place) =
                place_of(&names, &meanings, &options.columns).map_err(|fault| fault.on_line(table.number))?;
            (names, coordinates, place)
        }
        None if table.first.len() == 2 => (vec!["x".to_owned(), "y".to_owned()], Coordinates::Points, [0, 1]),
        None => {
            return Err(Fault::NoHeader { columns: table.first.len() }.on_line(table.number));
        }
    };
    let mut budget = Budget::of_file(text.len() as u64);
    let mut points = Vec::new();
    let mut lines = Vec::new();
    table.each_row(|line, cells| {
        budget.spend(POINT_MEMORY)?;
        let [first, second] = place;
        let at = [
            finite_number(cells[first], &names[first], REMEDY)?,
            finite_number(cells[second], &names[second], REMEDY)?,
        ];
        if coordinates == Coordinates::Pixels {
            let wrong = place.into_iter().zip(at).find(|(_, value)| !is_index(*value));
            if let Some((column, value)) = wrong {
                return Err(Fault::NotAnIndex { column: names[column].clone(), value });
            }
            points.push(Place::Index(at[0] as usize, at[1] as usize));
        } else {
            points.push(Place::Point(at[0], at[1]));
        }
        lines.push(line);
        Ok(())
    })?;
    if points.is_empty() { Err(Fault::NoPoints) } else { Ok((points, lines)) }
}
