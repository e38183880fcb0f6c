//! Where sensors may be placed.

use std::path::Path;

use scope_data::{
    frame::Frame,
    npy::MappedArray,
    observation::{Mask, Place, Spot},
    read_bounded_text,
    sensors::{PointFile, TableOptions},
};
use scope_pde::{GridShape, Pde};

use crate::recovery::RecoveryError;

/// The longest table of places that is read.
const MOST_BYTES: u64 = 16 << 20;

/// The most places that are looked at: each takes about a millisecond.
const MOST_PLACES: usize = 100_000;

/// Where sensors may be placed.
#[derive(Clone, Debug, PartialEq)]
pub enum Candidates {
    /// Every pixel.
    Grid,
    /// Some pixels, \[rows, columns\].
    Pixels {
        /// The grid.
        grid: GridShape,
        /// Whether each may be taken.
        allowed: Vec<bool>,
    },
    /// Points of the unit square, whatever the problem's own coordinates are.
    Points(Vec<[f64; 2]>),
}

impl Candidates {
    /// Reads a table of points in the problem's own coordinates (.csv), with columns called as in tables of its
    /// sensors, or a mask \[rows, columns\] that is not zero where sensors may be (.npy).
    pub fn open(path: &Path, pde: Pde) -> Result<Self, RecoveryError> {
        let name = || path.display().to_string();
        let read = match path.extension().and_then(|ending| ending.to_str()) {
            Some("npy") => mask(&MappedArray::open(path)?),
            Some("csv") => {
                let text = read_bounded_text(path, MOST_BYTES)?;
                let table = TableOptions::default().of_problem(pde);
                points(&PointFile::parse(name(), text.as_bytes(), &table)?, &Frame::of_problem(pde))
            }
            _ => Err("expected a table of points (.csv) or a mask (.npy)".to_owned()),
        };
        read.map_err(|problem| RecoveryError::Candidates { file: name(), problem })
    }

    /// The pixels of a grid that a mask \[rows, columns\] allows.
    pub fn of_mask(grid: GridShape, allowed: Vec<bool>) -> Result<Self, RecoveryError> {
        allowed_pixels(grid, allowed).map_err(at_hand)
    }

    /// Points in the problem's own coordinates.
    pub fn of_points(pde: Pde, points: &[[f64; 2]]) -> Result<Self, RecoveryError> {
        let frame = Frame::of_problem(pde);
        if points.is_empty() || points.len() > MOST_PLACES {
            return Err(at_hand(format!("there are {} points: expected 1 to {MOST_PLACES}", points.len())));
        }
        let outside = |[x, y]: [f64; 2]| at_hand(format!("({x}, {y}) lies outside the {}", extent(&frame)));
        let inside = |point: &[f64; 2]| inside(&frame, *point).ok_or_else(|| outside(*point));
        Ok(Candidates::Points(points.iter().map(inside).collect::<Result<_, _>>()?))
    }

    /// Their places on a problem's grid, without those on points that are the same in every record: a sensor says
    /// nothing there, and may be on land.
    pub(super) fn spots(&self, pde: Pde, grid: impl Into<GridShape>) -> Result<Vec<Spot>, RecoveryError> {
        let grid = grid.into();
        let mut spots = self.stated_spots(pde, grid)?;
        let known = Mask::always_known(pde, grid);
        spots.retain(|spot| !known.contains(spot.nearest(grid)));
        if spots.is_empty() {
            return Err(at_hand(
                "all of them lie in the known region, where the fields are the same in every record: allow some outside of it"
                    .to_owned(),
            ));
        }
        Ok(spots)
    }

    fn stated_spots(&self, pde: Pde, grid: GridShape) -> Result<Vec<Spot>, RecoveryError> {
        let pixel = |point: usize| {
            let [i, j] = grid.place(point);
            Spot::pixel(i, j)
        };
        match self {
            Candidates::Grid => Ok((0..grid.points()).map(pixel).collect()),
            Candidates::Pixels { grid: own, .. } if *own != grid => {
                Err(RecoveryError::CandidateGrid { got: *own, expected: grid })
            }
            Candidates::Pixels { allowed, .. } => {
                Ok((0..grid.points()).filter(|point| allowed[*point]).map(pixel).collect())
            }
            Candidates::Points(points) => {
                Ok(points.iter().map(|[x, y]| Spot::of_point(pde, grid, *x, *y)).collect())
            }
        }
    }
}

/// What is wrong with places that come from no file.
fn at_hand(problem: String) -> RecoveryError {
    RecoveryError::Candidates { file: "places for sensors".to_owned(), problem }
}

