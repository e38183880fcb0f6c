//! How latents differ from record to record: each coordinate's standard deviation, and the spectrum of the tokens'
//! covariance.
//!
//! Of z \[tokens, width\] over n records: s_tj is the standard deviation of coordinate j of token t (divisor n, as
//! in training), and C = mean over records and tokens of (z_t - E z_t)(z_t - E z_t)^T, \[width, width\].

use serde::Serialize;

use scope_pde::linear::eigen::{Eigen, symmetric_eigen};

/// The floor that training puts under every coordinate's standard deviation (paper, gamma).
pub(super) const FLOOR: f64 = 0.1;

/// How a latent differs from record to record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The standard deviations of all coordinates.
    pub sd: Quantiles,
    /// The share of coordinates under training's floor of 0.1.
    pub below_floor: f64,
    /// exp of the entropy of the eigenvalues' shares: as many directions of a token matter. From 1 to the width; none
    /// if nothing varies.
    pub effective_rank: Option<f64>,
    /// (sum of eigenvalues)^2 / sum of squares: the same, less impressed by small ones.
    pub participation: Option<f64>,
    /// The eigenvalues of C, largest first.
    pub spectrum: Vec<f64>,
}

/// Where numbers lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// The least standard deviation.
    pub min: f64,
    /// A twentieth is below.
    pub p05: f64,
    /// Half is below.
    pub median: f64,
    /// Their mean.
    pub mean: f64,
    /// A twentieth is above.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

/// Sums over records. They are taken relative to the first record, so that a mean far from zero costs no digits.
#[derive(Debug)]
pub(super) struct SpreadSums {
    width: usize,
    count: usize,
    origin: Vec<f32>,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// Sum over records and tokens of y y^T, y = z - origin.
    products: Vec<f64>,
}

impl SpreadSums {
    pub(super) fn new(width: usize) -> Self {
        let products = vec![0.0; width * width];
        Self { width, count: 0, origin: Vec::new(), sums: Vec::new(), squares: Vec::new(), products }
    }

    /// Adds a record's latents, \[tokens, width\].
    pub(super) fn add(&mut self, latents: &[f32]) {
        if self.count == 0 {
            self.origin = latents.to_vec();
            self.sums = vec![0.0; latents.len()];
            self.squares = vec![0.0; latents.len()];
        }
        self.count += 1;
        let shifted: Vec<f64> =
            latents.iter().zip(&self.origin).map(|(z, origin)| f64::from(*z) - f64::from(*origin)).collect();
        for ((y, sum), square) in shifted.iter().zip(&mut self.sums).zip(&mut self.squares) {
            *sum += y;
            *square += y * y;
        }
        shifted.chunks(self.width).for_each(|token| add_outer(&mut self.products, token, 1.0));
    }

    /// C, \[width, width\].
    pub(super) fn covariance(&self) -> Vec<f64> {
        let mut centred = self.products.clone();
        let count = self.count as f64;
        for sums in self.sums.chunks(self.width) {
            add_outer(&mut centred, sums, -1.0 / count);
        }
        let tokens = self.sums.len() / self.width;
        centred.iter_mut().for_each(|x| *x /= count * tokens as f64);
        centred
    }

    pub(super) fn finish(&self) -> Spread {
        let count = self.count as f64;
        let variance = |sum: &f64, square: &f64| (square / count - (sum / count).powi(2)).max(0.0);
        let mut sd: Vec<f64> =
            self.sums.iter().zip(&self.squares).map(|(sum, square)| variance(sum, square).sqrt()).collect();
        sd.sort_by(f64::total_cmp);
        let below = sd.iter().filter(|s| **s < FLOOR).count();
        let Eigen { values, .. } = symmetric_eigen(&self.covariance(), self.width);
        // What rounding leaves below zero is zero.
        let spectrum: Vec<f64> = values.into_iter().map(|value| value.max(0.0)).collect();
        let [effective_rank, participation] = ranks(&spectrum);
        Spread {
            below_floor: below as f64 / sd.len() as f64,
            sd: Quantiles::of_sorted(&sd),
            effective_rank,
            participation,
            spectrum,
        }
    }
}

/// products += factor x x^T.
pub(super) fn add_outer(products: &mut [f64], x: &[f64], factor: f64) {
    for (row, a) in products.chunks_mut(x.len()).zip(x) {
        let a = factor * a;
        row.iter_mut().zip(x).for_each(|(entry, b)| *entry += a * b);
    }
}

/// The effective rank and the participation ratio of a spectrum.
fn ranks(spectrum: &[f64]) -> [Option<f64>; 2] {
    let total: f64 = spectrum.iter().sum();
    if total <= 0.0 {
        return [None, None];
    }
    let shares = || spectrum.iter().map(|value| value / total).filter(|share| *share > 0.0);
    let entropy: f64 = shares().map(|share| -share * share.ln()).sum();
    let squares: f64 = shares().map(|share| share * share).sum();
    [Some(entropy.exp()), Some(1.0 / squares)]
}

impl Quantiles {
    /// The quantiles of numbers in ascending order; at least one.
    fn of_sorted(sorted: &[f64]) -> Self {
        let last = sorted.len() - 1;
        let at = |share: f64| sorted[(share * last as f64).round() as usize];
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Self { min: sorted[0], p05: at(0.05), median: at(0.5), mean, p95: at(0.95), max: sorted[last] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(width: usize, records: &[&[f32]]) -> Spread {
        let mut sums = SpreadSums::new(width);
        records.iter().for_each(|record| sums.add(record));
        sums.finish()
    }

    #[test]
    fn equal_directions_count_fully_and_a_line_counts_once() {
        // Two tokens of width two: the corners of a square, and one that never moves but is far away.
        let far = 1e6_f32;
        let square = spread(
            2,
            &[&[1.0, 1.0, far, far], &[-1.0, 1.0, far, far], &[1.0, -1.0, far, far], &[-1.0, -1.0, far, far]],
        );
        assert_eq!(square.spectrum, [0.5, 0.5]);
        assert!((square.effective_rank.unwrap() - 2.0).abs() < 1e-12);
        assert!((square.participation.unwrap() - 2.0).abs() < 1e-12);
        assert_eq!((square.sd.min, square.sd.max, square.below_floor), (0.0, 1.0, 0.5));
        let line = spread(2, &[&[3.0, 4.0], &[-3.0, -4.0]]);
        assert!((line.spectrum[0] - 25.0).abs() < 1e-12 && line.spectrum[1].abs() < 1e-12);
        assert!((line.effective_rank.unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_never_changes_has_no_rank() {
        let still = spread(2, &[&[3.0, 4.0], &[3.0, 4.0]]);
        assert_eq!((still.effective_rank, still.participation, still.below_floor), (None, None, 1.0));
    }

    #[test]
    fn ranks_of_known_spectra() {
        let [rank, participation] = ranks(&[3.0, 1.0]);
        let entropy = 0.75 * (4.0_f64 / 3.0).ln() + 0.25 * 4.0_f64.ln();
        assert!((rank.unwrap() - entropy.exp()).abs() < 1e-12);
        assert!((participation.unwrap() - 1.6).abs() < 1e-12);
    }
}
