//! Where a user's square lies, in the coordinates of the user.

use std::{fmt, str::FromStr};

use scope_pde::{Pde, descriptor::Extent};

use super::FrameError;

/// The sides of a square may differ by so much of their length: coordinates are often rounded.
const SQUARE_TOLERANCE: f64 = 1e-6;

/// A rectangle in a user's coordinates, as in `0,500,0,500` for 500 m along x and along y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// Where it begins, along x and along y.
    low: [f64; 2],
    /// Where it ends.
    high: [f64; 2],
    /// The unit of both, where a problem file states one.
    unit: &'static str,
    /// What the axes are called.
    names: [&'static str; 2],
}

impl Domain {
    /// The domain from `low` to `high` along x and along y.
    pub fn new(low: [f64; 2], high: [f64; 2]) -> Result<Self, FrameError> {
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            let low = low[axis];
            let high = high[axis];
            let side = high - low;
            if !side.is_finite() || side <= 0.0 {
                return Err(FrameError::Interval { axis: name, low, high });
            }
        }
        Ok(Self { low, high, unit: "", names: ["x", "y"] })
    }

    /// Where a problem of one's own lies, as its problem file states it; none for others, which lie wherever someone
    /// says.
    pub(super) fn of_problem(pde: Pde) -> Option<Self> {
        let facts = pde.descriptor();
        let [x, y] = facts.extent.bounds;
        let Extent { unit, names, .. } = facts.extent;
        facts.spec.map(|_| Self { low: [x[0], y[0]], high: [x[1], y[1]], unit, names })
    }

    /// Its lengths along x and along y.
    pub fn sides(&self) -> [f64; 2] {
        [self.high[0] - self.low[0], self.high[1] - self.low[1]]
    }

    /// Refuses a rectangle that is no square: the five problems are posed on one.
    pub(super) fn require_square(&self) -> Result<(), FrameError> {
        let sides = self.sides();
        if (sides[0] - sides[1]).abs() <= SQUARE_TOLERANCE * sides[0].max(sides[1]) {
            Ok(())
        } else {
            Err(FrameError::NotSquare { sides })
        }
    }

    /// Whether a point belongs to it.
    pub fn contains(&self, point: [f64; 2]) -> bool {
        (0..2).all(|axis| (self.low[axis]..=self.high[axis]).contains(&point[axis]))
    }

    /// A point of it as one of the unit square; its corners become (0, 0) and (1, 1) exactly.
    pub fn to_unit(&self, point: [f64; 2]) -> [f64; 2] {
        let sides = self.sides();
        [0, 1].map(|axis| (point[axis] - self.low[axis]) / sides[axis])
    }

    /// A point of the unit square as one of it.
    pub(crate) fn of_unit(&self, point: [f64; 2]) -> [f64; 2] {
        let sides = self.sides();
        [0, 1].map(|axis| self.low[axis] + sides[axis] * point[axis])
    }

    /// x0, x1, y0 and y1, as they are stated.
    pub fn bounds(&self) -> [f64; 4] {
        [self.low[0], self.high[0], self.low[1], self.high[1]]
    }
}

impl FromStr for Domain {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self, FrameError> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        match numbers.as_deref() {
            Ok([x0, x1, y0, y1]) => Self::new([*x0, *y0], [*x1, *y1]),
            _ => Err(FrameError::Domain(text.to_owned())),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [x0, x1, y0, y1] = self.bounds();
        let [x, y] = self.names;
        write!(f, "{x} from {x0} to {x1} and {y} from {y0} to {y1}")?;
        if self.unit.is_empty() { Ok(()) } else { write!(f, " {}", self.unit) }
    }
}
