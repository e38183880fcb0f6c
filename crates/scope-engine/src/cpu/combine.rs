//! Rows combined with factors: the small products that are not worth packing.

use super::lanes::{Kernel, Lanes, Real, load_some, store_some};

/// Vectors of a row at a time.
const TOGETHER: usize = 4;

/// out\[i, :\] = sum over j of a\[i, j\] x\[j, :\] on one thread, added to what is there if asked.
pub(super) struct Combine<'a, R: Real> {
    /// Rows of the result and terms of each sum.
    pub sizes: [usize; 2],
    /// Numbers of a row.
    pub width: usize,
    /// a, with the steps from one i and from one j to the next.
    pub factors: (&'a [R], [usize; 2]),
    /// x, with the step from row to row.
    pub terms: (&'a [R], usize),
    /// The result, with the step from row to row.
    pub out: (&'a mut [R], usize),
    /// Whether to add to the result.
    pub accumulate: bool,
}

impl<R: Real> Kernel<R> for Combine<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let Self { sizes: [rows, count], width, factors: (a, [i_step, j_step]), terms, out, accumulate } =
            self;
        let (x, x_step) = terms;
        let (out, out_step) = out;
        for i in 0..rows {
            let out = &mut out[i * out_step..][..width];
            for (piece, out) in out.chunks_mut(TOGETHER * V::COUNT).enumerate() {
                let first = piece * TOGETHER * V::COUNT;
                let mut sums = [V::splat(R::default()); TOGETHER];
                for j in 0..count {
                    let factor = V::splat(a[i * i_step + j * j_step]);
                    let row = &x[j * x_step + first..][..out.len()];
                    for (sum, part) in sums.iter_mut().zip(row.chunks(V::COUNT)) {
                        *sum = factor.mul_add(load_some::<V>(part), *sum);
                    }
                }
                for (sum, out) in sums.into_iter().zip(out.chunks_mut(V::COUNT)) {
                    let sum = if accumulate { sum.add(load_some::<V>(out)) } else { sum };
                    store_some(sum, out);
                }
            }
        }
    }
}
