//! Orthonormal columns of a long matrix.

use rayon::prelude::*;
use scope_pde::linear::cholesky::Cholesky;

use crate::product::gram;

/// Columns whose part beyond the others has a smaller share of the largest square are left out: single precision holds
/// no more.
const TOLERANCE: f64 = 1e-12;

/// Rows that are turned together.
const STRIP: usize = 256;

/// Replaces Y \[length, width\] by orthonormal columns that span the same, but for directions that rounding has
/// swallowed; returns how many they are. Each round takes a factor of Y^T Y; after one, columns may still be off by
/// what rounding took of small directions, and a second makes that good.
pub(crate) fn orthonormalise(y: &mut Vec<f32>, width: usize, rounds: usize) -> usize {
    let mut width = width;
    for _ in 0..rounds {
        let squares = gram(y, width, &|_| 1.0);
        let (order, factor) = independent(&squares, width);
        if order.is_empty() {
            y.clear();
            return 0;
        }
        *y = turned(y, width, &order, &factor);
        width = order.len();
    }
    width
}

/// The columns that are independent, and the factor L L^T of their products.
fn independent(squares: &[f64], width: usize) -> (Vec<usize>, Cholesky) {
    let mut tolerance = TOLERANCE;
    loop {
        let order = pivots(squares, width, tolerance);
        let n = order.len();
        let chosen: Vec<f64> =
            order.iter().flat_map(|i| order.iter().map(|j| squares[*i * width + *j])).collect();
        // Rounding may leave a pivot of none of the last columns: without those it is sound.
        match Cholesky::new(chosen, n) {
            Ok(factor) => return (order, factor),
            Err(_) => tolerance *= 10.0,
        }
    }
}

/// Columns in the order of what they add to those before, by a Cholesky factor with pivoting.
fn pivots(squares: &[f64], width: usize, tolerance: f64) -> Vec<usize> {
    let mut left: Vec<f64> = (0..width).map(|k| squares[k * width + k]).collect();
    let least = tolerance * left.iter().copied().fold(0.0, f64::max);
    let mut order: Vec<usize> = Vec::new();
    // \[width\] each: row k of the factor, by column.
    let mut rows: Vec<Vec<f64>> = Vec::new();
    while let Some(next) =
        (0..width).filter(|k| !order.contains(k)).max_by(|i, j| left[*i].total_cmp(&left[*j]))
    {
        if left[next] <= least {
            break;
        }
        let scale = 1.0 / left[next].sqrt();
        let mut row = squares[next * width..][..width].to_vec();
        for earlier in &rows {
            let share = earlier[next];
            row.iter_mut().zip(earlier).for_each(|(x, earlier)| *x -= share * earlier);
        }
        row.iter_mut().for_each(|x| *x *= scale);
        left.iter_mut().zip(&row).for_each(|(left, x)| *left -= x * x);
        order.push(next);
        rows.push(row);
    }
    order
}

/// Y L^-T for the chosen columns, strip by strip.
fn turned(y: &[f32], width: usize, order: &[usize], factor: &Cholesky) -> Vec<f32> {
    let n = order.len();
    let mut out = vec![0.0_f32; y.len() / width * n];
    out.par_chunks_mut(STRIP * n).zip(y.par_chunks(STRIP * width)).for_each(|(out, y)| {
        let columns = y.len() / width;
        let mut transposed: Vec<f64> =
            order.iter().flat_map(|k| y.chunks_exact(width).map(|row| f64::from(row[*k]))).collect();
        factor.forward_substitute(&mut transposed, columns);
        for (pixel, row) in out.chunks_exact_mut(n).enumerate() {
            row.iter_mut().enumerate().for_each(|(k, x)| *x = transposed[k * columns + pixel] as f32);
        }
    });
    out
}

/// How far columns are from orthonormal, for tests.
#[cfg(test)]
pub(crate) fn departure(y: &[f32], width: usize) -> f64 {
    let squares = gram(y, width, &|_| 1.0);
    let unit = |at: usize| f64::from(u8::from(at / width == at % width));
    squares.iter().enumerate().map(|(at, x)| (x - unit(at)).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Columns of very different size, two of them alike.
    #[test]
    fn columns_become_orthonormal_and_copies_are_left_out() {
        let length = 300;
        let width = 40;
        let entry = |row: usize, k: usize| {
            let k = if k == 7 { 6 } else { k };
            let scale = 10f64.powi(-((k % 6) as i32));
            (scale * ((row + 1) as f64 * (0.1 + k as f64 * 0.077)).sin()) as f32
        };
        let mut y: Vec<f32> = (0..length * width).map(|at| entry(at / width, at % width)).collect();
        let rank = orthonormalise(&mut y, width, 2);
        assert_eq!((rank, y.len()), (39, 39 * length));
        assert!(departure(&y, rank) < 1e-5, "{}", departure(&y, rank));
    }
}
