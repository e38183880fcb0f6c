//! Which column of a table means what.

use super::{
    error::Fault,
    meaning::{ColumnNames, Meaning},
};
use crate::PerChannel;

/// What coordinates are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coordinates {
    /// Points of the unit square.
    Points,
    /// Rows and columns of the grid.
    Pixels,
    /// Not said: decided by the numbers.
    Undecided,
}

/// Where the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// One value a row, with its channel.
    Long { channel: usize, value: usize },
    /// A column for a, for u or for both; a cell that is empty or NaN was not measured.
    Wide(PerChannel<Option<usize>>),
}

impl Values {
    /// The columns that are read.
    pub(super) fn columns(self) -> Vec<usize> {
        match self {
            Values::Long { channel, value } => vec![channel, value],
            Values::Wide(columns) => columns.into_iter().flatten().collect(),
        }
    }
}

/// The columns of a table, by their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) names: Vec<String>,
    pub(super) coordinates: Coordinates,
    pub(super) place: [usize; 2],
    pub(super) values: Values,
    pub(super) problem: Option<usize>,
    /// Columns that are not used.
    pub(super) unused: Vec<String>,
}

impl Columns {
    /// Reads a header; `stated` says what some of its columns mean.
    pub(super) fn of_header(cells: &[&str], stated: &ColumnNames) -> Result<Self, Fault> {
        let names: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
        let meanings = stated.meanings(cells)?;
        let find = |meaning: Meaning| meanings.iter().position(|found| *found == Some(meaning));
        let both = |first: usize, second: usize| Fault::TwoColumns {
            first: names[first].clone(),
            second: names[second].clone(),
        };
        if let Some((first, second)) = twice(&meanings) {
            return Err(both(first, second));
        }
        let (coordinates, place) = place_of(&names, &meanings, stated)?;
        let wide = PerChannel { a: find(Meaning::A), u: find(Meaning::U) };
        let values = match (find(Meaning::Channel), find(Meaning::Value), wide.a.or(wide.u)) {
            (Some(other), _, Some(column)) | (_, Some(other), Some(column)) => {
                return Err(both(other, column));
            }
            (Some(channel), Some(value), None) => Values::Long { channel, value },
            (None, None, Some(_)) => Values::Wide(wide),
            (None, Some(_), None) => {
                let expected = format!("channel beside value; or call the values {}", stated.values("or"));
                return Err(Fault::MissingColumn { missing: "the channel", expected });
            }
            (_, None, None) => {
                let expected = format!("channel and value; or the values under {}", stated.values("and"));
                return Err(Fault::MissingColumn { missing: "the values", expected });
            }
        };
        let problem = find(Meaning::Problem);
        let unused = unused(&names, &[&place[..], &values.columns(), problem.as_slice()].concat());
        Ok(Self { coordinates, place, values, problem, unused, names })
    }

    /// A table without a header: place, channel, value.
    pub(super) fn of_bare_rows(cells: &[&str]) -> Result<Self, Fault> {
        if cells.len() != 4 {
            return Err(Fault::NoHeader { columns: cells.len() });
        }
        let names = ["the first coordinate", "the second coordinate", "channel", "value"];
        Ok(Self {
            names: names.map(str::to_owned).to_vec(),
            coordinates: Coordinates::Undecided,
            place: [0, 1],
            values: Values::Long { channel: 2, value: 3 },
            problem: None,
            unused: Vec::new(),
        })
    }
}

/// The columns of the place, in a table whose columns may be called as is stated.
pub(super) fn place_of(
    names: &[String],
    meanings: &[Option<Meaning>],
    stated: &ColumnNames,
) -> Result<(Coordinates, [usize; 2]), Fault> {
    let find = |meaning: Meaning| meanings.iter().position(|found| *found == Some(meaning));
    let points = find(Meaning::X).zip(find(Meaning::Y));
    let pixels = find(Meaning::I).zip(find(Meaning::J));
    match (points, pixels) {
        (Some((x, _)), Some((i, _))) => {
            Err(Fault::TwoColumns { first: names[x].clone(), second: names[i].clone() })
        }
        (Some((x, y)), None) => Ok((Coordinates::Points, [x, y])),
        (None, Some((i, j))) => Ok((Coordinates::Pixels, [i, j])),
        (None, None) => Err(Fault::MissingColumn { missing: "the place", expected: stated.place() }),
    }
}

/// Two columns of one meaning.
pub(super) fn twice(meanings: &[Option<Meaning>]) -> Option<(usize, usize)> {
    let mut known = meanings.iter().enumerate().filter(|(_, meaning)| meaning.is_some());
    known.find_map(|(k, meaning)| {
        let again = (k + 1..meanings.len()).find(|again| meanings[*again] == *meaning)?;
        Some((k, again))
    })
}

/// What to call the columns that are not among the used ones.
fn unused(names: &[String], used: &[usize]) -> Vec<String> {
    let unused = names.iter().enumerate().filter(|(k, _)| !used.contains(k));
    let called = |(k, name): (usize, &String)| {
        if name.is_empty() {
            // pandas writes its index under no name.
            format!("the one without a name (number {})", k + 1)
        } else {
            name.clone()
        }
    };
    unused.map(called).collect()
}
