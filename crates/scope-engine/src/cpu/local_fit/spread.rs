//! The first sum of the moments: along axis 1, from every sensor of a line to the points within its reach.

use super::{
    super::{Kernel, lanes::Lanes},
    Sums,
    lines::Line,
    scale::Scale,
};

/// For one line q0 of sensors and every column p1: sum over q1 of m W_k(q1 - p1) for k = 0 to 2 d, then of m v W_k(q1 - p1) for
/// k = 0 to d, d the degree of the fits.
pub(super) struct SpreadRow<'a> {
    pub(super) scale: &'a Scale,
    pub(super) shape: Sums,
    pub(super) line: &'a Line,
    /// \[sums, stride\].
    pub(super) sums: &'a mut [f64],
}

impl Kernel<f64> for SpreadRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        let Sums { mask_powers, count, stride } = self.shape;
        self.sums.fill(0.0);
        for reading in &self.line.readings {
            for run in self.scale.window(1, reading.at).iter() {
                for sum in 0..count {
                    let factor = if sum < mask_powers { reading.mask } else { reading.value };
                    let line = &mut self.sums[sum * stride + run.first..][..run.weights[0].len()];
                    axpy(factor, &run.weights[sum % mask_powers], line);
                }
            }
        }
    }
}

/// y += factor x, of equal lengths. The compiler makes vectors of it.
#[inline(always)]
fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}
