//! A fast direct solver for constant-coefficient five-point problems on a square.
//!
//! Axis 0 is diagonalised by a [`ParityBasis`]; what remains along axis 1 is one tridiagonal system per
//! mode, eliminated for all modes at once on the transposed field, where the modes are contiguous.

use std::f64::consts::PI;

use multiversion::multiversion;

use super::{matrix::transpose, parity_basis::ParityBasis};

/// Solves (Lap_h + shift) x = b on n x n points with spacing h, Lap_h the five-point Laplacian.
#[derive(Clone, Debug)]
pub struct SeparableSolver {
    basis: ParityBasis,
    /// The off-diagonal of the tridiagonal systems, c = 1/h^2.
    coupling: f64,
    /// \[n, n\]: inverse pivots of the elimination, by row of axis 1, then mode of axis 0.
    inverse_pivots: Vec<f64>,
}

impl SeparableSolver {
    /// x = 0 one spacing outside the points on every side. The shift must leave the problem definite.
    pub fn dirichlet(points: usize, spacing: f64, shift: f64) -> Self {
        let eigenvalue = |p: usize| 2.0 * (PI * (p + 1) as f64 / (points + 1) as f64).cos() - 2.0;
        let c = 1.0 / (spacing * spacing);
        Self::new(ParityBasis::sine(points), c, |p, _row| c * (eigenvalue(p) - 2.0) + shift)
    }

    /// No difference across any side, points at cell centres. The right-hand side must sum to zero; the
    /// solution is fixed by being zero in the mean of the last line.
    pub(crate) fn neumann(points: usize, spacing: f64) -> Self {
        let eigenvalue = |p: usize| 2.0 * (PI * p as f64 / points as f64).cos() - 2.0;
        let c = 1.0 / (spacing * spacing);
        let mut solver = Self::new(ParityBasis::cosine(points), c, |p, row| {
            let neighbours = if row == 0 || row + 1 == points { 1.0 } else { 2.0 };
            c * (eigenvalue(p) - neighbours)
        });
        // The constant mode's last pivot is zero; a zero inverse sets that unknown to zero instead, and
        // the last equation then holds by the solvability condition.
        solver.inverse_pivots[(points - 1) * points] = 0.0;
        solver
    }

    fn new(basis: ParityBasis, coupling: f64, diagonal: impl Fn(usize, usize) -> f64) -> Self {
        let n = basis.points();
        let mut inverse_pivots = vec![0.0; n * n];
        for p in 0..n {
            let mut above = 0.0;
            for row in 0..n {
                let pivot = diagonal(p, row) - coupling * coupling * above;
                above = 1.0 / pivot;
                inverse_pivots[row * n + p] = above;
            }
        }
        Self { basis, coupling, inverse_pivots }
    }

    /// Replaces the right-hand side in `field` (\[n, n\]) by the solution; `scratch` has as many numbers.
    pub fn solve(&self, field: &mut [f64], scratch: &mut [f64]) {
        let n = self.basis.points();
        self.basis.analyse(field, scratch);
        transpose(field, scratch, n);
        eliminate(scratch, &self.inverse_pivots, self.coupling, n);
        transpose(scratch, field, n);
        self.basis.synthesise(field, scratch);
    }
}

/// Forward and backward substitution down the rows of `field`, every column its own system:
/// y_i = (b_i - c y_{i-1}) / pivot_i, then x_i = y_i - c x_{i+1} / pivot_i.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn eliminate(field: &mut [f64], inverse_pivots: &[f64], coupling: f64, n: usize) {
    for (x, inverse) in field[..n].iter_mut().zip(&inverse_pivots[..n]) {
        *x *= inverse;
    }
    for row in 1..n {
        let (done, rest) = field.split_at_mut(row * n);
        let above = &done[(row - 1) * n..][..n];
        let here = &mut rest[..n];
        let inverse = &inverse_pivots[row * n..][..n];
        for q in 0..n {
            here[q] = (here[q] - coupling * above[q]) * inverse[q];
        }
    }
    for row in (0..n - 1).rev() {
        let (upper, lower) = field.split_at_mut((row + 1) * n);
        let here = &mut upper[row * n..][..n];
        let below = &lower[..n];
        let inverse = &inverse_pivots[row * n..][..n];
        for q in 0..n {
            here[q] -= coupling * below[q] * inverse[q];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Coordinates;
    use rand::RngExt;

    /// The five-point Laplacian with `outside(i, j, inside)` giving the value beyond an edge.
    fn laplacian(x: &[f64], n: usize, h: f64, outside: impl Fn(f64) -> f64) -> Vec<f64> {
        let at = |i: isize, j: isize, here: f64| {
            let inside = (0..n as isize).contains(&i) && (0..n as isize).contains(&j);
            if inside { x[i as usize * n + j as usize] } else { outside(here) }
        };
        (0..n * n)
            .map(|k| {
                let i = (k / n) as isize;
                let j = (k % n) as isize;
                let here = x[k];
                let sum = at(i - 1, j, here) + at(i + 1, j, here) + at(i, j - 1, here) + at(i, j + 1, here);
                (sum - 4.0 * here) / (h * h)
            })
            .collect()
    }

    fn noise(count: usize) -> Vec<f64> {
        let mut stream = Coordinates::new("test").stream();
        (0..count).map(|_| stream.random::<f64>() - 0.5).collect()
    }

    fn worst(x: &[f64], y: &[f64]) -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn dirichlet_solution_satisfies_the_scheme() {
        let n = 34;
        let h = 1.0 / 35.0;
        let shift = 1.0;
        let b = noise(n * n);
        let mut x = b.clone();
        SeparableSolver::dirichlet(n, h, shift).solve(&mut x, &mut vec![0.0; n * n]);
        let lap = laplacian(&x, n, h, |_| 0.0);
        let back: Vec<f64> = lap.iter().zip(&x).map(|(l, x)| l + shift * x).collect();
        assert!(worst(&back, &b) < 1e-11);
    }

    #[test]
    fn neumann_solution_satisfies_the_scheme_and_is_pinned() {
        let n = 32;
        let h = 1.0 / 32.0;
        let mut b = noise(n * n);
        let mean = b.iter().sum::<f64>() / b.len() as f64;
        b.iter_mut().for_each(|x| *x -= mean);
        let mut x = b.clone();
        SeparableSolver::neumann(n, h).solve(&mut x, &mut vec![0.0; n * n]);
        assert!(worst(&laplacian(&x, n, h, |here| here), &b) < 1e-10);
        let last: f64 = x.chunks(n).map(|row| row[n - 1]).sum();
        assert!(last.abs() < 1e-12);
    }
}
