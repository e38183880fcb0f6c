//! The Gaussian random field of the static problems, with Neumann (cosine) boundary behaviour.
//!
//! a(x) = sum_{k != 0} xi_k S tau^(alpha-1) (pi^2 |k|^2 + tau^2)^(-alpha/2) phi_k(x), alpha = 2, tau = 3,
//! phi_k the orthonormal DCT-II basis on S x S cell centres, xi_k independent standard normals. The factor
//! S makes the law independent of the resolution.

use std::f64::consts::PI;

use rand::RngExt;
use rand_distr::StandardNormal;

use super::Stream;
use crate::linear::{ParityBasis, matrix};

const TAU: f64 = 3.0;

/// Draws a ~ N(0, C) with C = tau^2 (-Lap + tau^2)^-2 and Neumann conditions, zero mean over the square.
#[derive(Clone, Debug)]
pub struct NeumannField {
    basis: ParityBasis,
    /// \[S, S\]: the standard deviation of each coefficient.
    deviations: Vec<f64>,
}

impl NeumannField {
    /// Plans fields on `size` x `size` cell centres.
    pub fn new(size: usize) -> Self {
        let deviation = |k1: usize, k2: usize| match (k1, k2) {
            (0, 0) => 0.0,
            _ => size as f64 * TAU / (PI * PI * (k1 * k1 + k2 * k2) as f64 + TAU * TAU),
        };
        let deviations = (0..size * size).map(|at| deviation(at / size, at % size)).collect();
        Self { basis: ParityBasis::cosine(size), deviations }
    }

    /// The cosine basis phi of the expansion, along one axis.
    pub fn basis(&self) -> &ParityBasis {
        &self.basis
    }

    /// \[S, S\]: the standard deviation of each coefficient.
    pub fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// One draw, \[S, S\]. Coefficients take normals by growing max(k1, k2), so that the same
    /// stream gives the same low modes at every resolution.
    pub fn draw(&self, stream: &mut Stream) -> Vec<f64> {
        let size = self.basis.points();
        let mut field = vec![0.0; size * size];
        for (k1, k2) in shells(size) {
            let at = k1 * size + k2;
            let normal: f64 = stream.sample(StandardNormal);
            field[at] = self.deviations[at] * normal;
        }
        self.basis.synthesise_both(&mut field, &mut vec![0.0; size * size]);
        field
    }

    /// \[S, S\]: the exact variance of each entry of M a M^T, for a linear map M (\[S, S\], row-major)
    /// applied along each axis: sum_k s_k^2 (M phi_k1)(p)^2 (M phi_k2)(q)^2. The identity gives the
    /// pixels themselves.
    pub(crate) fn variance_under(&self, map: &[f64]) -> Vec<f64> {
        let size = self.basis.points();
        let squares: Vec<f64> = self.deviations.iter().map(|s| s * s).collect();
        let image = |p: usize, k: usize| -> f64 {
            (0..size).map(|i| map[p * size + i] * self.basis.value(k, i)).sum()
        };
        let image_squares: Vec<f64> =
            (0..size * size).map(|at| image(at / size, at % size).powi(2)).collect();
        matrix::along_both_axes(&image_squares, &squares, size)
    }
}

/// All (k1, k2) below `size`, by growing max(k1, k2): those of resolution S come before any further ones.
fn shells(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(|m| (0..m).map(move |k| (m, k)).chain((0..=m).map(move |k| (k, m))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Coordinates;

    #[test]
    fn shells_visit_every_coefficient_once_and_nest() {
        let small: Vec<_> = shells(6).collect();
        let large: Vec<_> = shells(9).collect();
        assert_eq!(small[..], large[..36]);
        let mut sorted = small.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 36);
    }

    #[test]
    fn the_mean_of_every_draw_is_zero() {
        let draw = NeumannField::new(32).draw(&mut Coordinates::new("test").stream());
        assert!(draw.iter().sum::<f64>().abs() < 1e-11);
    }

    /// Doubling the resolution adds high modes only, so the block means change little.
    #[test]
    fn a_stream_gives_one_field_at_every_resolution() {
        let stream = || Coordinates::new("test").number(3).stream();
        let coarse = NeumannField::new(64).draw(&mut stream());
        let fine = NeumannField::new(128).draw(&mut stream());
        let mut difference = 0.0;
        let mut norm = 0.0;
        for i in 0..64 {
            for j in 0..64 {
                let at = |di: usize, dj: usize| fine[(2 * i + di) * 128 + 2 * j + dj];
                let mean = (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1)) / 4.0;
                difference += (mean - coarse[i * 64 + j]).powi(2);
                norm += coarse[i * 64 + j].powi(2);
            }
        }
        assert!((difference / norm).sqrt() < 0.02, "{}", (difference / norm).sqrt());
    }

    #[test]
    fn sample_variance_agrees_with_the_closed_form() {
        let size = 32;
        let draws = 2000;
        let field = NeumannField::new(size);
        let identity: Vec<f64> =
            (0..size * size).map(|at| f64::from(u8::from(at / size == at % size))).collect();
        let exact = field.variance_under(&identity);
        // Three points that differ most: a corner, the middle of an edge, the centre.
        for at in [0, size / 2, (size / 2) * size + size / 2] {
            let values: Vec<f64> = (0..draws)
                .map(|n| field.draw(&mut Coordinates::new("variance").number(n).stream())[at])
                .collect();
            let sample = values.iter().map(|x| x * x).sum::<f64>() / draws as f64;
            let standard_error = exact[at] * (2.0 / draws as f64).sqrt();
            assert!((sample - exact[at]).abs() < 4.0 * standard_error, "{at}: {sample} {}", exact[at]);
        }
    }
}
