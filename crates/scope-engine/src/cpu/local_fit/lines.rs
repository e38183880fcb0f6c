//! Sensors in lines: those that share their place along axis 0, whether it is a line of pixels or lies between two.

use std::ops::Range;

use super::super::Real;
use crate::ops::{FitPoint, FitSizes};

/// The sensors of all fields, line after line.
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    /// Which lines each field has, from low to high.
    pub(super) of_field: Vec<Range<usize>>,
}

/// Sensors of one field at one place along axis 0.
pub(super) struct Line {
    pub(super) at: f64,
    /// From low to high.
    pub(super) readings: Vec<Reading>,
}

/// A sensor of a line.
pub(super) struct Reading {
    /// Along axis 1.
    pub(super) at: f64,
    pub(super) mask: f64,
    /// Its value, times the mask.
    pub(super) value: f64,
}

impl Lines {
    /// Of a context \[2 fields, height, width\].
    pub(super) fn of_context<R: Real>(sizes: FitSizes, context: &[R]) -> Self {
        let line = |channel: usize, line: usize| {
            &context[channel * sizes.pixels() + line * sizes.width..][..sizes.width]
        };
        let field = |field: usize| {
            let of = move |at: usize| {
                let pairs = line(2 * field, at).iter().zip(line(2 * field + 1, at)).enumerate();
                let seen = pairs.filter(|(_, (_, mask))| **mask != R::default());
                let reading = |(at, (value, mask)): (usize, (&R, &R))| Reading {
                    at: at as f64,
                    mask: mask.wide(),
                    value: value.wide(),
                };
                Line { at: at as f64, readings: seen.map(reading).collect() }
            };
            (0..sizes.height).map(of).filter(|line| !line.readings.is_empty()).collect()
        };
        Self::new((0..sizes.fields).map(field))
    }

    /// Of readings anywhere, in any order: the sums do not depend on it, unless several are at one place.
    pub(super) fn of_points(points: &[Vec<FitPoint>]) -> Self {
        let field = |points: &Vec<FitPoint>| {
            let mut points = points.clone();
            points.retain(|point| point.weight != 0.0);
            points.sort_by(|x, y| x.at[0].total_cmp(&y.at[0]).then(x.at[1].total_cmp(&y.at[1])));
            let line = |line: &[FitPoint]| Line {
                at: line[0].at[0],
                readings: line
                    .iter()
                    .map(|point| Reading {
                        at: point.at[1],
                        mask: point.weight,
                        value: point.weight * point.value,
                    })
                    .collect(),
            };
            points.chunk_by(|x, y| x.at[0] == y.at[0]).map(line).collect()
        };
        Self::new(points.iter().map(field))
    }

    fn new(fields: impl Iterator<Item = Vec<Line>>) -> Self {
        let (mut lines, mut of_field) = (Vec::new(), Vec::new());
        for field in fields {
            let first = lines.len();
            lines.extend(field);
            of_field.push(first..lines.len());
        }
        Self { lines, of_field }
    }
}
