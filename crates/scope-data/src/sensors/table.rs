//! Tables in text: one row a measurement, with or without a header, separated by commas, semicolons, tabs or
//! spaces. Lines that are blank or begin with # are passed over. A first line such as `sep=;` states the separator.

use std::collections::HashMap;

use super::{
    columns::{Columns, Coordinates, Values},
    error::Fault,
    meaning::{ColumnNames, is_angle},
    options::{MissingMarks, TableOptions},
    rows::{Table, finite_number, is_index, read_number, shortened},
    set::{Labels, SensorSet},
};
use crate::{
    Channel,
    budget::Budget,
    observation::{Place, Sensor},
};

/// What to do about a number that is not finite.
const REMOVE_ROW: &str = "remove the row of a sensor that gave no value";
/// The same where the row may hold a value of the other field.
const LEAVE_EMPTY: &str = "leave the cell empty where nothing was measured";

/// What is said of longitudes and latitudes.
const ANGLES: &str = "longitudes and latitudes are read as coordinates of a plane, though a degree of longitude is shorter than one of \
                      latitude: project them first";

/// The memory of a sensor and of a problem while a table is read, room to grow included.
const SENSOR_MEMORY: u64 = 112;
const PROBLEM_MEMORY: u64 = 700;

/// Reads a table: its problems in the order of their first rows, and notes.
pub(super) fn parse(text: &str, options: &TableOptions) -> Result<(Vec<SensorSet>, Vec<String>), Fault> {
    let table = Table::open(text)?;
    let columns = columns_of(&table, options).map_err(|fault| fault.on_line(table.number))?;
    let budget = Budget::of_file(text.len() as u64);
    let notes = notes_of(&columns, &options.columns);
    let mut reader = Reader::new(columns, &options.missing, budget);
    table.each_row(|line, cells| reader.row(line, cells))?;
    let (sets, read) = reader.finish()?;
    Ok((sets, [notes, read].concat()))
}

/// What is worth knowing of the columns by their names alone.
fn notes_of(columns: &Columns, stated: &ColumnNames) -> Vec<String> {
    // A problem of one's own whose axes are angles has its records on just that grid: nothing is to be projected.
    let is_place = |name: &String| is_angle(name) && !stated.is_axis(name);
    let angles = columns.place.iter().any(|column| is_place(&columns.names[*column]));
    let angles = angles.then(|| ANGLES.to_owned());
    let read = columns.values.columns().into_iter().chain(columns.place);
    let units = read.filter_map(|column| stated.other_unit(&columns.names[column]));
    angles.into_iter().chain(units).collect()
}

fn columns_of(table: &Table, options: &TableOptions) -> Result<Columns, Fault> {
    let stated = &options.columns;
    match table.header() {
        Some(header) if !table.bare => Columns::of_header(&header, stated),
        // What a comment says before bare rows may be anything.
        Some(comment) if stated.is_empty() => {
            Columns::of_header(&comment, stated).or_else(|_| Columns::of_bare_rows(&table.first))
        }
        Some(comment) => Columns::of_header(&comment, stated),
        None if stated.is_empty() => Columns::of_bare_rows(&table.first),
        None => Err(Fault::NamesWithoutHeader),
    }
}

/// Whether a cell under a or u holds a measurement. NaN is none, as in arrays: numpy.savetxt writes it for a field that
/// has no value where the other has one.
fn is_measured(cell: &str) -> bool {
    !cell.is_empty() && !read_number(cell).is_some_and(f64::is_nan)
}

/// Rows on their way to problems.
struct Reader<'a> {
    columns: Columns,
    /// What stands for absent readings, and how many of them there were.
    marks: &'a MissingMarks,
    marked: usize,
    sets: Vec<Rows>,
    by_name: HashMap<String, usize>,
    /// The problem of the row before: rows of one problem mostly follow each other.
    last: usize,
    budget: Budget,
}

/// The measurements of a problem as they are read.
#[derive(Default)]
struct Rows {
    name: String,
    places: Vec<[f64; 2]>,
    values: Vec<(Channel, f64)>,
    lines: Vec<u32>,
}

impl<'a> Reader<'a> {
    fn new(columns: Columns, marks: &'a MissingMarks, budget: Budget) -> Self {
        Self { columns, marks, marked: 0, sets: Vec::new(), by_name: HashMap::new(), last: 0, budget }
    }

