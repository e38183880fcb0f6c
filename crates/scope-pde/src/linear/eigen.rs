//! Eigenvalues and eigenvectors of symmetric matrices: Householder's reflections make one tridiagonal, and QL steps
//! with implicit shifts diagonal. A thousand rows take a few seconds of one core.

use rayon::prelude::*;

use super::cholesky::dot;

/// The most QL steps for one eigenvalue; two are usual.
const MOST_STEPS: usize = 64;

/// The eigenvalues of a symmetric matrix, largest first, and a unit eigenvector for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// The eigenvalues, largest first.
    pub values: Vec<f64>,
    /// One a value, of length one, perpendicular to each other.
    pub vectors: Vec<Vec<f64>>,
}

/// A tridiagonal matrix T and the reflections Q with A = Q T Q^T.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Beside the diagonal; the last entry is none.
    beside: Vec<f64>,
    /// Unit vectors v of I - 2 v v^T; that of step k acts on the rows after k, and is empty where nothing was to be
    /// done.
    reflections: Vec<Vec<f64>>,
}

/// Decomposes a symmetric \[n, n\] matrix. No bit depends on the number of threads.
pub fn symmetric_eigen(matrix: &[f64], n: usize) -> Eigen {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    let Tridiagonal { diagonal: mut values, mut beside, reflections } = tridiagonal(matrix.to_vec(), n);
    let mut vectors: Vec<Vec<f64>> = (0..n).into_par_iter().map(|k| reflected(&reflections, k, n)).collect();
    for first in 0..n {
        for _ in 0..MOST_STEPS {
            let last = unreduced(&values, &beside, first);
            if last == first {
                break;
            }
            step(&mut values, &mut beside, &mut vectors, first, last);
        }
    }
    let mut pairs: Vec<(f64, Vec<f64>)> = values.into_iter().zip(vectors).collect();
    pairs.sort_by(|(x, _), (y, _)| y.total_cmp(x));
    let (values, vectors) = pairs.into_iter().unzip();
    Eigen { values, vectors }
}

/// A = Q T Q^T, with Q a product of reflections that each clear a column below its second entry.
fn tridiagonal(mut a: Vec<f64>, n: usize) -> Tridiagonal {
    let mut beside = vec![0.0; n];
    let mut reflections = Vec::with_capacity(n);
    for k in 0..n.saturating_sub(1) {
        let mut v = a[k * n + k + 1..(k + 1) * n].to_vec();
        let length = dot(&v, &v).sqrt();
        if dot(&v[1..], &v[1..]) == 0.0 {
            beside[k] = v[0];
            reflections.push(Vec::new());
            continue;
        }
        let image = -length.copysign(v[0]);
        beside[k] = image;
        v[0] -= image;
        let scale = 1.0 / dot(&v, &v).sqrt();
        v.iter_mut().for_each(|x| *x *= scale);
        reflect_both_sides(&mut a[(k + 1) * n..], n, k + 1, &v);
        reflections.push(v);
    }
    let diagonal = (0..n).map(|k| a[k * n + k]).collect();
    Tridiagonal { diagonal, beside, reflections }
}

/// (I - 2 v v^T) A (I - 2 v v^T) for the rows and columns from `first` on: A - v w^T - w v^T with w = 2 (A v - (v^T A
/// v) v).
fn reflect_both_sides(rows: &mut [f64], n: usize, first: usize, v: &[f64]) {
    let image: Vec<f64> = rows.par_chunks(n).with_min_len(64).map(|row| dot(&row[first..], v)).collect();
    let share = dot(&image, v);
    let w: Vec<f64> = image.iter().zip(v).map(|(image, v)| 2.0 * (image - share * v)).collect();
    rows.par_chunks_mut(n).with_min_len(64).zip(v.par_iter().zip(&w)).for_each(|(row, (vi, wi))| {
        for (x, (vj, wj)) in row[first..].iter_mut().zip(v.iter().zip(&w)) {
            *x -= vi * wj + wi * vj;
        }
    });
}

/// Column k of Q.
fn reflected(reflections: &[Vec<f64>], k: usize, n: usize) -> Vec<f64> {
    let mut column = vec![0.0; n];
    column[k] = 1.0;
    for (step, v) in reflections.iter().enumerate().rev().filter(|(_, v)| !v.is_empty()) {
        let below = &mut column[step + 1..];
        let share = 2.0 * dot(v, below);
        below.iter_mut().zip(v).for_each(|(x, v)| *x -= share * v);
    }
    column
}

