//! Orthonormal cosine and sine bases, applied as folded matrix products.
//!
//! Both bases have the parity of their index: on n points, phi_p(n-1-i) = (-1)^p phi_p(i). Even members
//! see only the sums x_i + x_{n-1-i}, odd ones only the differences, so one n x n product becomes two of
//! n/2 x n/2. At the sizes used here (n near 128) this beats a fast transform of length 127, a prime, and
//! equals one of length 128, for every even n and without a special case.

use std::f64::consts::PI;

use multiversion::multiversion;

use super::matrix::{View, ViewMut, multiply_rows, transpose};

/// An orthonormal basis of R^n (n even) whose p-th vector has parity (-1)^p.
#[derive(Clone, Debug)]
pub struct ParityBasis {
    points: usize,
    /// \[n/2, n/2\]: row r is phi_{2r} on the first half of the points.
    even: Vec<f64>,
    /// \[n/2, n/2\]: row r is phi_{2r+1} on the first half of the points.
    odd: Vec<f64>,
}

impl ParityBasis {
    /// DCT-II: phi_p(i) = s_p cos(pi p (i + 1/2) / n), s_0 = sqrt(1/n), s_p = sqrt(2/n).
    pub fn cosine(points: usize) -> Self {
        let n = points as f64;
        Self::new(points, |p, i| {
            let scale = if p == 0 { (1.0 / n).sqrt() } else { (2.0 / n).sqrt() };
            scale * (PI * (p as f64) * (i as f64 + 0.5) / n).cos()
        })
    }

    /// DST-I: phi_p(i) = sqrt(2/(n+1)) sin(pi (p+1) (i+1) / (n+1)).
    pub fn sine(points: usize) -> Self {
        let n1 = points as f64 + 1.0;
        Self::new(points, |p, i| (2.0 / n1).sqrt() * (PI * (p as f64 + 1.0) * (i as f64 + 1.0) / n1).sin())
    }

    fn new(points: usize, phi: impl Fn(usize, usize) -> f64) -> Self {
        assert!(points >= 2 && points.is_multiple_of(2), "a parity basis needs an even number of points");
        let half = points / 2;
        let table =
            |parity: usize| (0..half * half).map(|at| phi(2 * (at / half) + parity, at % half)).collect();
        Self { points, even: table(0), odd: table(1) }
    }

    /// The number of points, and of basis vectors.
    pub fn points(&self) -> usize {
        self.points
    }

    /// The value phi_p(i) of a basis function at a point.
    pub fn value(&self, p: usize, i: usize) -> f64 {
        let half = self.points / 2;
        let odd = p % 2 == 1;
        let table = if odd { &self.odd } else { &self.even };
        let mirrored = i >= half;
        let at = if mirrored { self.points - 1 - i } else { i };
        let value = table[(p / 2) * half + at];
        if odd && mirrored { -value } else { value }
    }

    /// Coefficients down each column: y_p = sum_i phi_p(i) x_i. `field` is \[n, columns\], and `scratch` no smaller.
    pub(crate) fn analyse(&self, field: &mut [f64], scratch: &mut [f64]) {
        let half = self.points / 2;
        let columns = self.columns(field);
        let (sums, differences) = scratch[..field.len()].split_at_mut(half * columns);
        fold(field, sums, differences, columns);
        for (parity, table, folded) in [(0, &self.even, sums), (1, &self.odd, differences)] {
            multiply_rows(
                View::new(table, half, half),
                View::new(folded, half, columns),
                ViewMut { data: &mut field[parity * columns..], row_stride: 2 * columns },
            );
        }
    }

    /// The columns with given coefficients: x_i = sum_p phi_p(i) y_p. `field` is \[n, columns\], and `scratch` no
    /// smaller.
    pub(crate) fn synthesise(&self, field: &mut [f64], scratch: &mut [f64]) {
        let half = self.points / 2;
        let columns = self.columns(field);
        let (evens, odds) = scratch[..field.len()].split_at_mut(half * columns);
        for (parity, table, part) in [(0, &self.even, &mut *evens), (1, &self.odd, &mut *odds)] {
            multiply_rows(
                View::new(table, half, half).transposed(),
                View { row_stride: 2 * columns, ..View::new(&field[parity * columns..], half, columns) },
                ViewMut { data: part, row_stride: columns },
            );
        }
        unfold(evens, odds, field, columns);
    }

