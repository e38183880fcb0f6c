//! What sensors say of a fit's modes and residuals.

use std::{collections::BTreeMap, ops::Range};

use rayon::prelude::*;
use scope_data::{Channel, Fields, PerChannel, observation::Stencil};
use scope_exact::{
    FieldPrior, ObservationModel, PosteriorError, Progress, SensorSolver, Stage, Stencils, in_parallel, tell,
};
use scope_pde::linear::{
    cholesky::{Cholesky, dot},
    matrix::{View, ViewMut, add_product, mirror_lower, multiply},
};

use crate::{
    many_sensors::ManySensors,
    prior::{LinearPrior, STRIP},
    product::mixed_dot,
    sensor_rows::SensorRows,
};

/// Rows of a covariance that are computed together.
const ROWS: usize = 64;

/// Candidates that are looked at together.
const CANDIDATES: usize = 1024;

impl ObservationModel for LinearPrior {
    fn mean_at(&self, channel: Channel, stencil: &Stencil) -> f64 {
        stencil.sum(|point| self.mean(self.pixel(channel, point)))
    }

    fn says_something(&self, _: Channel, _: &Stencil) -> bool {
        true
    }

    fn observe(&self, sensors: Stencils, latent: &[f64]) -> Vec<f64> {
        let (z, e) = latent.split_at(self.modes());
        SensorRows::new(self, sensors).observe(z, e)
    }

    fn sources(&self, sensors: Stencils, weights: &[f64]) -> Vec<f64> {
        let rows = SensorRows::new(self, sensors);
        let mut latent = vec![0.0; self.latent_length()];
        for (k, weight) in weights.iter().enumerate() {
            let row = rows.row(k);
            latent.iter_mut().zip(row).for_each(|(x, row)| *x += weight * row);
            rows.residuals(k).for_each(|(pixel, of_pixel)| latent[self.modes() + pixel] += weight * of_pixel);
        }
        latent
    }

    /// A A^T and what sensors of one pixel have in common beyond the modes, with A = H B \[n, r\].
    fn sensor_covariance(&self, sensors: Stencils, progress: Progress) -> Result<Vec<f64>, PosteriorError> {
        let rows = SensorRows::new(self, sensors);
        let n = rows.len();
        let r = self.modes();
        tell(progress, Stage::Covariance, 0, n)?;
        let a = rows.rows(0..n);
        let mut matrix = vec![0.0; n * n];
        matrix.par_chunks_mut(ROWS * n.max(1)).enumerate().for_each(|(block, out)| {
            let left = View::new(&a[block * ROWS * r..], out.len() / n, r);
            multiply(left, View::new(&a, n, r).transposed(), ViewMut { data: out, row_stride: n });
        });
        for seen in rows.by_pixel().values() {
            for (i, one) in seen {
                seen.iter().for_each(|(j, other)| matrix[i * n + j] += one * other);
            }
        }
        mirror_lower(&mut matrix, n);
        Ok(matrix)
    }

