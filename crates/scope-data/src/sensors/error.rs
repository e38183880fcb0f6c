//! What can be wrong with a file of measurements, and what to do about it.

use std::io;

use thiserror::Error;

use crate::budget::OverBudget;

/// Why a file of measurements cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SensorFileError {
    /// The operating system refused.
    #[error("cannot read {file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A folder where a file should be.
    #[error("{0} is a folder: name a file of measurements, or - for standard input")]
    Folder(String),
    /// More than is held in memory.
    #[error("{file} has more than {limit} bytes: split it into several files")]
    TooLarge {
        /// The file.
        file: String,
        /// The most that is read.
        limit: u64,
    },
    /// A file of a kind that is known and not read.
    #[error("{file} is {what}, which is not read: {remedy}")]
    Foreign {
        /// The file.
        file: String,
        /// What the file is instead.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A fault in the file.
    #[error("{file}{fault}")]
    Content {
        /// The file.
        file: String,
        /// What is wrong, and where.
        fault: Fault,
    },
}

/// What is wrong inside a file.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A fault with its line, counted from 1.
    #[error(", line {line}{fault}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong there.
        fault: Box<Fault>,
    },
    /// A fault with its problem, in a file of several.
    #[error(", problem {name}{fault}")]
    Problem {
        /// What the file calls the problem.
        name: String,
        /// What is wrong there.
        fault: Box<Fault>,
    },
    /// Nothing at all.
    #[error(" is empty: expected a table with columns x, y, channel and value")]
    Empty,
    /// A header and nothing else.
    #[error(" has no measurements: expected a row for each sensor after the header")]
    NoRows,
    /// Bytes that are no text.
    #[error(": byte {at} is zero, so this is no text: expected CSV, JSON, .npy or .npz")]
    Binary {
        /// The position of the byte in the file.
        at: usize,
    },
    /// Text in another encoding.
    #[error(": byte {byte:#04x} is not UTF-8: save the file as UTF-8")]
    NotUtf8 {
        /// The first such byte.
        byte: u8,
    },
    /// A table of a single column.
    #[error(
        ": \"{0}\" is a single column: expected x, y, channel and value, separated by commas, semicolons, tabs or spaces"
    )]
    OneColumn(String),
    /// A header that leaves something out.
    #[error(": the header has no column for {missing}: expected {expected}")]
    MissingColumn {
        /// What cannot be found.
        missing: &'static str,
        /// How it would be called.
        expected: String,
    },
    /// A column that was stated and is not there.
    #[error(": no column is called \"{name}\": the header has {header}")]
    NoSuchColumn {
        /// What was stated.
        name: String,
        /// What there is.
        header: String,
    },
    /// Column names for a table that has none.
    #[error(": columns were named, but the table has no header: add a first line that names them")]
    NamesWithoutHeader,
    /// Options of tables for a file that is none.
    #[error(
        ": names of columns and marks of missing readings are for tables, and this is none: leave them out"
    )]
    NoTable,
    /// A table of points with a header and nothing else.
    #[error(" has no points: expected a row for each after the header")]
    NoPoints,
    /// A header that says something twice.
    #[error(
        ": the header has both \"{first}\" and \"{second}\": keep one of them, or state which one is meant"
    )]
    TwoColumns {
        /// The name of one column.
        first: String,
        /// The name of the other column.
        second: String,
    },
    /// A table whose columns have no names and cannot be guessed.
    #[error(
        ": {columns} columns without a header: add a first line that names them, as in x,y,channel,value"
    )]
    NoHeader {
        /// How many columns it has.
        columns: usize,
    },
    /// Coordinates that may be pixels or points.
    #[error(
        ": every coordinate is 0 or 1, which may mean pixels or points: add a first line, x,y,channel,value or i,j,channel,value"
    )]
    PixelsOrPoints,
    /// A row of another length.
    #[error(": {got} cells, expected {expected} as in the first line{hint}")]
    Cells {
        /// The number of cells in this row.
        got: usize,
        /// The number of cells in the first line.
        expected: usize,
        /// What may have happened.
        hint: &'static str,
    },
    /// A cell with nothing in it.
    #[error(": {column} is empty: give a number, or remove the row")]
    Missing {
        /// The column.
        column: String,
    },
    /// A cell that is no number.
    #[error(": {column} is \"{text}\", expected a number{hint}")]
    NotANumber {
        /// The column.
        column: String,
        /// The text of the cell.
        text: String,
        /// What may have happened.
        hint: &'static str,
    },
    /// A number that is NaN or infinite.
    #[error(": {column} is {value}: every number must be finite; {remedy}")]
    NotFinite {
        /// The column or element.
        column: String,
        /// The value that was read.
        value: f64,
        /// What to do.
        remedy: &'static str,
    },
    /// A measurement that single precision cannot hold.
    #[error(
        ": {column} is {value:e}: fields are stored in single precision, which ends at {:e}; are the units right?",
        f32::MAX
    )]
    TooLarge {
        /// The column or element.
        column: String,
        /// The value that was read.
        value: f64,
    },
    /// A pixel that is no whole number.
    #[error(
        ": {column} is {value}, expected a whole number from 0; for points of the unit square name the columns x and y"
    )]
    NotAnIndex {
        /// The column.
        column: String,
        /// The value that was read.
        value: f64,
    },
    /// A channel that there is not.
    #[error(": channel is \"{0}\", expected a (the input field) or u (the response)")]
    UnknownChannel(String),
    /// JSON that cannot be understood.
    #[error(": {problem}{hint}")]
    Json {
        /// The parser's reason.
        problem: String,
        /// What may have happened.
        hint: &'static str,
    },
    /// A fault with its sensor of a JSON file.
    #[error(", sensor {sensor}{fault}")]
    Sensor {
        /// Its number from 1, in its problem.
        sensor: usize,
        /// What is wrong with it.
        fault: Box<Fault>,
    },
    /// A sensor of a JSON file without a place, or with two.
    #[error(": expected either x and y, or i and j")]
    Place,
    /// A text that takes more memory than one of its length may.
    #[error(": {0}: split it into several files")]
    TooMuch(String),
    /// An array file that cannot be used.
    #[error(": {0}")]
    Array(String),
}

impl From<OverBudget> for Fault {
    fn from(over: OverBudget) -> Self {
        Self::TooMuch(over.to_string())
    }
}

impl SensorFileError {
    /// Whether a table's header does not say which column holds something.
    pub fn lacks_column(&self) -> bool {
        matches!(self, Self::Content { fault, .. } if fault.lacks_column())
    }
}

impl Fault {
    fn lacks_column(&self) -> bool {
        match self {
            Self::Line { fault, .. } => fault.lacks_column(),
            Self::MissingColumn { .. } => true,
            _ => false,
        }
    }

    /// Refuses a finite measurement that single precision cannot hold.
    pub(super) fn require_storable(value: f64, column: impl FnOnce() -> String) -> Result<f64, Self> {
        if value.abs() <= f64::from(f32::MAX) {
            Ok(value)
        } else {
            Err(Self::TooLarge { column: column(), value })
        }
    }

    /// The fault, on a line counted from 1.
    pub(super) fn on_line(self, line: usize) -> Self {
        Self::Line { line, fault: Box::new(self) }
    }

    /// The fault, in a problem among several.
    pub(super) fn in_problem(self, name: String) -> Self {
        Self::Problem { name, fault: Box::new(self) }
    }

    /// The error of a file with this fault.
    pub(super) fn of(self, file: &str) -> SensorFileError {
        SensorFileError::Content { file: file.to_owned(), fault: self }
    }
}