    /// `analyse` along both axes of a square field.
    pub fn analyse_both(&self, field: &mut Vec<f64>, scratch: &mut Vec<f64>) {
        scratch.resize(field.len(), 0.0);
        for _axis in 0..2 {
            self.analyse(field, scratch);
            transpose(field, scratch, self.points);
            std::mem::swap(field, scratch);
        }
    }

    /// `synthesise` along both axes of a square field.
    pub fn synthesise_both(&self, field: &mut Vec<f64>, scratch: &mut Vec<f64>) {
        scratch.resize(field.len(), 0.0);
        for _axis in 0..2 {
            self.synthesise(field, scratch);
            transpose(field, scratch, self.points);
            std::mem::swap(field, scratch);
        }
    }

    fn columns(&self, field: &[f64]) -> usize {
        assert!(field.len().is_multiple_of(self.points), "a field of whole rows");
        field.len() / self.points
    }
}

/// Sums and differences of the rows of a field and their mirror images.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn fold(field: &[f64], sums: &mut [f64], differences: &mut [f64], columns: usize) {
    let rows = field.chunks_exact(columns).zip(field.chunks_exact(columns).rev());
    let folded = sums.chunks_exact_mut(columns).zip(differences.chunks_exact_mut(columns));
    for ((top, bottom), (sum, difference)) in rows.zip(folded) {
        for (((top, bottom), sum), difference) in top.iter().zip(bottom).zip(sum).zip(difference) {
            *sum = top + bottom;
            *difference = top - bottom;
        }
    }
}

/// The rows of a field from its even and odd parts.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn unfold(evens: &[f64], odds: &[f64], field: &mut [f64], columns: usize) {
    let (upper, lower) = field.split_at_mut(evens.len());
    let rows = upper.chunks_exact_mut(columns).zip(lower.chunks_exact_mut(columns).rev());
    let parts = evens.chunks_exact(columns).zip(odds.chunks_exact(columns));
    for ((top, bottom), (even, odd)) in rows.zip(parts) {
        for (((top, bottom), even), odd) in top.iter_mut().zip(bottom).zip(even).zip(odd) {
            *top = even + odd;
            *bottom = even - odd;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Coordinates;
    use rand::RngExt;

    fn noise(count: usize) -> Vec<f64> {
        let mut stream = Coordinates::new("test").stream();
        (0..count).map(|_| stream.random::<f64>() - 0.5).collect()
    }

    fn bases(points: usize) -> [ParityBasis; 2] {
        [ParityBasis::cosine(points), ParityBasis::sine(points)]
    }

    #[test]
    fn basis_vectors_are_orthonormal() {
        for basis in bases(14) {
            for p in 0..14 {
                for q in 0..14 {
                    let dot: f64 = (0..14).map(|i| basis.value(p, i) * basis.value(q, i)).sum();
                    let expected = f64::from(u8::from(p == q));
                    assert!((dot - expected).abs() < 1e-14, "{p} {q} {dot}");
                }
            }
        }
    }

    #[test]
    fn analysis_is_the_sum_it_says() {
        let columns = 5;
        for basis in bases(12) {
            let field = noise(12 * columns);
            let mut coefficients = field.clone();
            basis.analyse(&mut coefficients, &mut field.clone());
            for p in 0..12 {
                for j in 0..columns {
                    let sum: f64 = (0..12).map(|i| basis.value(p, i) * field[i * columns + j]).sum();
                    assert!((coefficients[p * columns + j] - sum).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn synthesis_undoes_analysis() {
        for basis in bases(126) {
            let field = noise(126 * 126);
            let mut copy = field.clone();
            let mut scratch = field.clone();
            basis.analyse(&mut copy, &mut scratch);
            basis.synthesise(&mut copy, &mut scratch);
            let worst = field.iter().zip(&copy).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-13, "{worst}");
        }
    }
}
