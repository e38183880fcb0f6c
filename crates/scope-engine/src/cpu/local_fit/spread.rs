//! The first sum of the moments: along axis 1, from every sensor of a line to the pixels within its reach.

use super::{
    super::{Kernel, lanes::Lanes},
    MASK_POWERS, SUMS,
    lines::Line,
    scale::Scale,
};

/// For one line q0 of sensors and every column p1: sum over q1 of m W_k(q1 - p1) for k = 0 to 4, then of m v W_k(q1 - p1) for
/// k = 0 to 2.
pub(super) struct SpreadRow<'a> {
    pub(super) scale: &'a Scale,
    pub(super) width: usize,
    pub(super) stride: usize,
    pub(super) line: &'a Line,
    /// \[SUMS, stride\].
    pub(super) sums: &'a mut [f64],
}

impl Kernel<f64> for SpreadRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        self.sums.fill(0.0);
        for reading in &self.line.readings {
            let window = self.scale.window(reading.at);
            for sum in 0..SUMS {
                let factor = if sum < MASK_POWERS { reading.mask } else { reading.value };
                let line = &mut self.sums[sum * self.stride..][..self.width];
                let weights = &window.weights[sum % MASK_POWERS];
                // Columns beyond an end are left out, or come in at the other.
                for shift in self.scale.shifts(1) {
                    let first = window.first + shift;
                    let (low, before) = (first.max(0) as usize, (-first).max(0) as usize);
                    if low < line.len() && before < weights.len() {
                        axpy(factor, &weights[before..], &mut line[low..]);
                    }
                }
            }
        }
    }
}

/// y += factor x, as far as both go. The compiler makes vectors of it.
#[inline(always)]
fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}
