//! The normal equations of a fit, solved for a vector of points at once.

use super::super::lanes::Lanes;
use crate::ops::{BASIS, BASIS_FACTORS, LEAST_PIVOT};

/// The moments \[power of x, power of y\] that a fit is made from, M powers of the mask and N of the values: of a fit
/// of degree d 2 d + 1 and d + 1. Those above power M - 1 (N - 1) together are not used.
#[derive(Clone, Copy)]
pub(super) struct NormalEquations<V, const M: usize, const N: usize> {
    /// sum of m w x^k y^l.
    pub(super) mask: [[V; M]; M],
    /// sum of m w v x^k y^l.
    pub(super) values: [[V; N]; N],
}

impl<V: Lanes<Real = f64>, const M: usize, const N: usize> NormalEquations<V, M, N> {
    /// No sensors.
    #[inline(always)]
    pub(super) fn zero() -> Self {
        let zero = V::splat(0.0);
        Self { mask: [[zero; M]; M], values: [[zero; N]; N] }
    }

    /// The K coefficients c of (A + ridge) c = b, by A = L L^T.
    #[inline(always)]
    pub(super) fn solve<const K: usize>(&self, ridges: &[f64; BASIS.len()]) -> [V; K] {
        let zero = V::splat(0.0);
        let mut lower = [[zero; K]; K];
        let mut inverse = [zero; K];
        for j in 0..K {
            for i in j..K {
                let mut entry = self.entry(i, j);
                for (left, right) in lower[i].iter().zip(&lower[j]).take(j) {
                    entry = entry.sub(left.mul(*right));
                }
                if i == j {
                    let pivot = entry.add(V::splat(ridges[j])).max(V::splat(LEAST_PIVOT));
                    inverse[j] = V::splat(1.0).div(pivot.sqrt());
                } else {
                    lower[i][j] = entry.mul(inverse[j]);
                }
            }
        }
        let mut solution = [zero; K];
        for i in 0..K {
            let (k, l) = BASIS[i];
            let mut rest = self.values[k][l].mul(V::splat(BASIS_FACTORS[i]));
            for j in 0..i {
                rest = rest.sub(lower[i][j].mul(solution[j]));
            }
            solution[i] = rest.mul(inverse[i]);
        }
        for i in (0..K).rev() {
            let mut rest = solution[i];
            for j in i + 1..K {
                rest = rest.sub(lower[j][i].mul(solution[j]));
            }
            solution[i] = rest.mul(inverse[i]);
        }
        solution
    }

    /// A\[i, j\] without its ridge.
    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> V {
        let (k, l) = BASIS[i];
        let (m, n) = BASIS[j];
        self.mask[k + m][l + n].mul(V::splat(BASIS_FACTORS[i] * BASIS_FACTORS[j]))
    }
}
