//! K = L L^T, blocked over matrix products, in place and in parallel by strips of rows.
//!
//! A strip's work does not depend on the number of threads, so neither does any bit of L.

use rayon::prelude::*;

use super::matrix::{View, ViewMut, subtract_product};

/// Rows factored together.
const BLOCK: usize = 64;

/// Columns of an inverse that are computed together.
const STRIP: usize = 256;

/// A pivot below this share of its diagonal entry is rounding error.
const SMALLEST_PIVOT: f64 = 4.0 * f64::EPSILON;

/// The lower triangular factor L of a symmetric positive definite matrix.
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    /// \[n, n\]: L below and on the diagonal; above it, what the matrix had there.
    factor: Vec<f64>,
}

/// Why there is no factor.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfactored {
    /// A pivot vanished in rounding error: the matrix, whole.
    NotDefinite(Vec<f64>),
    /// Who heard of the progress did not want it to go on.
    Stopped,
}

impl Cholesky {
    /// Factors the symmetric matrix \[n, n\], of which both triangles are given. Where a pivot vanishes in rounding
    /// error the matrix is given back, whole.
    pub fn new(matrix: Vec<f64>, n: usize) -> Result<Self, Vec<f64>> {
        match Self::watched(matrix, n, &|_| true) {
            Ok(factor) => Ok(factor),
            Err(Unfactored::NotDefinite(matrix)) => Err(matrix),
            // Nobody stopped it.
            Err(Unfactored::Stopped) => Err(Vec::new()),
        }
    }

    /// The same; `go_on` hears how many rows are factored, and says whether to go on.
    pub fn watched(
        mut matrix: Vec<f64>,
        n: usize,
        go_on: &dyn Fn(usize) -> bool,
    ) -> Result<Self, Unfactored> {
        let diagonal: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
        let blocks = diagonal_blocks(&matrix, n);
        for start in (0..n).step_by(BLOCK) {
            let width = BLOCK.min(n - start);
            if !go_on(start) {
                return Err(Unfactored::Stopped);
            }
            if !factor_block(&mut matrix, n, start, width, &diagonal) {
                restore(&mut matrix, n, &blocks);
                return Err(Unfactored::NotDefinite(matrix));
            }
            eliminate_block(&mut matrix, n, start, width);
        }
        Ok(Self { n, factor: matrix })
    }

    /// Row i of L, up to the diagonal.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.factor[i * self.n..][..=i]
    }

    /// Replaces b by (L L^T)^-1 b.
    pub fn solve(&self, b: &mut [f64]) {
        let n = self.n;
        let l = &self.factor;
        for i in 0..n {
            let row = &l[i * n..][..i];
            b[i] = (b[i] - dot(row, &b[..i])) / l[i * n + i];
        }
        for i in (0..n).rev() {
            b[i] /= l[i * n + i];
            let value = b[i];
            for (x, l) in b[..i].iter_mut().zip(&l[i * n..][..i]) {
                *x -= l * value;
            }
        }
    }

    /// Replaces the columns of B, \[n, columns\], by L^-1 B.
    pub fn forward_substitute(&self, b: &mut [f64], columns: usize) {
        self.substitute_from(0, b, columns);
    }

    /// \[n\]: the diagonal of (L L^T)^-1, that is the sums of squares of the columns of L^-1.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let strips = (0..self.n.div_ceil(STRIP)).into_par_iter().map(|strip| {
            let first = strip * STRIP;
            let columns = STRIP.min(self.n - first);
            // Column j of L^-1 begins with row j.
            let mut inverse = vec![0.0; (self.n - first) * columns];
            (0..columns).for_each(|j| inverse[j * columns + j] = 1.0);
            self.substitute_from(first, &mut inverse, columns);
            let mut sums = vec![0.0; columns];
            for row in inverse.chunks_exact(columns) {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x);
            }
            sums
        });
        strips.collect::<Vec<_>>().concat()
    }

    /// Forward substitution in the rows from `first` on, with the rows above being zero; B has the other rows only.
    fn substitute_from(&self, first: usize, b: &mut [f64], columns: usize) {
        let n = self.n;
        let l = &self.factor;
        for start in (first..n).step_by(BLOCK) {
            let width = BLOCK.min(n - start);
            let above = start - first;
            let (done, rest) = b.split_at_mut(above * columns);
            let rows = &mut rest[..width * columns];
            if above > 0 {
                let left = View { row_stride: n, ..View::new(&l[start * n + first..], width, above) };
                let target = ViewMut { data: rows, row_stride: columns };
                subtract_product(left, View::new(done, above, columns), target);
            }
            for i in 0..width {
                let (above, here) = rows.split_at_mut(i * columns);
                let here = &mut here[..columns];
                let row = &l[(start + i) * n + start..];
                for (k, above) in above.chunks_exact(columns).enumerate() {
                    subtract_scaled(here, row[k], above);
                }
                let inverse = 1.0 / row[i];
                here.iter_mut().for_each(|x| *x *= inverse);
            }
        }
    }
}

/// Factors the diagonal block that earlier blocks have been eliminated from; says whether every pivot was sound.
fn factor_block(matrix: &mut [f64], n: usize, start: usize, width: usize, diagonal: &[f64]) -> bool {
    for (i, own) in diagonal.iter().enumerate().skip(start).take(width) {
        for j in start..=i {
            let (upper, lower) = matrix.split_at_mut(i * n);
            let other = if i == j { &lower[start..j] } else { &upper[j * n + start..j * n + j] };
            let rest = lower[j] - dot(&lower[start..j], other);
            if i == j {
                if rest.is_nan() || rest <= SMALLEST_PIVOT * own {
                    return false;
                }
                lower[j] = rest.sqrt();
            } else {
                lower[j] = rest / upper[j * n + j];
            }
        }
    }
    true
}

