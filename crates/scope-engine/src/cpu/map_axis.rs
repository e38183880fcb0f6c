//! Fixed matrices along an axis, row by row, over the band of each row that is not zero.

use super::{Cpu, Real, combine::Combine};
use crate::{dtype::Dtype, error::EngineError, ops::Matrix, tensor::Tensor};

/// Rows at least this long are tasks of their own.
const LONG: usize = 256;

/// A x along the axis behind `outer` others.
pub(crate) fn apply(
    cpu: &Cpu,
    matrix: &Matrix,
    outer: usize,
    x: &Tensor,
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, apply_in(cpu, matrix, outer, x, shape)))
}

fn apply_in<R: Real>(cpu: &Cpu, matrix: &Matrix, outer: usize, x: &Tensor, shape: &[usize]) -> Tensor {
    let [m, n] = matrix.sizes();
    let a = matrix.entries.cpu::<R>();
    let x = x.cpu::<R>();
    let width = x.len() / (outer * n).max(1);
    let rows = if width >= LONG { 1 } else { m };
    Tensor::compute::<R>(cpu, shape, |out| {
        cpu.for_pieces(out, rows * width, |piece, out| {
            for (k, out) in out.chunks_mut(width).enumerate() {
                let p = (piece * rows + k) / m;
                let i = (piece * rows + k) % m;
                let band = matrix.bands[i].clone();
                cpu.run(Combine {
                    sizes: [1, band.len()],
                    width,
                    factors: (&a[i * n + band.start..], [0, 1]),
                    terms: (&x[(p * n + band.start) * width..], width),
                    out: (out, width),
                    accumulate: false,
                });
            }
        });
    })
}
