//! The second sum of the moments, along axis 0, and the coefficients of a line of points.

use super::{
    super::{Kernel, lanes::Lanes},
    Sums,
    normal_equations::NormalEquations,
};
use crate::ops::{BASIS, POWERS};

/// The coefficients of one line of points.
pub(super) struct SolveRow<'a> {
    pub(super) degree: usize,
    pub(super) ridges: [f64; BASIS.len()],
    pub(super) shape: Sums,
    /// The lines q0 with sensors, with W_k(q0 - p0).
    pub(super) rows: &'a [(usize, [f64; POWERS])],
    /// \[sums, lines, stride\], and how many lines there are.
    pub(super) sums: &'a [f64],
    pub(super) lines: usize,
    /// \[coefficients, stride\], zeros.
    pub(super) solved: &'a mut [f64],
}

impl Kernel<f64> for SolveRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        match self.degree {
            2 => self.solve::<V, 5, 3, 6>(),
            _ => self.solve::<V, 9, 5, 15>(),
        }
    }
}

impl SolveRow<'_> {
    #[inline(always)]
    fn solve<V: Lanes<Real = f64>, const M: usize, const N: usize, const K: usize>(self) {
        let stride = self.shape.stride;
        // Two vectors at once: one alone would wait for its own sums.
        for column in (0..stride).step_by(2 * V::COUNT) {
            let [first, second] = self.moments::<V, M, N>(column);
            for (equations, column) in [(first, column), (second, column + V::COUNT)] {
                // No sensor is near any of these points: the fit is zero.
                if equations.mask[0][0].largest() == 0.0 {
                    continue;
                }
                let coefficients: [V; K] = equations.solve(&self.ridges);
                for (k, coefficient) in coefficients.into_iter().enumerate() {
                    let at = k * stride + column;
                    // SAFETY: lines are padded to a multiple of two vectors.
                    unsafe { coefficient.store(self.solved[at..].as_mut_ptr()) };
                }
            }
        }
    }

    /// The moments of two vectors of columns.
    #[inline(always)]
    fn moments<V: Lanes<Real = f64>, const M: usize, const N: usize>(
        &self,
        column: usize,
    ) -> [NormalEquations<V, M, N>; 2] {
        let mut equations = [NormalEquations::zero(); 2];
        for l in 0..M {
            self.sum_all(M - l, l, column, |which, k, sum| equations[which].mask[k][l] = sum);
        }
        for l in 0..N {
            self.sum_all(N - l, M + l, column, |which, k, sum| equations[which].values[k][l] = sum);
        }
        equations
    }

    /// Gives the first `count` powers of the sums at a place. As many as fit are summed in registers, which needs their
    /// number when this is compiled.
    #[inline(always)]
    fn sum_all<V: Lanes<Real = f64>>(
        &self,
        count: usize,
        place: usize,
        column: usize,
        mut give: impl FnMut(usize, usize, V),
    ) {
        macro_rules! counted {
            ($($count:literal)*) => {
                match count {
                    $($count => for (which, sums) in self.sum::<V, $count>(place, column).into_iter().enumerate() {
                        sums.into_iter().enumerate().for_each(|(k, sum)| give(which, k, sum));
                    })*
                    _ => {}
                }
            };
        }
        counted!(1 2 3 4 5 6 7 8 9);
    }

    /// sum over q0 of W_k(q0 - p0) S(q0, p1) for k below N, for two vectors of p1, where S is one of the first sums.
    #[inline(always)]
    fn sum<V: Lanes<Real = f64>, const N: usize>(&self, place: usize, column: usize) -> [[V; N]; 2] {
        let stride = self.shape.stride;
        let plane = &self.sums[place * self.lines * stride..][..self.lines * stride];
        let mut sums = [[V::splat(0.0); N]; 2];
        for (row, weights) in self.rows {
            let line = &plane[row * stride + column..][..2 * V::COUNT];
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
