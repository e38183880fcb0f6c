//! How many points a grid has along each axis.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The points of a grid along axis 0 and axis 1. Fields on it are \[rows, columns\], row after row. It prints as
/// `96 x 160`; in files a square is one number, and another rectangle the array \[rows, columns\].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GridShape {
    /// Points along axis 0, x.
    pub rows: usize,
    /// Points along axis 1, y.
    pub columns: usize,
}

impl GridShape {
    /// A grid with as many points along both axes.
    pub const fn square(size: usize) -> Self {
        Self { rows: size, columns: size }
    }

    /// The points of the whole grid.
    pub const fn points(self) -> usize {
        self.rows * self.columns
    }

    /// Points along axis 0 and along axis 1.
    pub const fn lengths(self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// The place of a point among all of them, row after row.
    pub const fn point(self, row: usize, column: usize) -> usize {
        row * self.columns + column
    }

    /// The row and the column of a point.
    pub const fn place(self, point: usize) -> [usize; 2] {
        [point / self.columns, point % self.columns]
    }

    /// The points along each axis where both have as many.
    pub const fn side(self) -> Option<usize> {
        if self.rows == self.columns { Some(self.rows) } else { None }
    }

    /// The side of the square that has as many points: what distances counted in points are compared with.
    pub fn mean_side(self) -> f64 {
        (self.points() as f64).sqrt()
    }

    /// Whether both axes have a multiple of so many points.
    pub const fn is_multiple_of(self, factor: usize) -> bool {
        self.rows.is_multiple_of(factor) && self.columns.is_multiple_of(factor)
    }

    /// The grid of every `factor`-th point, or of patches of so many points a side.
    pub const fn divided(self, factor: usize) -> Self {
        Self { rows: self.rows / factor, columns: self.columns / factor }
    }
}

impl From<usize> for GridShape {
    fn from(size: usize) -> Self {
        Self::square(size)
    }
}

impl From<[usize; 2]> for GridShape {
    fn from([rows, columns]: [usize; 2]) -> Self {
        Self { rows, columns }
    }
}

impl fmt::Display for GridShape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&format!("{} x {}", self.rows, self.columns))
    }
}

/// A shape as files have it.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected the points along an axis, or [rows, columns]")]
enum Stated {
    Square(usize),
    Rectangle([usize; 2]),
}

impl Serialize for GridShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.side().map_or(Stated::Rectangle(self.lengths()), Stated::Square).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GridShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Stated::deserialize(deserializer)? {
            Stated::Square(size) => size.into(),
            Stated::Rectangle(lengths) => lengths.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_counted_row_after_row() {
        let shape = GridShape { rows: 3, columns: 5 };
        assert_eq!((shape.points(), shape.point(2, 4), shape.place(7)), (15, 14, [1, 2]));
        assert_eq!((shape.to_string(), shape.side()), ("3 x 5".to_owned(), None));
        for size in [1, 32, 127, 4096] {
            assert_eq!(GridShape::square(size).mean_side(), size as f64, "exactly");
        }
    }

    #[test]
    fn files_have_a_number_for_a_square() {
        for (shape, text) in
            [(GridShape::square(128), "128"), (GridShape { rows: 96, columns: 160 }, "[96,160]")]
        {
            assert_eq!(serde_json::to_string(&shape).unwrap(), text);
            assert_eq!(serde_json::from_str::<GridShape>(text).unwrap(), shape);
        }
        for wrong in ["-1", "\"128\"", "[96]", "[96,160,2]", "{}"] {
            assert!(serde_json::from_str::<GridShape>(wrong).is_err(), "{wrong}");
        }
    }
}
