//! The second sum of the moments, along axis 0, and the coefficients of a line of pixels.

use super::{
    super::{Kernel, lanes::Lanes},
    MASK_POWERS, SUMS,
    normal_equations::NormalEquations,
};
use crate::ops::COEFFICIENTS;

/// The coefficients of one line of pixels.
pub(super) struct SolveRow<'a> {
    pub(super) ridges: [f64; COEFFICIENTS],
    pub(super) stride: usize,
    /// The lines q0 with sensors, with W_k(q0 - p0).
    pub(super) rows: &'a [(usize, [f64; 5])],
    /// \[lines, SUMS, stride\].
    pub(super) sums: &'a [f64],
    /// \[6, stride\], zeros.
    pub(super) solved: &'a mut [f64],
}

impl Kernel<f64> for SolveRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        // Two vectors at once: one alone would wait for its own sums.
        for column in (0..self.stride).step_by(2 * V::COUNT) {
            let [first, second] = self.moments::<V>(column);
            for (equations, column) in [(first, column), (second, column + V::COUNT)] {
                // No sensor is near any of these pixels: the fit is zero.
                if equations.mask[0][0].largest() == 0.0 {
                    continue;
                }
                let coefficients = equations.solve(&self.ridges);
                for (k, coefficient) in coefficients.into_iter().enumerate() {
                    let at = k * self.stride + column;
                    // SAFETY: lines are padded to a multiple of two vectors.
                    unsafe { coefficient.store(self.solved[at..].as_mut_ptr()) };
                }
            }
        }
    }
}

impl SolveRow<'_> {
    /// The moments of two vectors of columns.
    #[inline(always)]
    fn moments<V: Lanes<Real = f64>>(&self, column: usize) -> [NormalEquations<V>; 2] {
        let zero = V::splat(0.0);
        let mut equations = [NormalEquations { mask: [[zero; 5]; 5], values: [[zero; 3]; 3] }; 2];
        macro_rules! sum {
            ($part:ident, $power:expr, $count:expr, $place:expr) => {
                let sums = self.sum::<V, $count>($place, column);
                for (equations, sums) in equations.iter_mut().zip(sums) {
                    for (k, sum) in sums.into_iter().enumerate() {
                        equations.$part[k][$power] = sum;
                    }
                }
            };
        }
        sum!(mask, 0, 5, 0);
        sum!(mask, 1, 4, 1);
        sum!(mask, 2, 3, 2);
        sum!(mask, 3, 2, 3);
        sum!(mask, 4, 1, 4);
        sum!(values, 0, 3, MASK_POWERS);
        sum!(values, 1, 2, MASK_POWERS + 1);
        sum!(values, 2, 1, MASK_POWERS + 2);
        equations
    }

    /// sum over q0 of W_k(q0 - p0) S(q0, p1) for k below N, for two vectors of p1, where S is one of the first sums.
    #[inline(always)]
    fn sum<V: Lanes<Real = f64>, const N: usize>(&self, place: usize, column: usize) -> [[V; N]; 2] {
        let mut sums = [[V::splat(0.0); N]; 2];
        for (row, weights) in self.rows {
            let line = &self.sums[(row * SUMS + place) * self.stride + column..][..2 * V::COUNT];
            // SAFETY: the slice is two vectors long.
            let pair = unsafe { [V::load(line.as_ptr()), V::load(line.as_ptr().add(V::COUNT))] };
            for k in 0..N {
                let weight = V::splat(weights[k]);
                sums[0][k] = pair[0].mul_add(weight, sums[0][k]);
                sums[1][k] = pair[1].mul_add(weight, sums[1][k]);
            }
        }
        sums
    }
}
