//! Tables in text: one row a measurement, with or without a header, separated by commas, semicolons, tabs or
//! spaces. Lines that are blank or begin with # are passed over. A first line such as `sep=;` states the separator.

use std::collections::HashMap;

use super::{
    columns::{Columns, Coordinates, Values},
    error::Fault,
    separator::Separator,
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

/// The memory of a sensor and of a problem while a table is read, room to grow included.
const SENSOR_MEMORY: u64 = 112;
const PROBLEM_MEMORY: u64 = 700;

/// Reads a table: its problems in the order of their first rows, and notes.
pub(super) fn parse(text: &str) -> Result<(Vec<SensorSet>, Vec<String>), Fault> {
    let newline = if text.contains('\n') { '\n' } else { '\r' };
    let mut lines = text.split(newline).enumerate().map(|(k, line)| (k + 1, line)).peekable();
    let stated = lines.peek().and_then(|(_, line)| Separator::stated(line));
    if stated.is_some() {
        lines.next();
    }
    let mut comment = None;
    while let Some((_, line)) = lines.next_if(|(_, line)| holds_nothing(line)) {
        comment = line.trim_start().strip_prefix('#').or(comment);
    }
    let Some(&(number, first)) = lines.peek() else { return Err(Fault::NoRows) };
    let separator = stated.unwrap_or_else(|| Separator::of(first));
    let mut cells = Vec::new();
    separator.split(first, &mut cells);
    if cells.last().is_some_and(|cell| cell.is_empty()) {
        cells.pop();
    }
    if cells.len() < 2 {
        return Err(Fault::OneColumn(shortened(first.trim())).on_line(number));
    }
    let bare = read_number(cells[0]).is_some();
    if !bare {
        lines.next();
    }
    let columns = if bare {
        // numpy.savetxt puts its header into a comment.
        comment
            .and_then(|comment| header_in(comment, cells.len()))
            .map_or_else(|| Columns::of_bare_rows(&cells), Ok)
    } else {
        Columns::of_header(&cells)
    };
    let columns = columns.map_err(|fault| fault.on_line(number))?;
    let mut reader = Reader::new(columns, separator, Budget::of_file(text.len() as u64));
    for (number, line) in lines.filter(|(_, line)| !holds_nothing(line)) {
        separator.split(line, &mut cells);
        reader.row(number, &cells).map_err(|fault| fault.on_line(number))?;
    }
    reader.finish()
}

/// Whether a line is blank or a comment.
fn holds_nothing(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// A comment that is a header for as many columns.
fn header_in(comment: &str, columns: usize) -> Option<Columns> {
    let mut cells = Vec::new();
    Separator::of(comment).split(comment, &mut cells);
    (cells.len() == columns).then(|| Columns::of_header(&cells).ok()).flatten()
}

/// A cell as it is shown in a message.
fn shortened(cell: &str) -> String {
    let mut text: String = cell.chars().take(40).collect();
    if text.len() < cell.len() {
        text.push_str("...");
    }
    text
}

/// A number, finite or not. A comma inside a cell is a decimal sign; two signs make no number.
fn read_number(cell: &str) -> Option<f64> {
    match cell.split_once(',') {
        Some((whole, decimals)) => format!("{whole}.{decimals}").parse().ok(),
        None => cell.parse().ok(),
    }
}

/// Whether a cell under a or u holds a measurement. NaN is none, as in arrays: numpy.savetxt writes it for a field that
/// has no value where the other has one.
fn is_measured(cell: &str) -> bool {
    !cell.is_empty() && !read_number(cell).is_some_and(f64::is_nan)
}

/// Rows on their way to problems.
struct Reader {
    columns: Columns,
    separator: Separator,
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

impl Reader {
    fn new(columns: Columns, separator: Separator, budget: Budget) -> Self {
        Self { columns, separator, sets: Vec::new(), by_name: HashMap::new(), last: 0, budget }
    }

    fn row(&mut self, line: usize, cells: &[&str]) -> Result<(), Fault> {
        let expected = self.columns.names.len();
        // A separator at the end of a line makes one more cell, with nothing in it.
        let cells = cells.strip_suffix(&[""]).filter(|cells| cells.len() == expected).unwrap_or(cells);
        if cells.len() != expected {
            let commas = self.separator == Separator::Character(',') && cells.len() > expected;
            let hint =
                if commas { "; if commas are decimal signs, separate columns by semicolons" } else { "" };
            return Err(Fault::Cells { got: cells.len(), expected, hint });
        }
        let [first, second] = self.columns.place;
        let place = [self.number(cells, first, REMOVE_ROW)?, self.number(cells, second, REMOVE_ROW)?];
        match self.columns.values {
            Values::Long { channel, value } => {
                let channel = channel_of(cells[channel])?;
                let value = self.measurement(cells, value, REMOVE_ROW)?;
                self.push(line, cells, place, channel, value)
            }
            Values::Wide(columns) => {
                for (channel, column) in columns.with_channels() {
                    if let Some(column) = column.filter(|column| is_measured(cells[*column])) {
                        let value = self.measurement(cells, column, LEAVE_EMPTY)?;
                        self.push(line, cells, place, channel, value)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// The measurement in a column.
    fn measurement(&self, cells: &[&str], column: usize, remedy: &'static str) -> Result<f64, Fault> {
        let value = self.number(cells, column, remedy)?;
        Fault::require_storable(value, || self.columns.names[column].clone())
    }

    /// The finite number in a column; `remedy` is for one that is not finite.
    fn number(&self, cells: &[&str], column: usize, remedy: &'static str) -> Result<f64, Fault> {
        let cell = cells[column];
        let name = || self.columns.names[column].clone();
        match read_number(cell) {
            Some(value) if value.is_finite() => Ok(value),
            Some(value) => Err(Fault::NotFinite { column: name(), value, remedy }),
            None if cell.is_empty() => Err(Fault::Missing { column: name() }),
            None => {
                let units = cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                let hint = if units { "; leave units and thousands separators out" } else { "" };
                Err(Fault::NotANumber { column: name(), text: shortened(cell), hint })
            }
        }
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
        if !self.columns.unused.is_empty() {
            notes.push(format!("columns that are not used: {}", self.columns.unused.join(", ")));
        }
        Ok((self.sets.into_iter().map(|rows| rows.into_set(pixels)).collect(), notes))
    }
}

/// Whether a number can be a row or a column of a grid.
fn is_index(value: f64) -> bool {
    value >= 0.0 && value.fract() == 0.0 && value <= f64::from(u32::MAX)
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
            disk: None,
            labels: Labels::Lines(self.lines),
        }
    }
}
