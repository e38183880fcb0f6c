//! The rows of a table in text, with or without a header: what readings and points are both read from.

use super::{error::Fault, separator::Separator};

/// A table whose first line is read.
pub(super) struct Table<'a> {
    pub(super) separator: Separator,
    /// The number of its first line that holds something.
    pub(super) number: usize,
    /// The cells of that line.
    pub(super) first: Vec<&'a str>,
    /// Whether that line is a row already.
    pub(super) bare: bool,
    /// The last comment before it.
    comment: Option<&'a str>,
    text: &'a str,
}

impl<'a> Table<'a> {
    /// Finds the separator and the first line of a table.
    pub(super) fn open(text: &'a str) -> Result<Self, Fault> {
        let mut lines = numbered(text).peekable();
        let stated = lines.peek().and_then(|(_, line)| Separator::stated(line));
        if stated.is_some() {
            lines.next();
        }
        let mut comment = None;
        while let Some((_, line)) = lines.next_if(|(_, line)| holds_nothing(line)) {
            comment = line.trim_start().strip_prefix('#').or(comment);
        }
        let Some((number, line)) = lines.next() else { return Err(Fault::NoRows) };
        let separator = stated.unwrap_or_else(|| Separator::of(line));
        let mut first = Vec::new();
        separator.split(line, &mut first);
        if first.last().is_some_and(|cell| cell.is_empty()) {
            first.pop();
        }
        if first.len() < 2 {
            return Err(Fault::OneColumn(shortened(line.trim())).on_line(number));
        }
        let bare = read_number(first[0]).is_some();
        Ok(Self { separator, number, first, bare, comment, text })
    }

    /// The names of the columns: those of the first line, or of a comment before bare rows, as numpy.savetxt writes it.
    pub(super) fn header(&self) -> Option<Vec<&'a str>> {
        if !self.bare {
            return Some(self.first.clone());
        }
        let comment = self.comment?;
        let mut cells = Vec::new();
        Separator::of(comment).split(comment, &mut cells);
        (cells.len() == self.first.len()).then_some(cells)
    }

    /// Calls `row` with the number and the cells of each row that has as many cells as there are columns.
    pub(super) fn each_row(
        &self,
        mut row: impl FnMut(usize, &[&'a str]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let begin = if self.bare { self.number } else { self.number + 1 };
        let expected = self.first.len();
        let mut cells = Vec::new();
        for (number, line) in numbered(self.text).skip(begin - 1).filter(|(_, line)| !holds_nothing(line)) {
            self.separator.split(line, &mut cells);
            // A separator at the end of a line makes one more cell, with nothing in it.
            if cells.len() == expected + 1 && cells.last().is_some_and(|cell| cell.is_empty()) {
                cells.pop();
            }
            if cells.len() != expected {
                let commas = self.separator == Separator::Character(',') && cells.len() > expected;
                let hint =
                    if commas { "; if commas are decimal signs, separate columns by semicolons" } else { "" };
                return Err(Fault::Cells { got: cells.len(), expected, hint }.on_line(number));
            }
            row(number, &cells).map_err(|fault| fault.on_line(number))?;
        }
        Ok(())
    }
}

/// The lines of a text with their numbers from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let newline = if text.contains('\n') { '\n' } else { '\r' };
    text.split(newline).enumerate().map(|(k, line)| (k + 1, line))
}

/// Whether a line is blank or a comment.
fn holds_nothing(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

/// A cell as it is shown in a message.
pub(super) fn shortened(cell: &str) -> String {
    let mut text: String = cell.chars().take(40).collect();
    if text.len() < cell.len() {
        text.push_str("...");
    }
    text
}

/// A number, finite or not. A comma inside a cell is a decimal sign; two signs make no number.
pub(super) fn read_number(cell: &str) -> Option<f64> {
    match cell.split_once(',') {
        Some((whole, decimals)) => format!("{whole}.{decimals}").parse().ok(),
        None => cell.parse().ok(),
    }
}

/// The finite number in a cell of the column `name`; `remedy` is for one that is not finite.
pub(super) fn finite_number(cell: &str, name: &str, remedy: &'static str) -> Result<f64, Fault> {
    let column = || name.to_owned();
    match read_number(cell) {
        Some(value) if value.is_finite() => Ok(value),
        Some(value) => Err(Fault::NotFinite { column: column(), value, remedy }),
        None if cell.is_empty() => Err(Fault::Missing { column: column() }),
        None => {
            let units = cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let hint = if units { "; leave units and thousands separators out" } else { "" };
            Err(Fault::NotANumber { column: column(), text: shortened(cell), hint })
        }
    }
}

/// Whether a number can be a row or a column of a grid.
pub(super) fn is_index(value: f64) -> bool {
    value >= 0.0 && value.fract() == 0.0 && value <= f64::from(u32::MAX)
}
