//! Tables, before they are written in some notation.

use super::choice::TableName;

/// A table with a heading, sections of rows and notes.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Which one it is.
    pub name: TableName,
    /// What it shows.
    pub title: String,
    /// The heads of its columns; the first names the rows.
    pub columns: Vec<String>,
    /// Rows under headings.
    pub sections: Vec<Section>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Whether a row of it was measured by a run.
    pub has_ours: bool,
}

/// Rows that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// An entry of words.
    Text(String),
    /// An entry that is a figure.
    Number(Number),
    /// Nothing was reported.
    Missing,
}

/// A figure with its decimals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The figure, not rounded.
    pub value: f64,
    /// How many decimals are shown.
    pub decimals: usize,
    /// The standard deviation over records.
    pub sd: Option<f64>,
    /// Its place within its group.
    pub mark: Mark,
}

/// The place of a figure within its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The figure has no mark, or no group.
    Plain,
    /// The figure is the least of its group.
    Best,
    /// The figure is the second least of its group.
    Second,
}

impl Table {
    /// Leaves out rows without a figure: the paper says nothing of other problems than its own.
    pub(super) fn drop_empty_rows(&mut self) {
        let has_figure = |row: &Vec<Cell>| row.iter().any(|cell| matches!(cell, Cell::Number(_)));
        self.sections.iter_mut().for_each(|section| section.rows.retain(has_figure));
    }

    /// Whether it has a row, the paper's or ours.
    pub(super) fn has_rows(&self) -> bool {
        self.sections.iter().any(|section| !section.rows.is_empty())
    }
}

impl Cell {
    /// An entry of words.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    /// A figure, if there is one.
    pub(super) fn number(value: Option<f64>, decimals: usize) -> Self {
        Self::with_sd(value, None, decimals)
    }

    /// A figure with a deviation, if there is one.
    pub(super) fn with_sd(value: Option<f64>, sd: Option<f64>, decimals: usize) -> Self {
        value.map_or(Cell::Missing, |value| Cell::Number(Number { value, decimals, sd, mark: Mark::Plain }))
    }
}

/// Marks the least and the second least figure of each column among some rows, by unrounded values. A column with a
/// single figure has no place to give.
pub(super) fn rank(rows: &mut [&mut Vec<Cell>]) {
    let columns = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    for column in 0..columns {
        let mut places: Vec<(f64, usize)> = (rows.iter().enumerate())
            .filter_map(|(row, cells)| match cells.get(column) {
                Some(Cell::Number(number)) => Some((number.value, row)),
                _ => None,
            })
            .collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        if places.len() < 2 {
            continue;
        }
        for ((_, row), mark) in places.into_iter().zip([Mark::Best, Mark::Second]) {
            if let Some(Cell::Number(number)) = rows[row].get_mut(column) {
                number.mark = mark;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_by_unrounded_values() {
        let mut rows: Vec<Vec<Cell>> = [[2.1704, 1.0], [2.1695, 5.0], [2.1701, f64::NAN]]
            .iter()
            .map(|row| {
                row.iter().map(|value| Cell::number(Some(*value).filter(|v| !v.is_nan()), 2)).collect()
            })
            .collect();
        rank(&mut rows.iter_mut().collect::<Vec<_>>());
        let marks = |column: usize| -> Vec<Option<Mark>> {
            let mark = |row: &Vec<Cell>| match &row[column] {
                Cell::Number(number) => Some(number.mark),
                _ => None,
            };
            rows.iter().map(mark).collect()
        };
        assert_eq!(marks(0), [Some(Mark::Plain), Some(Mark::Best), Some(Mark::Second)]);
        assert_eq!(marks(1), [Some(Mark::Best), Some(Mark::Second), None]);
    }
}
