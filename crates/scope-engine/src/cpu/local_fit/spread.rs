//! The first sum of the moments: along axis 1, from every sensor of a line to the points within its reach.

use super::{
    super::{Kernel, Shared, lanes::Lanes},
    Sums,
    lines::Line,
    scale::Scale,
};

/// For one line q0 of sensors and every column p1: sum over q1 of m W_k(q1 - p1) for k = 0 to 2 d, then of m v W_k(q1 -
/// p1) for k = 0 to d, d the degree of the fits.
pub(super) struct SpreadRow<'a> {
    pub(super) scale: &'a Scale,
    pub(super) degree: usize,
    pub(super) shape: Sums,
    pub(super) line: &'a Line,
    /// The sums of all lines of the scale, \[sums, lines, stride\]: those of one power lie together, since they are
    /// read so.
    pub(super) sums: Shared<f64>,
    /// How many lines there are, and which this is.
    pub(super) lines: usize,
    pub(super) at: usize,
}

impl Kernel<f64> for SpreadRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes<Real = f64>>(self) {
        match self.degree {
            2 => self.spread::<V, 5, 3>(),
            _ => self.spread::<V, 9, 5>(),
        }
    }
}

impl SpreadRow<'_> {
    /// M powers of the mask and N of the values, a vector of columns after the other: its sums stay in registers.
    #[inline(always)]
    fn spread<V: Lanes<Real = f64>, const M: usize, const N: usize>(self) {
        let stride = self.shape.stride;
        let readings: Vec<_> = self
            .line
            .readings
            .iter()
            .map(|reading| (self.scale.weights(1, reading.at), reading.mask, reading.value))
            .collect();
        for column in (0..stride).step_by(V::COUNT) {
            let mut masks = [V::splat(0.0); M];
            let mut values = [V::splat(0.0); N];
            for (weights, mask, value) in &readings {
                let weights = &weights[column..][..(M - 1) * stride + V::COUNT];
                let mask = V::splat(*mask);
                let value = V::splat(*value);
                for k in 0..M {
                    // SAFETY: the slice reaches a vector beyond its last power's beginning.
                    let weight = unsafe { V::load(weights.as_ptr().add(k * stride)) };
                    masks[k] = weight.mul_add(mask, masks[k]);
                    if k < N {
                        values[k] = weight.mul_add(value, values[k]);
                    }
                }
            }
            for (sum, vector) in masks.into_iter().chain(values).enumerate() {
                // SAFETY: every line is written by one task, and lies inside the sums.
                unsafe { vector.store(self.sums.get().add((sum * self.lines + self.at) * stride + column)) };
            }
        }
    }
}