/// The panel below a factored block, and its product subtracted from the rows that remain.
fn eliminate_block(matrix: &mut [f64], n: usize, start: usize, width: usize) {
    let end = start + width;
    let (top, rest) = matrix.split_at_mut(end * n);
    let block = &top[start * n..];
    let panel_row = |row: &mut [f64]| {
        for j in 0..width {
            let known = dot(&row[start..start + j], &block[j * n + start..][..j]);
            row[start + j] = (row[start + j] - known) / block[j * n + start + j];
        }
    };
    rest.par_chunks_mut(n * BLOCK).for_each(|strip| strip.chunks_mut(n).for_each(panel_row));
    let panel: Vec<f64> = rest.chunks(n).flat_map(|row| row[start..end].iter().copied()).collect();
    rest.par_chunks_mut(n * BLOCK).enumerate().for_each(|(strip_index, strip)| {
        let first = strip_index * BLOCK;
        let rows = strip.len() / n;
        let left = View::new(&panel[first * width..], rows, width);
        let right = View::new(&panel, first + rows, width).transposed();
        subtract_product(left, right, ViewMut { data: &mut strip[end..], row_stride: n });
    });
}

/// \[n, BLOCK\]: the rows of the diagonal blocks, the only entries above the diagonal that factoring overwrites.
fn diagonal_blocks(matrix: &[f64], n: usize) -> Vec<f64> {
    let mut blocks = vec![0.0; n * BLOCK];
    for (i, row) in blocks.chunks_exact_mut(BLOCK).enumerate() {
        let start = i / BLOCK * BLOCK;
        let width = BLOCK.min(n - start);
        row[..width].copy_from_slice(&matrix[i * n + start..][..width]);
    }
    blocks
}

/// Undoes a factoring that broke down, from the upper triangle.
fn restore(matrix: &mut [f64], n: usize, blocks: &[f64]) {
    for (i, block) in blocks.chunks_exact(BLOCK).enumerate() {
        let start = i / BLOCK * BLOCK;
        let width = BLOCK.min(n - start);
        matrix[i * n + start..][..width].copy_from_slice(&block[..width]);
        for j in 0..start {
            matrix[i * n + j] = matrix[j * n + i];
        }
    }
}

/// y -= a x.
fn subtract_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y -= a * x;
    }
}

/// The inner product, in eight partial sums, which the compiler turns into vectors.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let xs = x.chunks_exact(8);
    let ys = y.chunks_exact(8);
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Coordinates;
    use rand::RngExt;

    /// B B^T + I for a random B.
    fn definite(n: usize) -> Vec<f64> {
        let mut stream = Coordinates::new("test").number(n as u64).stream();
        let b: Vec<f64> = (0..n * n).map(|_| stream.random::<f64>() - 0.5).collect();
        let entry =
            |i: usize, j: usize| dot(&b[i * n..][..n], &b[j * n..][..n]) + f64::from(u8::from(i == j));
        (0..n * n).map(|at| entry(at / n, at % n)).collect()
    }

    #[test]
    fn the_factor_solves_the_system() {
        for n in [1, 7, 64, 65, 200] {
            let matrix = definite(n);
            let x: Vec<f64> = (0..n).map(|k| (k as f64 * 0.7).sin()).collect();
            let mut b: Vec<f64> = matrix.chunks(n).map(|row| dot(row, &x)).collect();
            Cholesky::new(matrix, n).unwrap().solve(&mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-10), "{n}");
        }
    }

    #[test]
    fn forward_substitution_gives_the_factor_s_own_rows() {
        // L^-1 K = L^T.
        let n = 150;
        let matrix = definite(n);
        let mut columns = matrix.clone();
        let cholesky = Cholesky::new(matrix, n).unwrap();
        cholesky.forward_substitute(&mut columns, n);
        for i in 0..n {
            for j in 0..n {
                let expected = if j >= i { cholesky.factor[j * n + i] } else { 0.0 };
                assert!((columns[i * n + j] - expected).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn the_diagonal_of_the_inverse_is_what_solving_gives() {
        for n in [1, 60, 300] {
            let cholesky = Cholesky::new(definite(n), n).unwrap();
            let diagonal = cholesky.inverse_diagonal();
            for (i, entry) in diagonal.iter().enumerate() {
                let mut column = vec![0.0; n];
                column[i] = 1.0;
                cholesky.solve(&mut column);
                assert!((column[i] - entry).abs() < 1e-12, "{n} {i}");
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_definite_comes_back_whole() {
        let n = 200;
        let mut matrix = definite(n);
        // Two equal rows and columns: the second one's pivot is zero.
        for k in 0..n {
            matrix[170 * n + k] = matrix[3 * n + k];
        }
        for k in 0..n {
            matrix[k * n + 170] = matrix[k * n + 3];
        }
        assert_eq!(Cholesky::new(matrix.clone(), n).unwrap_err(), matrix);
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        let factor = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Cholesky::new(definite(300), 300).unwrap().factor)
        };
        assert_eq!(factor(1), factor(3));
    }
}
