//! Eigenvalues of small symmetric matrices.

/// The most sweeps; a handful is usual.
const SWEEPS: usize = 64;

/// The eigenvalues of a symmetric matrix, largest first, and a unit eigenvector for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// Largest first.
    pub values: Vec<f64>,
    /// One a value, of length one, perpendicular to each other.
    pub vectors: Vec<Vec<f64>>,
}

/// Decomposes a symmetric \[n, n\] matrix by Jacobi's rotations: exact to rounding, and quick enough for some hundred
/// rows.
pub fn symmetric_eigen(matrix: &[f64], n: usize) -> Eigen {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    let mut a = matrix.to_vec();
    // Rows of v are the eigenvectors found so far: v a_0 v^T = a.
    let mut v: Vec<f64> = (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect();
    let size: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..SWEEPS {
        let off: f64 =
            (0..n).flat_map(|p| (0..p).map(move |q| (p, q))).map(|(p, q)| a[p * n + q].powi(2)).sum();
        if off <= f64::EPSILON.powi(2) * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, n, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a[j * n + j].total_cmp(&a[i * n + i]));
    Eigen {
        values: order.iter().map(|k| a[k * n + k]).collect(),
        vectors: order.iter().map(|k| v[k * n..][..n].to_vec()).collect(),
    }
}

/// Turns the plane of axes p and q so that their mixed entry vanishes.
fn rotate(a: &mut [f64], v: &mut [f64], n: usize, p: usize, q: usize) {
    let mixed = a[p * n + q];
    if mixed == 0.0 {
        return;
    }
    // tan of the smaller angle that solves tan^2 + 2 theta tan - 1 = 0.
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * mixed);
    let tan = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cos = 1.0 / tan.hypot(1.0);
    let sin = tan * cos;
    let turn = |x: &mut f64, y: &mut f64| (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
    for k in 0..n {
        let (mut x, mut y) = (a[k * n + p], a[k * n + q]);
        turn(&mut x, &mut y);
        (a[k * n + p], a[k * n + q]) = (x, y);
    }
    for rows in [a, v] {
        let (upper, lower) = rows.split_at_mut(q * n);
        upper[p * n..][..n].iter_mut().zip(&mut lower[..n]).for_each(|(x, y)| turn(x, y));
    }
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
    fn matrices_of_low_rank_have_zeros() {
        let x = [3.0, 0.0, 4.0];
        let matrix: Vec<f64> = x.iter().flat_map(|a| x.map(|b| a * b)).collect();
        let Eigen { values, vectors } = symmetric_eigen(&matrix, 3);
        assert!((values[0] - 25.0).abs() < 1e-13 && values[1].abs() < 1e-13 && values[2].abs() < 1e-13);
        assert!((vectors[0][0].abs() - 0.6).abs() < 1e-13);
        assert_eq!(symmetric_eigen(&[0.0; 4], 2).values, [0.0, 0.0]);
    }
}