    /// The squares of (L^-1 A) B^T and, where sensors see a pixel beyond the modes, of L^-1 of that too, strip by strip
    /// of pixels.
    fn explained(
        &self,
        sensors: Stencils,
        factor: &Cholesky,
        progress: Progress,
    ) -> Result<Fields<f64>, PosteriorError> {
        let rows = SensorRows::new(self, sensors);
        let n = rows.len();
        let r = self.modes();
        tell(progress, Stage::Deviations, 0, n)?;
        let whitened = whitened(factor, rows.rows(0..n), r);
        let seen = rows.by_pixel();
        let pixels = 2 * self.points();
        let strip = |strip: usize| {
            let range = strip * STRIP..((strip + 1) * STRIP).min(pixels);
            let width = range.len();
            let modes: Vec<f64> = range
                .clone()
                .flat_map(|pixel| {
                    let scale = self.scale(pixel);
                    self.mode_row(pixel).iter().map(move |x| scale * f64::from(*x))
                })
                .collect();
            let mut columns = self.whitened_residuals(factor, &seen, range, n);
            let right = View::new(&modes, width, r).transposed();
            add_product(View::new(&whitened, n, r), right, ViewMut { data: &mut columns, row_stride: width });
            let mut sums = vec![0.0; width];
            for row in columns.chunks_exact(width) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
            }
            Ok(sums)
        };
        let at_once = 4 * rayon::current_num_threads();
        let strips = in_parallel(progress, Stage::Deviations, pixels.div_ceil(STRIP), at_once, strip)?;
        let mut a = strips.concat();
        let u = a.split_off(self.points());
        Ok(Fields { a, u })
    }

    fn solver_of_many(&self, sensors: Stencils, noise: &[f64]) -> Option<Box<dyn SensorSolver>> {
        let rows = SensorRows::new(self, sensors);
        if rows.len() <= self.modes() || rows.by_pixel().values().any(|sensors| sensors.len() > 1) {
            return None;
        }
        let beyond = |k: usize| rows.residuals(k).map(|(_, weight)| weight * weight).sum::<f64>();
        let noise: Vec<f64> = noise.iter().enumerate().map(|(k, noise)| noise + beyond(k)).collect();
        let solver = ManySensors::new(rows.rows(0..rows.len()), self.modes(), &noise)?;
        Some(Box::new(solver))
    }

    /// With q = (z, e), e at few pixels: |T q|^2 = z^T (B^T W B) z + 2 sum_p w_p (B z)_p (d e)_p + sum_p w_p (d e)_p^2.
    fn told_by_each(
        &self,
        sensors: Stencils,
        weights: PerChannel<f64>,
        progress: Progress,
    ) -> Result<Vec<(f64, f64)>, PosteriorError> {
        let rows = SensorRows::new(self, sensors);
        let r = self.modes();
        tell(progress, Stage::Covariance, 0, rows.len())?;
        let squares = self.weighted_squares(weights);
        let look = |part: usize| {
            let range = part * CANDIDATES..((part + 1) * CANDIDATES).min(rows.len());
            let a: Vec<f64> = range.clone().flat_map(|k| rows.row(k)).collect();
            let mut image = vec![0.0; a.len()];
            let target = ViewMut { data: &mut image, row_stride: r };
            multiply(View::new(&a, range.len(), r), View::new(&squares, r, r), target);
            let told = |(k, (z, image)): (usize, (&[f64], &[f64]))| {
                let mut told = dot(z, image);
                let mut variance = dot(z, z);
                for (pixel, e) in rows.residuals(k) {
                    let beyond = self.residual(pixel) * e;
                    let mode = self.scale(pixel) * mixed_dot(self.mode_row(pixel), z);
                    told += weights[self.channel(pixel)] * beyond * (2.0 * mode + beyond);
                    variance += e * e;
                }
                (told, variance)
            };
            Ok(range.zip(a.chunks_exact(r).zip(image.chunks_exact(r))).map(told).collect::<Vec<_>>())
        };
        let parts = rows.len().div_ceil(CANDIDATES);
        Ok(in_parallel(progress, Stage::Covariance, parts, rayon::current_num_threads(), look)?.concat())
    }
}

impl LinearPrior {
    /// \[n, width\]: L^-1 of what sensors see of each pixel of a range beyond the modes, which most see nothing of.
    fn whitened_residuals(
        &self,
        factor: &Cholesky,
        seen: &BTreeMap<usize, Vec<(usize, f64)>>,
        range: Range<usize>,
        n: usize,
    ) -> Vec<f64> {
        let touched: Vec<(&usize, &Vec<(usize, f64)>)> = seen.range(range.clone()).collect();
        let count = touched.len();
        let mut few = vec![0.0; n * count];
        for (column, (pixel, sensors)) in touched.iter().enumerate() {
            sensors.iter().for_each(|(k, weight)| few[k * count + column] += weight * self.residual(**pixel));
        }
        if count > 0 {
            factor.forward_substitute(&mut few, count);
        }
        let width = range.len();
        let mut columns = vec![0.0; n * width];
        for (column, (pixel, _)) in touched.iter().enumerate() {
            let at = **pixel - range.start;
            (0..n).for_each(|k| columns[k * width + at] = few[k * count + column]);
        }
        columns
    }
}

/// \[n, r\]: L^-1 A, by strips of columns.
fn whitened(factor: &Cholesky, a: Vec<f64>, r: usize) -> Vec<f64> {
    let n = a.len() / r;
    let strip = |first: usize| {
        let width = STRIP.min(r - first);
        let mut columns: Vec<f64> =
            a.chunks_exact(r).flat_map(|row| &row[first..first + width]).copied().collect();
        factor.forward_substitute(&mut columns, width);
        columns
    };
    let firsts: Vec<usize> = (0..r).step_by(STRIP).collect();
    let strips: Vec<Vec<f64>> = firsts.into_par_iter().map(strip).collect();
    let row = |k: usize| {
        strips.iter().flat_map(move |strip| &strip[k * strip.len() / n..(k + 1) * strip.len() / n])
    };
    (0..n).flat_map(row).copied().collect()
}
