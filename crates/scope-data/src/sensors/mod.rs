//! Measurements as people have them: tables, JSON, numpy arrays.
//!
//! What a file is, is told by its content and never by its name. A file holds one problem or many; every fault
//! names the line or the element and says what to do.

mod arrays;
mod columns;
mod error;
mod json;
mod meaning;
mod options;
mod points;
mod problem_columns;
mod rounding;
mod rows;
mod separator;
mod set;
mod table;

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read},
    path::Path,
};

pub use error::{Fault, SensorFileError};
pub use meaning::ColumnNames;
pub use options::{MissingMarks, TableOptions};
pub use points::PointFile;
pub use problem_columns::ProblemColumns;
pub use set::SensorSet;

use arrays::Stack;
use scope_pde::GridShape;

/// The longest file that is read: it is held in memory.
const MAX_BYTES: u64 = 1 << 30;
/// What standard input is called in messages.
const STANDARD_INPUT: &str = "standard input";

/// A file of measurements, checked as far as it can be without knowing the grid.
#[derive(Debug)]
pub struct SensorFile {
    name: String,
    content: Content,
    notes: Vec<String>,
}

#[derive(Debug)]
enum Content {
    Sets(Vec<SensorSet>),
    Stack(Box<Stack>),
}

impl SensorFile {
    /// Reads a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SensorFileError> {
        Self::open_with(path, &TableOptions::default())
    }

    /// Reads a file, if it is a table with these options.
    pub fn open_with(path: impl AsRef<Path>, options: &TableOptions) -> Result<Self, SensorFileError> {
        let (name, bytes) = read(path.as_ref())?;
        Self::parse_with(name, bytes, options)
    }

    /// Reads standard input to its end.
    pub fn standard_input(options: &TableOptions) -> Result<Self, SensorFileError> {
        let name = STANDARD_INPUT.to_owned();
        let bytes = read_some(io::stdin().lock()).map_err(|source| unreadable(&name, source))?;
        Self::parse_with(name, bytes, options)
    }

    /// Reads the bytes of a file; messages call it `name`.
    pub fn parse(name: String, bytes: Vec<u8>) -> Result<Self, SensorFileError> {
        Self::parse_with(name, bytes, &TableOptions::default())
    }

    /// Reads the bytes of a file, if it is a table with these options; messages call it `name`.
    pub fn parse_with(name: String, bytes: Vec<u8>, options: &TableOptions) -> Result<Self, SensorFileError> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(SensorFileError::TooLarge { file: name, limit: MAX_BYTES });
        }
        if let Some((what, remedy)) = foreign(&bytes) {
            return Err(SensorFileError::Foreign { file: name, what, remedy });
        }
        let is_array = bytes.starts_with(b"\x93NUMPY") || bytes.starts_with(arrays::ARCHIVE);
        if is_array && !options.is_default() {
            return Err(Fault::NoTable.of(&name));
        }
        let (content, notes) = if is_array {
            let stack = Stack::parse(bytes).map_err(|fault| fault.of(&name))?;
            (Content::Stack(Box::new(stack)), Vec::new())
        } else {
            let text = text_of(&bytes).map_err(|fault| fault.of(&name))?;
            let read = if !text.trim_start().starts_with(['{', '[']) {
                table::parse(text, options)
            } else if options.is_default() {
                json::parse(text).map(|sets| (sets, Vec::new()))
            } else {
                Err(Fault::NoTable)
            };
            let (sets, notes) = read.map_err(|fault| fault.of(&name))?;
            (Content::Sets(sets), notes)
        };
        Ok(Self { name, content, notes })
    }

    /// What messages call the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many problems it holds.
    #[allow(clippy::len_without_is_empty)] // A file without measurements is refused.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Sets(sets) => sets.len(),
            Content::Stack(stack) => stack.len(),
        }
    }

    /// The points of the grid along each axis, where the file is made of whole grids.
    pub fn resolution(&self) -> Option<GridShape> {
        match &self.content {
            Content::Sets(_) => None,
            Content::Stack(stack) => Some(stack.shape()),
        }
    }

    /// What was read otherwise than one may expect.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The measurements of a problem, by its number from 0.
    pub fn set(&self, index: usize) -> Result<Cow<'_, SensorSet>, SensorFileError> {
        match &self.content {
            Content::Sets(sets) => Ok(Cow::Borrowed(&sets[index])),
            Content::Stack(stack) => stack.set(index).map(Cow::Owned).map_err(|fault| fault.of(&self.name)),
        }
    }
}

/// The name and the bytes of a file.
fn read(path: &Path) -> Result<(String, Vec<u8>), SensorFileError> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(SensorFileError::Folder(name));
    }
    let file = File::open(path);
    let bytes = file.and_then(read_some).map_err(|source| unreadable(&name, source))?;
    Ok((name, bytes))
}

fn read_some(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(name: &str, source: io::Error) -> SensorFileError {
    SensorFileError::Io { file: name.to_owned(), source }
}

/// What a file is that we do not read, and what to do about it.
fn foreign(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    const KNOWN: [(&[u8], &str, &str); 8] = [
        (b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
        (b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
        (b"\x1f\x8b", "compressed", "unpack it first, or pipe it through gunzip"),
        (b"\x89HDF", "an HDF5 or MATLAB file", "write the measurements as CSV or npy"),
        (b"MATLAB", "a MATLAB file", "write the measurements as CSV or npy"),
        (b"PAR1", "a Parquet file", "write the measurements as CSV or npy"),
        (b"%PDF", "a PDF", "copy the table into a CSV file"),
        (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV"),
    ];
    let known = KNOWN.iter().find(|(magic, _, _)| bytes.starts_with(magic));
    known.map(|(_, what, remedy)| (*what, *remedy))
}

/// The text of a file, without its byte-order mark.
fn text_of(bytes: &[u8]) -> Result<&str, Fault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let line_at = |at: usize| 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(Fault::Binary { at }.on_line(line_at(at)));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Fault::NotUtf8 { byte: bytes[at] }.on_line(line_at(at))
    })?;
    if text.trim().is_empty() { Err(Fault::Empty) } else { Ok(text) }
}