/// The last row of the block from `first` on whose neighbours are all coupled.
fn unreduced(diagonal: &[f64], beside: &[f64], first: usize) -> usize {
    let is_coupled = |m: usize| {
        let scale = diagonal[m].abs() + diagonal[m + 1].abs();
        beside[m].abs() > f64::EPSILON * scale
    };
    (first..diagonal.len() - 1).find(|m| !is_coupled(*m)).unwrap_or(diagonal.len() - 1)
}

/// One QL step on the rows from `first` to `last`, with Wilkinson's shift; the vectors turn with them.
fn step(d: &mut [f64], e: &mut [f64], vectors: &mut [Vec<f64>], first: usize, last: usize) {
    let half = (d[first + 1] - d[first]) / (2.0 * e[first]);
    let mut g = d[last] - d[first] + e[first] / (half + half.hypot(1.0).copysign(half));
    let mut sin = 1.0;
    let mut cos = 1.0;
    let mut shift = 0.0;
    for i in (first..last).rev() {
        let f = sin * e[i];
        let b = cos * e[i];
        let r = f.hypot(g);
        e[i + 1] = r;
        if r == 0.0 {
            d[i + 1] -= shift;
            e[last] = 0.0;
            return;
        }
        sin = f / r;
        cos = g / r;
        g = d[i + 1] - shift;
        let r = (d[i] - g) * sin + 2.0 * cos * b;
        shift = sin * r;
        d[i + 1] = g + shift;
        g = cos * r - b;
        let (upper, lower) = vectors.split_at_mut(i + 1);
        for (x, y) in upper[i].iter_mut().zip(&mut lower[0]) {
            let old = *y;
            *y = sin * *x + cos * old;
            *x = cos * *x - sin * old;
        }
    }
    d[first] -= shift;
    e[first] = g;
    e[last] = 0.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_difference_has_known_eigenvalues() {
        // 2 on the diagonal and -1 beside it: 2 - 2 cos(k pi / (n + 1)).
        let n = 24;
        let entry = |i: usize, j: usize| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let matrix: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        let Eigen { values, vectors } = symmetric_eigen(&matrix, n);
        for (k, (value, vector)) in values.iter().zip(&vectors).enumerate() {
            let angle = (n - k) as f64 * std::f64::consts::PI / (n + 1) as f64;
            assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-12);
            for i in 0..n {
                let image: f64 = (0..n).map(|j| matrix[i * n + j] * vector[j]).sum();
                assert!((image - value * vector[i]).abs() < 1e-12);
            }
        }
        for (i, x) in vectors.iter().enumerate() {
            for (j, y) in vectors.iter().enumerate() {
                let dot: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_matrix_of_many_rows_is_put_together_again() {
        let n = 150;
        let entry = |i: usize, j: usize| {
            (0..40)
                .map(|k| {
                    ((1 + i) as f64 * (0.37 + k as f64)).sin() * ((1 + j) as f64 * (0.37 + k as f64)).sin()
                })
                .sum::<f64>()
        };
        let matrix: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
        let Eigen { values, vectors } = symmetric_eigen(&matrix, n);
        assert!(values.is_sorted_by(|x, y| x >= y));
        for at in 0..n * n {
            let sum: f64 = (0..n).map(|k| values[k] * vectors[k][at / n] * vectors[k][at % n]).sum();
            assert!((sum - matrix[at]).abs() < 1e-11 * values[0]);
        }
    }

    #[test]
    fn matrices_of_low_rank_have_zeros() {
        let x = [3.0, 0.0, 4.0];
        let matrix: Vec<f64> = x.iter().flat_map(|a| x.map(|b| a * b)).collect();
        let Eigen { values, vectors } = symmetric_eigen(&matrix, 3);
        assert!((values[0] - 25.0).abs() < 1e-13 && values[1].abs() < 1e-13 && values[2].abs() < 1e-13);
        assert!((vectors[0][0].abs() - 0.6).abs() < 1e-13);
        assert_eq!(symmetric_eigen(&[0.0; 4], 2).values, [0.0, 0.0]);
    }
}
