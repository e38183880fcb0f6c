//! Where the points of a grid lie in the unit square, and which of them are known beforehand.

/// Where the S points along an axis lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridPoints {
    /// Nodes k / (S - 1): the first and the last lie on the edge.
    Nodes,
    /// Centres (k + 1/2) / S of S equal cells.
    CellCentres,
    /// Points k / S of an axis whose ends meet.
    Periodic,
}

impl GridPoints {
    /// A coordinate from 0 to 1, counted in points. The outer halves of the outermost cells count as their centres.
    pub fn index(self, x: f64, size: usize) -> f64 {
        let s = size as f64;
        match self {
            GridPoints::Nodes => x * (s - 1.0),
            GridPoints::CellCentres => (x * s - 0.5).clamp(0.0, s - 1.0),
            GridPoints::Periodic => x * s,
        }
    }

    /// The coordinate from 0 to 1 of a place that is counted in points: what [`Self::index`] makes it of.
    pub fn coordinate(self, index: f64, size: usize) -> f64 {
        let s = size as f64;
        match self {
            GridPoints::Nodes => index / (s - 1.0),
            GridPoints::CellCentres => (index + 0.5) / s,
            GridPoints::Periodic => index / s,
        }
    }

    /// Whether the ends of the axis meet.
    pub fn is_periodic(self) -> bool {
        self == GridPoints::Periodic
    }
}

/// Where both fields are known before anything is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownRegion {
    /// Nowhere.
    Nowhere,
    /// Inside a disk of each record's own, where both fields are zero.
    Disk,
}
