//! The Gaussian random field of the Navier-Stokes initial vorticity, periodic on the unit square.
//!
//! w = Re IFFT( S^2 sqrt(2) tau^(3/2) (4 pi^2 |k|^2 + tau^2)^(-5/4) (N + i N) ), tau = 7, zero mean. Taking
//! the real part makes a mode and its conjugate share one complex normal of half the variance per
//! component.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use rand::RngExt;
use rand_distr::StandardNormal;
use rustfft::num_complex::Complex;

use super::Stream;

const TAU: f64 = 7.0;

/// Draws the spectrum of w ~ N(0, 2 tau^3 (-Lap + tau^2)^(-5/2)) on S x S periodic points.
#[derive(Clone, Debug)]
pub struct PeriodicField {
    size: usize,
}

impl PeriodicField {
    /// Plans fields on `size` x `size` points, `size` even.
    pub fn new(size: usize) -> Self {
        assert!(size.is_multiple_of(2), "a periodic field needs an even number of points");
        Self { size }
    }

    /// The standard deviation of the unnormalised coefficient of wave number (k1, k2).
    pub fn deviation(&self, k1: i64, k2: i64) -> f64 {
        let square = 4.0 * PI * PI * (k1 * k1 + k2 * k2) as f64 + TAU * TAU;
        (self.size * self.size) as f64 * SQRT_2 * TAU.powf(1.5) * square.powf(-1.25)
    }

    /// The exact variance of any point, 2 tau^3 sum_k (4 pi^2 |k|^2 + tau^2)^(-5/2).
    pub fn variance(&self) -> f64 {
        let half = self.size as i64 / 2;
        let points = (self.size * self.size) as f64;
        let mut sum = 0.0;
        for k1 in -half..half {
            for k2 in -half..half {
                if (k1, k2) != (0, 0) {
                    sum += (self.deviation(k1, k2) / points).powi(2);
                }
            }
        }
        sum
    }

    /// One draw of the unnormalised spectrum \[S, S\]: w_ij = S^-2 sum_k what_k exp(2 pi i (k1 i + k2 j) /
    /// S), entry (k1 mod S, k2 mod S). Modes take normals by growing max(|k1|, |k2|), the Nyquist ones
    /// last, so that the same stream gives the same low modes at every resolution.
    pub fn draw(&self, stream: &mut Stream) -> Vec<Complex<f64>> {
        let half = self.size as i64 / 2;
        let mut spectrum = vec![Complex::ZERO; self.size * self.size];
        for shell in 1..=half {
            for k1 in -shell..=shell {
                // Whole rows on two sides of the ring, single points on the other two.
                let step = if k1.abs() == shell { 1 } else { 2 * shell as usize };
                for k2 in (-shell..=shell).step_by(step) {
                    self.draw_mode(k1, k2, stream, &mut spectrum);
                }
            }
        }
        spectrum
    }

    /// Draws the mode and its conjugate, once: the first of the two to be visited takes the normals.
    fn draw_mode(&self, k1: i64, k2: i64, stream: &mut Stream, spectrum: &mut [Complex<f64>]) {
        let index = |k1: i64, k2: i64| {
            let wrap = |k: i64| k.rem_euclid(self.size as i64) as usize;
            wrap(k1) * self.size + wrap(k2)
        };
        let here = index(k1, k2);
        let conjugate = index(-k1, -k2);
        if spectrum[here] != Complex::ZERO {
            return;
        }
        let deviation = self.deviation(k1, k2);
        let mut normal = || -> f64 { stream.sample(StandardNormal) };
        if here == conjugate {
            spectrum[here] = Complex::new(deviation * normal(), 0.0);
        } else {
            let value = Complex::new(normal(), normal()) * (deviation * FRAC_1_SQRT_2);
            spectrum[here] = value;
            spectrum[conjugate] = value.conj();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Coordinates;

    #[test]
    fn the_variance_is_the_published_one() {
        // E w0^2 = 0.0686225, the square of 0.2619589 (data specification, sections 3 and 5).
        let variance = PeriodicField::new(128).variance();
        assert!((variance - 0.0686225).abs() < 5e-8, "{variance}");
        assert!((variance.sqrt() - 0.2619589).abs() < 5e-8);
    }

    #[test]
    fn a_spectrum_is_hermitian_with_zero_mean() {
        let size = 32;
        let spectrum = PeriodicField::new(size).draw(&mut Coordinates::new("test").stream());
        assert_eq!(spectrum[0], Complex::ZERO);
        for k1 in 0..size {
            for k2 in 0..size {
                let mirror = ((size - k1) % size) * size + (size - k2) % size;
                assert_eq!(spectrum[k1 * size + k2], spectrum[mirror].conj());
                assert!((k1, k2) == (0, 0) || spectrum[k1 * size + k2] != Complex::ZERO);
            }
        }
    }

    #[test]
    fn low_modes_do_not_depend_on_the_resolution() {
        let stream = || Coordinates::new("test").number(5).stream();
        let coarse = PeriodicField::new(32).draw(&mut stream());
        let fine = PeriodicField::new(64).draw(&mut stream());
        for (k1, k2) in [(0usize, 3usize), (7, 2), (15, 15), (32 - 4, 9)] {
            let wide = |k: usize| if k < 16 { k } else { k + 32 };
            let ratio = fine[wide(k1) * 64 + wide(k2)] / coarse[k1 * 32 + k2];
            assert!((ratio - Complex::new(4.0, 0.0)).norm() < 1e-12);
        }
    }

    #[test]
    fn sample_energy_agrees_with_the_variance() {
        let size = 32;
        let draws = 400;
        let field = PeriodicField::new(size);
        let points = (size * size) as f64;
        let energies: Vec<f64> = (0..draws)
            .map(|n| {
                let spectrum = field.draw(&mut Coordinates::new("energy").number(n).stream());
                spectrum.iter().map(|c| c.norm_sqr()).sum::<f64>() / (points * points)
            })
            .collect();
        let mean = energies.iter().sum::<f64>() / draws as f64;
        let spread = energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / draws as f64;
        assert!((mean - field.variance()).abs() < 4.0 * (spread / draws as f64).sqrt());
    }
}
