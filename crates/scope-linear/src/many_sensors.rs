//! More sensors than modes: solved for in the space of the modes.
//!
//! Where no two sensors see one pixel, their covariance with noise is A A^T + R with A = H B \[n, r\] and R diagonal,
//! what modes leave out of each among it. Then (Woodbury)
//!
//! ```text
//! (A A^T + R)^-1 y = R^-1 (y - A z),    z = (1 + A^T R^-1 A)^-1 A^T R^-1 y
//! ```

use rayon::prelude::*;
use scope_exact::SensorSolver;
use scope_pde::linear::{
    cholesky::{Cholesky, dot},
    matrix::{View, ViewMut, add_product, mirror_lower},
};

/// A sensor is taken to be off by this share of its variance at least: less than that double precision cannot tell from
/// none here.
const LEAST_NOISE: f64 = 1e-10;

/// Rows of a product that are computed together.
const ROWS: usize = 64;

/// Sensors that see a pixel each.
pub(crate) struct ManySensors {
    /// \[n, r\]: A.
    rows: Vec<f64>,
    modes: usize,
    /// \[n\]: R^-1.
    precision: Vec<f64>,
    /// The Cholesky factor of 1 + A^T R^-1 A.
    factor: Cholesky,
}

impl ManySensors {
    /// The solver of rows A \[n, r\] and the diagonal of R; none where the factor breaks down.
    pub(crate) fn new(rows: Vec<f64>, modes: usize, noise: &[f64]) -> Option<Self> {
        let precision: Vec<f64> = rows
            .par_chunks_exact(modes)
            .zip(noise)
            .map(|(row, noise)| 1.0 / noise.max(LEAST_NOISE * (dot(row, row) + noise)))
            .collect();
        let weighted: Vec<f64> = (rows.par_chunks_exact(modes).zip(&precision))
            .flat_map_iter(|(row, precision)| row.iter().map(move |x| x * precision))
            .collect();
        let n = precision.len();
        let mut matrix = vec![0.0; modes * modes];
        matrix.par_chunks_mut(ROWS * modes).enumerate().for_each(|(block, out)| {
            let first = block * ROWS;
            let count = out.len() / modes;
            let left = View {
                data: &weighted[first..],
                rows: count,
                columns: n,
                row_stride: 1,
                column_stride: modes,
            };
            add_product(left, View::new(&rows, n, modes), ViewMut { data: out, row_stride: modes });
        });
        (0..modes).for_each(|i| matrix[i * modes + i] += 1.0);
        mirror_lower(&mut matrix, modes);
        let factor = Cholesky::new(matrix, modes).ok()?;
        Some(Self { rows, modes, precision, factor })
    }
}

impl SensorSolver for ManySensors {
    fn solve(&self, values: &mut [f64]) {
        let mut z = vec![0.0; self.modes];
        for ((row, value), precision) in self.rows.chunks_exact(self.modes).zip(&*values).zip(&self.precision)
        {
            let share = value * precision;
            z.iter_mut().zip(row).for_each(|(z, x)| *z += share * x);
        }
        self.factor.solve(&mut z);
        let rows = self.rows.par_chunks_exact(self.modes).zip(&self.precision);
        values.par_iter_mut().zip(rows).for_each(|(value, (row, precision))| {
            *value = precision * (*value - dot(row, &z));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out is what a factor of the whole covariance gives.
    #[test]
    fn many_sensors_are_solved_for_as_by_the_whole_matrix() {
        let n = 120;
        let modes = 9;
        let rows: Vec<f64> = (0..n * modes).map(|at| (at as f64 * 0.731).sin()).collect();
        let noise: Vec<f64> = (0..n).map(|k| 0.01 + 0.005 * (k as f64).cos()).collect();
        let row = |k: usize| &rows[k * modes..][..modes];
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            (0..n).for_each(|j| matrix[i * n + j] = dot(row(i), row(j)));
            matrix[i * n + i] += noise[i];
        }
        let values: Vec<f64> = (0..n).map(|k| (k as f64 * 1.3).cos()).collect();
        let mut expected = values.clone();
        Cholesky::new(matrix, n).unwrap().solve(&mut expected);
        let mut got = values;
        ManySensors::new(rows.clone(), modes, &noise).unwrap().solve(&mut got);
        let size = dot(&expected, &expected).sqrt();
        assert!(got.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-10 * size));
    }
}