fn mask(array: &MappedArray) -> Result<Candidates, String> {
    let shape = &array.header().shape;
    let [rows, columns] = shape[..] else {
        return Err(format!("the mask has the shape {shape:?}: expected the grid's, [rows, columns]"));
    };
    if rows.max(columns) > scope_pde::MAX_RESOLUTION {
        return Err(format!(
            "the mask has the shape {shape:?}: expected the grid's, [rows, columns], of {} at most",
            scope_pde::MAX_RESOLUTION
        ));
    }
    let grid = GridShape { rows, columns };
    allowed_pixels(grid, (0..grid.points()).map(|point| array.at(&grid.place(point)) != 0.0).collect())
}

/// Pixels that are allowed, if there are some and not too many.
fn allowed_pixels(grid: GridShape, allowed: Vec<bool>) -> Result<Candidates, String> {
    match allowed.iter().filter(|allowed| **allowed).count() {
        0 => Err("the mask allows no pixel".to_owned()),
        many if many > MOST_PLACES => {
            Err(format!("the mask allows {many} pixels: expected {MOST_PLACES} at most"))
        }
        _ => Ok(Candidates::Pixels { grid, allowed }),
    }
}

fn points(file: &PointFile, frame: &Frame) -> Result<Candidates, String> {
    if file.points.len() > MOST_PLACES {
        return Err(format!("there are more than {MOST_PLACES} points"));
    }
    let of = |(place, line): (&Place, &usize)| match *place {
        Place::Point(x, y) => inside(frame, [x, y])
            .ok_or_else(|| format!("line {line}: ({x}, {y}) lies outside the {}", extent(frame))),
        Place::Index(..) => {
            Err("rows and columns of the grid are given as a mask (.npy), and points by coordinates"
                .to_owned())
        }
    };
    let all: Result<Vec<[f64; 2]>, String> = file.points.iter().zip(&file.lines).map(of).collect();
    Ok(Candidates::Points(all?))
}

/// A point of the problem's coordinates as one of the unit square, if it lies inside.
fn inside(frame: &Frame, point: [f64; 2]) -> Option<[f64; 2]> {
    let unit = frame.domain().map_or(point, |domain| domain.to_unit(point));
    unit.iter().all(|x| (0.0..=1.0).contains(x)).then_some(unit)
}

/// Where points may lie, in words.
fn extent(frame: &Frame) -> String {
    frame.domain().map_or("unit square".to_owned(), |domain| format!("domain, {domain}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Candidates, String> {
        let file = PointFile::parse("places".to_owned(), text.as_bytes(), &TableOptions::default());
        points(&file.map_err(|error| error.to_string())?, &Frame::default())
    }

    #[test]
    fn no_place_is_one_where_every_record_is_known() {
        let text = r#"{"name": "coast", "fields": {"u": {"name": "temperature"}}, "grid": {"rows": 32, "columns": 32},
            "known": {"mask": [0, 64, 960], "value": 0}}"#;
        let pde: Pde = serde_json::from_str(text).unwrap();
        assert_eq!(Candidates::Grid.spots(pde, 32).unwrap().len(), 960);
        let both = Candidates::Points(vec![[0.0, 0.5], [0.5, 0.5]]);
        assert_eq!(both.spots(pde, 32).unwrap().len(), 1);
        let refusal = Candidates::Points(vec![[0.0, 0.5]]).spots(pde, 32).unwrap_err().to_string();
        assert!(refusal.contains("all of them lie in the known region"), "{refusal}");
    }

    #[test]
    fn points_are_read_and_faults_named_by_line() {
        let both = Candidates::Points(vec![[0.5, 0.25], [1.0, 0.0]]);
        assert_eq!(read("x,y\n0.5, 0.25\n\n1,0\n"), Ok(both.clone()));
        assert_eq!(read("name,y,x\nP1,0.25,0.5\nP2,0,1\n"), Ok(both), "columns may stand in any order");
        for (text, fault) in [
            ("x,y\n0.5,1.5\n", "line 2: (0.5, 1.5) lies outside the unit square"),
            ("x,y\n0.5\n", "line 2"),
            ("x,y\n0.5,nan\n", "line 2"),
            ("x,y\n", "no points"),
            ("i,j\n3,4\n", "given as a mask"),
        ] {
            let refusal = read(text).unwrap_err();
            assert!(refusal.contains(fault), "{refusal}");
        }
    }

    #[test]
    fn a_mask_is_for_its_own_grid() {
        let candidates = Candidates::Pixels { grid: 2.into(), allowed: vec![false, true, false, true] };
        let spots = candidates.spots(Pde::POISSON, 2).unwrap();
        assert_eq!(spots, [Spot::pixel(0, 1), Spot::pixel(1, 1)]);
        assert!(matches!(
            candidates.spots(Pde::POISSON, 4),
            Err(RecoveryError::CandidateGrid { got: GridShape { rows: 2, .. }, .. })
        ));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[-x,y0-9.e\n ]{0,60}") {
            if let Ok(Candidates::Points(points)) = read(&text) {
                prop_assert!(points.iter().flatten().all(|x| (0.0..=1.0).contains(x)));
            }
        }
    }
}
