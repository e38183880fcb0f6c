//! The normal equations of a fit, solved for a vector of pixels at once.

use super::super::lanes::Lanes;
use crate::ops::{COEFFICIENTS, LEAST_PIVOT};

/// Powers of x and y in each basis function, and its factor: 1, x, y, x^2/2, xy, y^2/2.
const BASIS: [(usize, usize, f64); COEFFICIENTS] =
    [(0, 0, 1.0), (1, 0, 1.0), (0, 1, 1.0), (2, 0, 0.5), (1, 1, 1.0), (0, 2, 0.5)];

/// The moments \[power of x, power of y\] that a fit is made from; those above the fourth (second) power are not used.
#[derive(Clone, Copy)]
pub(super) struct NormalEquations<V> {
    /// sum of m w x^k y^l.
    pub(super) mask: [[V; 5]; 5],
    /// sum of m w v x^k y^l.
    pub(super) values: [[V; 3]; 3],
}

impl<V: Lanes<Real = f64>> NormalEquations<V> {
    /// The coefficients c of (A + ridge) c = b, by A = L L^T.
    #[inline(always)]
    pub(super) fn solve(&self, ridges: &[f64; COEFFICIENTS]) -> [V; COEFFICIENTS] {
        let zero = V::splat(0.0);
        let mut lower = [[zero; COEFFICIENTS]; COEFFICIENTS];
        let mut inverse = [zero; COEFFICIENTS];
        for j in 0..COEFFICIENTS {
            for i in j..COEFFICIENTS {
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
        let mut solution = [zero; COEFFICIENTS];
        for i in 0..COEFFICIENTS {
            let (k, l, factor) = BASIS[i];
            let mut rest = self.values[k][l].mul(V::splat(factor));
            for j in 0..i {
                rest = rest.sub(lower[i][j].mul(solution[j]));
            }
            solution[i] = rest.mul(inverse[i]);
        }
        for i in (0..COEFFICIENTS).rev() {
            let mut rest = solution[i];
            for j in i + 1..COEFFICIENTS {
                rest = rest.sub(lower[j][i].mul(solution[j]));
            }
            solution[i] = rest.mul(inverse[i]);
        }
        solution
    }

    /// A\[i, j\] without its ridge.
    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> V {
        let ((k, l, a), (m, n, b)) = (BASIS[i], BASIS[j]);
        self.mask[k + m][l + n].mul(V::splat(a * b))
    }
}
