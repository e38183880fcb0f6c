//! How tables of measurements are read where they do not speak for themselves.

use std::str::FromStr;

use scope_pde::Pde;

use super::{meaning::ColumnNames, rows::read_number};

/// How a table is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    /// Which columns hold what, where their names do not say so.
    pub columns: ColumnNames,
    /// What stands for a reading that is absent.
    pub missing: MissingMarks,
}

impl TableOptions {
    /// The same for tables of a problem, which may have names of its own for their columns.
    pub fn of_problem(self, pde: Pde) -> Self {
        Self { columns: self.columns.of_problem(pde), ..self }
    }

    /// Whether a table is to be read as it stands.
    pub(super) fn is_default(&self) -> bool {
        self.columns.is_empty() && self.missing.0.is_empty()
    }
}

/// What stands for a reading that is absent, as in `NA,-9999`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MissingMarks(Vec<String>);

impl MissingMarks {
    /// Whether a cell is such a mark: the same text but for capitals, or the same number.
    pub(super) fn contain(&self, cell: &str) -> bool {
        self.0.iter().any(|mark| {
            mark.eq_ignore_ascii_case(cell)
                || read_number(mark).zip(read_number(cell)).is_some_and(|(mark, cell)| mark == cell)
        })
    }
}

impl FromStr for MissingMarks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let marks: Vec<String> = text.split(',').map(|mark| mark.trim().to_owned()).collect();
        if marks.iter().any(String::is_empty) {
            return Err("expected what stands for an absent reading, as in NA or NA,-9999".to_owned());
        }
        Ok(Self(marks))
    }
}
