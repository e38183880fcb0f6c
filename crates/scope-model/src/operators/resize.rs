//! Antialiased bicubic resizes, as fixed matrices along each axis.

use std::collections::BTreeMap;

use scope_engine::{Activation, AxisMap, EngineError, Tape, Var};
use scope_pde::GridShape;

/// What the activations of a CNO multiply negative numbers with.
pub const LEAKY_SLOPE: f64 = 0.01;

/// The resize from n to m points along an axis: with s = max(n / m, 1) and c_i = (n / m)(i + 1/2), point i is the mean
/// of points j, weighted by k((j - c_i + 1/2) / s), where k is Keys' cubic with a = -1/2.
pub fn bicubic_resize(n: usize, m: usize) -> AxisMap {
    let ratio = n as f64 / m as f64;
    let stretch = ratio.max(1.0);
    let weights = |i: usize| -> Vec<f64> {
        let centre = ratio * (i as f64 + 0.5);
        let first = (centre - 2.0 * stretch + 0.5).floor().max(0.0) as usize;
        let last = ((centre + 2.0 * stretch + 0.5).floor() as usize).min(n);
        let weight = |j: usize| cubic((j as f64 - centre + 0.5) / stretch);
        let inside = |j: usize| (first..last).contains(&j);
        let sum: f64 = (first..last).map(weight).sum();
        (0..n).map(|j| if inside(j) { weight(j) / sum } else { 0.0 }).collect()
    };
    let rows: Vec<Vec<f64>> = (0..m).map(weights).collect();
    AxisMap::new(m, n, |i, j| rows[i][j])
}

/// Keys' cubic with a = -1/2.
fn cubic(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        (1.5 * x - 2.5) * x * x + 1.0
    } else if x < 2.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        0.0
    }
}

/// The activations of a CNO, between grids of several sizes.
#[derive(Clone, Debug)]
pub(super) struct FilteredActivations {
    maps: BTreeMap<(usize, usize), AxisMap>,
}

impl FilteredActivations {
    /// Room for activations from and to grids with so many points along an axis.
    pub(super) fn new(pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut maps = BTreeMap::new();
        for (from, to) in pairs {
            for (n, m) in [(from, 2 * from), (2 * from, to)] {
                if n != m {
                    maps.entry((n, m)).or_insert_with(|| bicubic_resize(n, m));
                }
            }
        }
        Self { maps }
    }

    /// Resized to twice the grid, a leaky ReLU there, and resized to the grid that is wanted: what the ReLU makes
    /// beyond the grid's frequencies is filtered out.
    ///
    /// # Shapes
    /// v \[batch, n, m, c\], the result \[batch, to.rows, to.columns, c\].
    pub(super) fn apply(&self, tape: &Tape<'_>, v: &Var, to: GridShape) -> Result<Var, EngineError> {
        let fine = GridShape { rows: 2 * v.shape()[1], columns: 2 * v.shape()[2] };
        let v = self.resize(tape, v, fine)?;
        self.resize(tape, &tape.activate(&v, Activation::LeakyRelu(LEAKY_SLOPE))?, to)
    }

    /// Another grid, one of those that there is room for.
    pub(super) fn resize(&self, tape: &Tape<'_>, v: &Var, to: GridShape) -> Result<Var, EngineError> {
        let mut v = v.clone();
        for (axis, length) in [(1, to.rows), (2, to.columns)] {
            if let Some(map) = self.maps.get(&(v.shape()[axis], length)) {
                v = tape.map_axis(&v, axis, map)?;
            }
        }
        Ok(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cubic_interpolates_and_is_continuous() {
        assert_eq!([cubic(0.0), cubic(1.0), cubic(-1.0), cubic(2.0)], [1.0, 0.0, 0.0, 0.0]);
        assert!((cubic(0.5) - 0.5625).abs() < 1e-15 && (cubic(1.5) + 0.0625).abs() < 1e-15);
    }
}
