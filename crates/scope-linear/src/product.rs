//! Products of large matrices on all threads. Work is cut by size alone, so no bit depends on the number of threads.

use rayon::prelude::*;
use scope_pde::linear::matrix::{View, ViewMut, add_product, mirror_lower, multiply};

/// Rows of a product that are computed together.
const ROWS: usize = 64;
/// Rows of a long matrix that are turned into double precision together.
const STRIP: usize = 1024;

/// \[n, width\]: X Q, with X \[n, length\] and Q \[length, width\].
pub(crate) fn product(x: &[f32], length: usize, q: &[f32], width: usize) -> Vec<f32> {
    let mut out = vec![0.0; x.len() / length * width];
    out.par_chunks_mut(ROWS * width).zip(x.par_chunks(ROWS * length)).for_each(|(out, x)| {
        let rows = x.len() / length;
        multiply(
            View::new(x, rows, length),
            View::new(q, length, width),
            ViewMut { data: out, row_stride: width },
        );
    });
    out
}

/// Y += X^T T, with X \[n, length\], T \[n, width\] and Y \[length, width\].
pub(crate) fn add_transposed_product(x: &[f32], length: usize, t: &[f32], width: usize, y: &mut [f32]) {
    let n = x.len() / length;
    y.par_chunks_mut(STRIP * width).enumerate().for_each(|(strip, y)| {
        let first = strip * STRIP;
        let rows = y.len() / width;
        let left = View { data: &x[first..], rows, columns: n, row_stride: 1, column_stride: length };
        add_product(left, View::new(t, n, width), ViewMut { data: y, row_stride: width });
    });
}

/// X -= T B^T, with X \[n, length\], T \[n, width\] and B \[length, width\].
pub(crate) fn subtract_from_rows(x: &mut [f32], length: usize, t: &[f32], b: &[f32], width: usize) {
    let negative: Vec<f32> = t.iter().map(|x| -x).collect();
    x.par_chunks_mut(ROWS * length).zip(negative.par_chunks(ROWS * width)).for_each(|(x, t)| {
        let rows = x.len() / length;
        let right = View::new(b, length, width).transposed();
        add_product(View::new(t, rows, width), right, ViewMut { data: x, row_stride: length });
    });
}

/// \[width, width\]: Y^T W Y in double precision, with Y \[length, width\] and W a weight for each row.
pub(crate) fn gram(y: &[f32], width: usize, weight: &(dyn Fn(usize) -> f64 + Sync)) -> Vec<f64> {
    let mut gram = vec![0.0; width * width];
    gram.par_chunks_mut(2 * ROWS * width).enumerate().for_each(|(block, out)| {
        let first = block * 2 * ROWS;
        let rows = out.len() / width;
        // Columns beyond the block are those of its mirror image.
        let columns = first + rows;
        for (strip, y) in y.chunks(STRIP * width).enumerate() {
            let weighted = |(row, y): (usize, &[f32])| -> Vec<f64> {
                let weight = weight(strip * STRIP + row);
                y[first..columns].iter().map(|x| weight * f64::from(*x)).collect()
            };
            let left: Vec<f64> = y.chunks_exact(width).enumerate().flat_map(weighted).collect();
            let right: Vec<f64> =
                y.chunks_exact(width).flat_map(|row| row[..columns].iter().map(|x| f64::from(*x))).collect();
            let length = y.len() / width;
            let left = View::new(&left, length, rows).transposed();
            let target = ViewMut { data: &mut *out, row_stride: width };
            add_product(left, View::new(&right, length, columns), target);
        }
    });
    mirror_lower(&mut gram, width);
    gram
}

/// The inner product of single and double precision, in eight partial sums.
pub(crate) fn mixed_dot(x: &[f32], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let xs = x.chunks_exact(8);
    let ys = y.chunks_exact(8);
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| f64::from(*x) * y).sum();
    for (x, y) in xs.zip(ys) {
        for k in 0..8 {
            sums[k] += f64::from(x[k]) * y[k];
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// y += a x.
pub(crate) fn add_scaled(y: &mut [f64], a: f64, x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * f64::from(*x));
}
