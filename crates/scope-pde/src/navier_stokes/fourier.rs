//! Two-dimensional complex transforms that skip what dealiasing throws away.
//!
//! Spectra are stored transposed: entry (k1, k2) of a field x\[i, j\] is at `k2 * S + k1`. Each direction
//! then needs one transposition only, and the wave numbers k2 that dealiasing zeroes are whole rows, which
//! are skipped.

use std::{ops::Range, sync::Arc};

use rustfft::{Fft, FftPlanner, num_complex::Complex};

use crate::linear::matrix::{transpose, transpose_columns};

/// Transforms of S x S complex fields whose retained wave numbers are |k| <= `cut`.
#[derive(Clone)]
pub(crate) struct Fourier {
    size: usize,
    cut: usize,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

/// Memory that transforms reuse.
pub(crate) struct Scratch {
    field: Vec<Complex<f64>>,
    fft: Vec<Complex<f64>>,
}

impl Fourier {
    pub(crate) fn new(size: usize, cut: usize) -> Self {
        let mut planner = FftPlanner::new();
        let forward = planner.plan_fft_forward(size);
        let inverse = planner.plan_fft_inverse(size);
        Self { size, cut, forward, inverse }
    }

    pub(crate) fn scratch(&self) -> Scratch {
        let length = self.forward.get_inplace_scratch_len().max(self.inverse.get_inplace_scratch_len());
        Scratch { field: vec![Complex::ZERO; self.size * self.size], fft: vec![Complex::ZERO; length] }
    }

    /// The entries of a transposed spectrum that belong to retained k2: the low rows and the negative ones.
    pub(crate) fn retained(&self) -> [Range<usize>; 2] {
        let size = self.size;
        let cut = self.cut;
        let low = (cut + 1).min(size);
        [0..low * size, (size - cut).max(low) * size..size * size]
    }

    /// Replaces a spectrum that is zero outside the retained rows by S^2 times its field.
    pub(crate) fn to_field(&self, spectrum: &mut Vec<Complex<f64>>, scratch: &mut Scratch) {
        for rows in self.retained() {
            self.inverse.process_with_scratch(&mut spectrum[rows], &mut scratch.fft);
        }
        transpose(spectrum, &mut scratch.field, self.size);
        std::mem::swap(spectrum, &mut scratch.field);
        self.inverse.process_with_scratch(spectrum, &mut scratch.fft);
    }

    /// Replaces a field by its spectrum; rows outside the retained ones hold nothing meaningful.
    pub(crate) fn to_spectrum(&self, field: &mut Vec<Complex<f64>>, scratch: &mut Scratch) {
        self.forward.process_with_scratch(field, &mut scratch.fft);
        for rows in self.retained() {
            let kept = rows.start / self.size..rows.end / self.size;
            transpose_columns(field, &mut scratch.field, self.size, kept);
        }
        std::mem::swap(field, &mut scratch.field);
        for rows in self.retained() {
            self.forward.process_with_scratch(&mut field[rows], &mut scratch.fft);
        }
    }
}
