//! Two-dimensional complex transforms that skip what dealiasing throws away.
//!
//! Spectra are stored transposed: entry (k1, k2) of a field x\[i, j\] is at `k2 * S + k1`. Each direction
//! then needs one transposition only, and the wave numbers k2 that dealiasing zeroes are whole rows, which
//! are skipped.

use std::{ops::Range, sync::Arc};

use multiversion::multiversion;
use rustfft::{Fft, FftPlanner, num_complex::Complex};

use crate::linear::{
    cache_lines::CacheLines,
    matrix::{transpose, transpose_part},
};

/// Rows that are transformed together: few enough to stay in the first cache from one step to the next.
const TOGETHER: usize = 8;

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
    field: CacheLines<Complex<f64>>,
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
        Scratch {
            field: CacheLines::of(Complex::ZERO, self.size * self.size),
            fft: vec![Complex::ZERO; length],
        }
    }

    /// The entries of a transposed spectrum that belong to retained k2: the low rows and the negative ones.
    pub(crate) fn retained(&self) -> [Range<usize>; 2] {
        let size = self.size;
        let cut = self.cut;
        let low = (cut + 1).min(size);
        [0..low * size, (size - cut).max(low) * size..size * size]
    }

    /// Retained rows in blocks of [`TOGETHER`], the low ones and the negative ones of each.
    fn retained_together(&self) -> impl Iterator<Item = [Range<usize>; 2]> + use<> {
        let size = self.size;
        let kept = self.retained().map(|entries| entries.start / size..entries.end / size);
        (0..size).step_by(TOGETHER).map(move |first| {
            let end = first + TOGETHER;
            kept.clone().map(|kept| kept.start.clamp(first, end)..kept.end.clamp(first, end))
        })
    }

    /// Replaces a spectrum that is zero outside the retained rows by S^2 times its field.
    pub(crate) fn to_field(&self, spectrum: &mut [Complex<f64>], scratch: &mut Scratch) {
        for rows in self.retained() {
            self.inverse.process_with_scratch(&mut spectrum[rows], &mut scratch.fft);
        }
        transpose(spectrum, &mut scratch.field, self.size);
        self.inverse.process_with_scratch(&mut scratch.field, &mut scratch.fft);
        spectrum.copy_from_slice(&scratch.field);
    }

    /// Replaces a field by its spectrum; rows outside the retained ones hold nothing meaningful.
    pub(crate) fn to_spectrum(&self, field: &mut [Complex<f64>], scratch: &mut Scratch) {
        scratch.field.copy_from_slice(field);
        self.forward.process_with_scratch(&mut scratch.field, &mut scratch.fft);
        self.finish_spectrum(field, scratch);
    }

    /// Replaces the retained rows of a spectrum by those of `map` of its field: S^2 times the field of the spectrum's
    /// retained rows times `symbol`, which `map` is given some rows at a time.
    pub(crate) fn map_field(
        &self,
        spectrum: &mut [Complex<f64>],
        symbol: &[Complex<f64>],
        scratch: &mut Scratch,
        map: impl Fn(&mut [Complex<f64>]),
    ) {
        let size = self.size;
        let [low, negative] = self.retained();
        for rows in self.retained_together().flatten().filter(|rows| !rows.is_empty()) {
            let entries = rows.start * size..rows.end * size;
            multiply(&mut spectrum[entries.clone()], &symbol[entries.clone()]);
            self.inverse.process_with_scratch(&mut spectrum[entries], &mut scratch.fft);
        }
        for first in (0..size).step_by(TOGETHER) {
            let columns = first..(first + TOGETHER).min(size);
            for kept in [&low, &negative] {
                let kept = kept.start / size..kept.end / size;
                transpose_part(spectrum, &mut scratch.field, size, kept, columns.clone());
            }
            let field = &mut scratch.field[columns.start * size..columns.end * size];
            for row in field.chunks_exact_mut(size) {
                row[low.end / size..negative.start / size].fill(Complex::ZERO);
            }
            self.inverse.process_with_scratch(field, &mut scratch.fft);
            map(field);
            self.forward.process_with_scratch(field, &mut scratch.fft);
        }
        self.finish_spectrum(spectrum, scratch);
    }

    /// The second half of a transform: from the rows in the scratch memory, which are transformed, to the retained rows
    /// of a spectrum.
    fn finish_spectrum(&self, spectrum: &mut [Complex<f64>], scratch: &mut Scratch) {
        let size = self.size;
        for kept in self.retained_together() {
            // Both before either is transformed: neighbours of the one may be the other's.
            for columns in &kept {
                transpose_part(&scratch.field, spectrum, size, 0..size, columns.clone());
            }
            for rows in kept.into_iter().filter(|rows| !rows.is_empty()) {
                let entries = rows.start * size..rows.end * size;
                self.forward.process_with_scratch(&mut spectrum[entries], &mut scratch.fft);
            }
        }
    }
}

/// x_k *= y_k.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn multiply(x: &mut [Complex<f64>], y: &[Complex<f64>]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x *= y;
    }
}
