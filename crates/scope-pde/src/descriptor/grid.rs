//! Where the points of a grid lie in the unit square, and which of them are known beforehand.

use serde::{Deserialize, Serialize};

use crate::{channel::PerChannel, problem_spec::points_of_runs};

/// Where the S points along an axis lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GridPoints {
    /// Nodes k / (S - 1): the first and the last lie on the edge.
    Nodes,
    /// Centres (k + 1/2) / S of S equal cells.
    #[serde(rename = "cells")]
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KnownRegion {
    /// Nothing is known anywhere.
    Nowhere,
    /// Inside a disk of each record's own, where both fields are zero.
    Disk,
    /// At points of each record's own, where both fields have these values in physical units.
    PerRecord(PerChannel<f64>),
    /// At the same points of every record.
    Fixed(KnownPoints),
}

impl KnownRegion {
    /// What the fields are there, in physical units.
    pub fn values(&self) -> PerChannel<f64> {
        match self {
            KnownRegion::Nowhere | KnownRegion::Disk => PerChannel::both(0.0),
            KnownRegion::PerRecord(values) => *values,
            KnownRegion::Fixed(known) => known.values,
        }
    }
}

/// Points where both fields are always the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownPoints {
    /// Lengths of runs, row after row: points that are not known, points that are, and so on in turn.
    pub runs: &'static [u32],
    /// What the fields are there, in physical units.
    pub values: PerChannel<f64>,
}

impl KnownPoints {
    /// The points, row after row.
    pub fn points(&self) -> impl Iterator<Item = usize> + use<> {
        points_of_runs(self.runs)
    }

    /// Whether a point is one of them.
    pub fn contains(&self, point: usize) -> bool {
        let mut end = 0;
        let run = self.runs.iter().position(|run| {
            end += *run as usize;
            point < end
        });
        run.is_some_and(|run| run % 2 == 1)
    }
}
