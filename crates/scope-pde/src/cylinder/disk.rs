//! The obstacle.

use rand::RngExt;

use crate::{grid_shape::GridShape, random::Stream};

/// A disk in pixel coordinates: pixel (i, j) belongs to it when (i - cx)^2 + (j - cy)^2 <= r^2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// The centre along axis 0, streamwise.
    pub cx: f64,
    /// The centre along axis 1, crosswise.
    pub cy: f64,
    /// The radius.
    pub r: f64,
}

impl Disk {
    /// Uniform in the published ranges: centre in [30, 60] x [30, 90], radius in [5, 20] on 128 pixels,
    /// scaled to other resolutions.
    pub(super) fn draw(stream: &mut Stream, size: usize) -> Self {
        let scale = size as f64 / 128.0;
        let mut uniform = |low: f64, high: f64| (low + (high - low) * stream.random::<f64>()) * scale;
        Self { cx: uniform(30.0, 60.0), cy: uniform(30.0, 90.0), r: uniform(5.0, 20.0) }
    }

    /// Whether a pixel belongs to the closed disk.
    pub fn contains(&self, i: usize, j: usize) -> bool {
        let x = i as f64 - self.cx;
        let y = j as f64 - self.cy;
        x * x + y * y <= self.r * self.r
    }

    /// The pixels of the closed disk, row after row; only its bounding box is searched.
    pub fn points<G: Into<GridShape>>(&self, shape: G) -> impl Iterator<Item = usize> + use<G> {
        let disk = *self;
        let shape: GridShape = shape.into();
        let reach = move |centre: f64, length: usize| {
            let bound = |x: f64| x.clamp(0.0, length as f64) as usize;
            bound((centre - disk.r).floor())..bound((centre + disk.r).floor() + 1.0)
        };
        let row = move |i: usize| {
            let columns = reach(disk.cy, shape.columns).filter(move |j| disk.contains(i, *j));
            columns.map(move |j| shape.point(i, j))
        };
        reach(disk.cx, shape.rows).flat_map(row)
    }

    /// The share of a unit cell centred at (x, y) that the disk covers, by a linear ramp across its rim.
    pub(super) fn coverage(&self, x: f64, y: f64) -> f64 {
        let outside = (x - self.cx).hypot(y - self.cy) - self.r;
        (0.5 - outside).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounding_box_loses_no_point() {
        for (cx, cy, r) in [(10.0, 15.5, 3.0), (12.3, 9.7, 4.5), (0.0, 31.0, 2.0), (3.0, 3.0, 3.0)] {
            let disk = Disk { cx, cy, r };
            let expected: Vec<usize> =
                (0..32 * 32).filter(|point| disk.contains(point / 32, point % 32)).collect();
            assert_eq!(disk.points(32).collect::<Vec<_>>(), expected);
        }
    }
}
