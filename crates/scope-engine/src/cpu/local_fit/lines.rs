//! Sensors in lines: those that share their place along axis 0, whether it is a line of pixels or lies between two.

use std::ops::Range;

use super::super::Real;
use crate::ops::{EDGE_WEIGHT, FitPoint, FitSizes, LocalFit};

/// The sensors of all fields, line after line.
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    /// Which lines each field has, from low to high.
    pub(super) of_field: Vec<Range<usize>>,
}

/// Sensors of one field at one place along axis 0.
pub(super) struct Line {
    pub(super) at: f64,
    /// The sensors of the line, from low to high along axis 1.
    pub(super) readings: Vec<Reading>,
}

/// A sensor of a line.
pub(super) struct Reading {
    /// The place of the sensor along axis 1.
    pub(super) at: f64,
    pub(super) mask: f64,
    /// Its value, times the mask.
    pub(super) value: f64,
}

impl Lines {
    /// The lines of a context \[2 fields, height, width\], with the edges that are known beside sensors.
    pub(super) fn of_context<R: Real>(sizes: FitSizes, fit: &LocalFit, context: &[R]) -> Self {
        let line = |channel: usize, line: usize| {
            &context[channel * sizes.pixels() + line * sizes.width..][..sizes.width]
        };
        let field = |field: usize| {
            let masks = &context[(2 * field + 1) * sizes.pixels()..][..sizes.pixels()];
            let edge = fit.edge(field).filter(|_| masks.iter().any(|mask| *mask != R::default()));
            let of = move |at: usize| {
                let pairs = line(2 * field, at).iter().zip(line(2 * field + 1, at)).enumerate();
                let readings = pairs.filter_map(|(column, (value, mask))| {
                    let known = edge.filter(|_| sizes.is_edge(at, column));
                    let (mask, value) =
                        known.map_or((mask.wide(), value.wide()), |value| (EDGE_WEIGHT, EDGE_WEIGHT * value));
                    (mask != 0.0).then_some(Reading { at: column as f64, mask, value })
                });
                Line { at: at as f64, readings: readings.collect() }
            };
            (0..sizes.height).map(of).filter(|line| !line.readings.is_empty()).collect()
        };
        Self::new((0..sizes.fields).map(field))
    }

    /// The lines of readings anywhere, in any order: the sums do not depend on it, unless several are at one place.
    pub(super) fn of_points(sizes: FitSizes, fit: &LocalFit, points: &[Vec<FitPoint>]) -> Self {
        let field = |(field, points): (usize, &Vec<FitPoint>)| {
            let mut points = points.clone();
            points.retain(|point| point.weight != 0.0);
            if let Some(value) = fit.edge(field).filter(|_| !points.is_empty()) {
                points.retain(|point| !sizes.on_edge_pixel(point.at));
                points.extend(sizes.edge_pixels().map(|at| FitPoint { at, value, weight: EDGE_WEIGHT }));
            }
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
        Self::new(points.iter().enumerate().map(field))
    }

    fn new(fields: impl Iterator<Item = Vec<Line>>) -> Self {
        let mut lines = Vec::new();
        let mut of_field = Vec::new();
        for field in fields {
            let first = lines.len();
            lines.extend(field);
            of_field.push(first..lines.len());
        }
        Self { lines, of_field }
    }
}
