//! The first sum of the moments: along axis 1, from every sensor of a line to the pixels within its reach.

use super::{
    super::{Kernel, Real, lanes::Lanes},
    MASK_POWERS, SUMS, Scale,
};

/// For one line q0 and every column p1: sum over q1 of m W_k(q1 - p1) for k = 0 to 4, then of m v W_k(q1 - p1) for k = 0 to 2.
pub(super) struct SpreadRow<'a, R> {
    pub(super) scale: &'a Scale,
    pub(super) periodic: bool,
    pub(super) stride: usize,
    pub(super) values: &'a [R],
    pub(super) mask: &'a [R],
    /// \[SUMS, stride\].
    pub(super) sums: &'a mut [f64],
}

impl<R: Real> Kernel<f64> for SpreadRow<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        let (width, reach) = (self.mask.len(), self.scale.reach[1]);
        let tables = &self.scale.weights[1];
        self.sums.fill(0.0);
        for (q, (value, mask)) in self.values.iter().zip(self.mask).enumerate() {
            let (value, mask) = (value.wide(), mask.wide());
            if mask == 0.0 {
                continue;
            }
            // W_k(q - p) = (-1)^k W_k(p - q), and the table runs with p - q.
            for sum in 0..SUMS {
                let power = sum % MASK_POWERS;
                let size = if sum < MASK_POWERS { mask } else { value };
                let factor = if power % 2 == 1 { -size } else { size };
                let line = &mut self.sums[sum * self.stride..][..width];
                let table = &tables[power];
                // Columns from q - reach; those beyond an end are left out, or come in at the other.
                let (low, high) = (q.saturating_sub(reach), (q + reach + 1).min(width));
                axpy(factor, &table[low + reach - q..], &mut line[low..high]);
                if self.periodic {
                    let below = reach.saturating_sub(q);
                    axpy(factor, table, &mut line[width - below..]);
                    let above = (q + reach + 1).saturating_sub(width);
                    axpy(factor, &table[2 * reach + 1 - above..], &mut line[..above]);
                }
            }
        }
    }
}

/// y += factor x, as far as y goes. The compiler makes vectors of it.
#[inline(always)]
fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}