    fn row(&mut self, line: usize, cells: &[&str]) -> Result<(), Fault> {
        let [first, second] = self.columns.place;
        let place = [self.number(cells, first, REMOVE_ROW)?, self.number(cells, second, REMOVE_ROW)?];
        match self.columns.values {
            Values::Long { value, .. } if self.marks.contain(cells[value]) => self.marked += 1,
            Values::Long { channel, value } => {
                let channel = channel_of(cells[channel])?;
                let value = self.measurement(cells, value, REMOVE_ROW)?;
                self.push(line, cells, place, channel, value)?;
            }
            Values::Wide(columns) => {
                for (channel, column) in columns.with_channels() {
                    let Some(column) = column else { continue };
                    if self.marks.contain(cells[column]) {
                        self.marked += 1;
                    } else if is_measured(cells[column]) {
                        let value = self.measurement(cells, column, LEAVE_EMPTY)?;
                        self.push(line, cells, place, channel, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The measurement in a column.
    fn measurement(&self, cells: &[&str], column: usize, remedy: &'static str) -> Result<f64, Fault> {
        let value = self.number(cells, column, remedy)?;
        Fault::require_storable(value, || self.columns.names[column].clone())
    }

    /// The finite number in a column; `remedy` is for one that is not finite.
    fn number(&self, cells: &[&str], column: usize, remedy: &'static str) -> Result<f64, Fault> {
        finite_number(cells[column], &self.columns.names[column], remedy)
    }

    fn push(
        &mut self,
        line: usize,
        cells: &[&str],
        place: [f64; 2],
        channel: Channel,
        value: f64,
    ) -> Result<(), Fault> {
        if self.columns.coordinates == Coordinates::Pixels {
            self.require_pixel(place)?;
        }
        let name = self.columns.problem.map_or("1", |column| cells[column]);
        self.budget.spend(SENSOR_MEMORY)?;
        let rows = self.rows_of(name)?;
        rows.places.push(place);
        rows.values.push((channel, value));
        rows.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
        Ok(())
    }

    fn rows_of(&mut self, name: &str) -> Result<&mut Rows, Fault> {
        if self.sets.get(self.last).is_none_or(|rows| rows.name != name) {
            self.last = match self.by_name.get(name) {
                Some(index) => *index,
                None => {
                    self.budget.spend(PROBLEM_MEMORY + 2 * name.len() as u64)?;
                    self.by_name.insert(name.to_owned(), self.sets.len());
                    self.sets.push(Rows { name: name.to_owned(), ..Rows::default() });
                    self.sets.len() - 1
                }
            };
        }
        Ok(&mut self.sets[self.last])
    }

    fn require_pixel(&self, place: [f64; 2]) -> Result<(), Fault> {
        for (value, column) in place.into_iter().zip(self.columns.place) {
            if !is_index(value) {
                return Err(Fault::NotAnIndex { column: self.columns.names[column].clone(), value });
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(Vec<SensorSet>, Vec<String>), Fault> {
        if self.sets.is_empty() {
            return Err(Fault::NoRows);
        }
        let all = || self.sets.iter().flat_map(|rows| rows.places.iter().flatten());
        let (pixels, mut notes) = match self.columns.coordinates {
            Coordinates::Points => (false, Vec::new()),
            Coordinates::Pixels => (true, Vec::new()),
            Coordinates::Undecided if !all().all(|value| is_index(*value)) => (false, Vec::new()),
            Coordinates::Undecided if all().any(|value| *value > 1.0) => {
                (true, vec!["coordinates are whole numbers, so they are read as pixels (i, j)".to_owned()])
            }
            Coordinates::Undecided => return Err(Fault::PixelsOrPoints),
        };
        if self.marked > 0 {
            notes.push(format!("{} readings are marked as missing", self.marked));
        }
        if !self.columns.unused.is_empty() {
            notes.push(format!("columns that are not used: {}", self.columns.unused.join(", ")));
        }
        Ok((self.sets.into_iter().map(|rows| rows.into_set(pixels)).collect(), notes))
    }
}

fn channel_of(cell: &str) -> Result<Channel, Fault> {
    match cell {
        "a" | "A" => Ok(Channel::A),
        "u" | "U" => Ok(Channel::U),
        other => Err(Fault::UnknownChannel(shortened(other))),
    }
}

impl Rows {
    fn into_set(self, pixels: bool) -> SensorSet {
        let place = |[first, second]: [f64; 2]| {
            if pixels { Place::Index(first as usize, second as usize) } else { Place::Point(first, second) }
        };
        let sensors = self.places.into_iter().zip(self.values);
        let sensors = sensors.map(|(at, (channel, value))| Sensor { channel, place: place(at), value });
        SensorSet {
            name: self.name,
            sensors: sensors.collect(),
            region: None,
            labels: Labels::Lines(self.lines),
        }
    }
}
