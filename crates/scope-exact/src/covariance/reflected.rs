//! The covariance of a field with Neumann boundary behaviour: a stationary kernel and its reflections.
//!
//! phi_k(i) phi_k(i') = (s_k^2 / 2) (cos(pi k (i - i') / S) + cos(pi k (i + i' + 1) / S)), so with
//!
//! ```text
//! T(d, e) = sum_k (c_k s_k1 s_k2 / 2)^2 cos(pi k1 d / S) cos(pi k2 e / S)
//! C((i, j), (i', j')) = T(d, e) + T(d*, e) + T(d, e*) + T(d*, e*),   d = |i - i'|, d* = i + i' + 1, e alike.
//! ```
//!
//! T is even about S as well as about 0, so 0..=S is table enough.

use std::f64::consts::PI;

use scope_pde::{
    linear::{
        ParityBasis,
        matrix::{View, ViewMut, multiply},
    },
    random::NeumannField,
};

pub(crate) struct Reflected {
    size: usize,
    /// \[S + 1, S + 1\]: T.
    table: Vec<f64>,
    basis: ParityBasis,
    /// \[S, S\]: c_k^2.
    variances: Vec<f64>,
}

impl Reflected {
    pub(crate) fn new(field: &NeumannField) -> Self {
        let basis = field.basis().clone();
        let variances: Vec<f64> = field.deviations().iter().map(|c| c * c).collect();
        let size = basis.points();
        let table = table(&variances, size);
        Self { size, table, basis, variances }
    }

    pub(crate) fn between(&self, p: usize, q: usize) -> f64 {
        let size = self.size;
        let width = size + 1;
        let (i, j, k, l) = (p / size, p % size, q / size, q % size);
        let near = &self.table[i.abs_diff(k) * width..][..width];
        let far = &self.table[self.fold(i + k + 1) * width..][..width];
        let e = j.abs_diff(l);
        let reflected = self.fold(j + l + 1);
        near[e] + far[e] + near[reflected] + far[reflected]
    }

    pub(crate) fn row(&self, p: usize, out: &mut [f64]) {
        let size = self.size;
        let width = size + 1;
        let (i, j) = (p / size, p % size);
        let mut both = vec![0.0; width];
        for (k, out) in out.chunks_exact_mut(size).enumerate() {
            let near = &self.table[i.abs_diff(k) * width..][..width];
            let far = &self.table[self.fold(i + k + 1) * width..][..width];
            for ((both, near), far) in both.iter_mut().zip(near).zip(far) {
                *both = near + far;
            }
            for (l, out) in out.iter_mut().enumerate() {
                *out = both[j.abs_diff(l)] + both[self.fold(j + l + 1)];
            }
        }
    }

    /// Multiplies each cosine coefficient by a function of its variance.
    pub(crate) fn filter(&self, mut field: Vec<f64>, factor: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut scratch = vec![0.0; field.len()];
        self.basis.analyse_both(&mut field, &mut scratch);
        for (x, variance) in field.iter_mut().zip(&self.variances) {
            *x *= factor(*variance);
        }
        self.basis.synthesise_both(&mut field, &mut scratch);
        field
    }

    fn fold(&self, d: usize) -> usize {
        d.min(2 * self.size - d)
    }
}

/// T = X V X^T with X(d, k) = cos(pi k d / S).
fn table(variances: &[f64], size: usize) -> Vec<f64> {
    let width = size + 1;
    // (s_k / sqrt 2)^2, s_k the scale of the k-th cosine.
    let share = |k: usize| if k == 0 { 0.5 / size as f64 } else { 1.0 / size as f64 };
    let weights: Vec<f64> = variances
        .iter()
        .enumerate()
        .map(|(at, variance)| variance * share(at / size) * share(at % size))
        .collect();
    // k d mod 2 S keeps the argument small, and with it the error of the cosine.
    let angle = |d: usize, k: usize| PI * ((d * k) % (2 * size)) as f64 / size as f64;
    let cosines: Vec<f64> = (0..width * size).map(|at| angle(at / size, at % size).cos()).collect();
    let mut half = vec![0.0; width * size];
    let mut table = vec![0.0; width * width];
    let cosines = View::new(&cosines, width, size);
    multiply(cosines, View::new(&weights, size, size), ViewMut { data: &mut half, row_stride: size });
    let half = View::new(&half, width, size);
    multiply(half, cosines.transposed(), ViewMut { data: &mut table, row_stride: width });
    table
}
