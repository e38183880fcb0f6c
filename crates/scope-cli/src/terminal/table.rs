//! Tables in plain text.

use std::fmt;

use super::escape::visible_in_one_line;

/// Columns as wide as their widest entry; the first is aligned left, the others right unless they hold
/// words.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|cell| cell.to_string()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| visible_in_one_line(&cell).into_owned()).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let columns = self.rows[0].len();
        let body = || self.rows.iter().skip(1);
        let width = |k: usize| self.rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
        let numeric = |k: usize| {
            let number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
            k > 0 && body().all(|row| number(&row[k]) && !row[k].contains(' '))
        };
        let layout: Vec<(usize, bool)> = (0..columns).map(|k| (width(k), numeric(k))).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&layout).map(|(cell, &(width, right))| {
                if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_align_right_and_words_left() {
        let mut table = Table::new(&["name", "n", "what"]);
        table.row(["x".into(), "5".into(), "first".into()]);
        table.row(["long name".into(), "1,200".into(), "2nd one".into()]);
        let expected = "name           n  what\nx              5  first\nlong name  1,200  2nd one\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_cell_cannot_leave_its_column() {
        let mut table = Table::new(&["name", "n"]);
        table.row(["a\u{1b}[2Jb\nc".into(), "5".into()]);
        assert_eq!(table.to_string(), "name               n\na\\u{1b}[2Jb\\u{a}c  5\n");
    }
}
