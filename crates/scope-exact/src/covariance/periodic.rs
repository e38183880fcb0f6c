//! The covariance of a periodic stationary field: C(p, q) = T(p - q).

use scope_pde::{navier_stokes::Vorticity, random::PeriodicField};

pub(crate) struct Periodic {
    size: usize,
    /// \[S, S\]: T by offset modulo S.
    table: Vec<f64>,
    /// A solver, used only for its transforms between fields and spectra.
    transforms: Vorticity,
    /// \[S, S\]: the eigenvalue S^-2 deviation_k^2 of each mode; symmetric in k1 and k2, so equal to its transpose.
    variances: Vec<f64>,
}

impl Periodic {
    pub(crate) fn new(field: &PeriodicField, size: usize) -> Self {
        let wave = |k: usize| if 2 * k < size { k as i64 } else { k as i64 - size as i64 };
        let points = (size * size) as f64;
        let variance = |at: usize| match (wave(at / size), wave(at % size)) {
            (0, 0) => 0.0,
            (k1, k2) => field.deviation(k1, k2).powi(2) / points,
        };
        let variances: Vec<f64> = (0..size * size).map(variance).collect();
        let transforms = Vorticity::unforced(size);
        let mut periodic = Self { size, table: Vec::new(), transforms, variances };
        let mut delta = vec![0.0; size * size];
        delta[0] = 1.0;
        periodic.table = periodic.filter(delta, |variance| variance);
        periodic
    }

    pub(crate) fn between(&self, p: usize, q: usize) -> f64 {
        let size = self.size;
        let offset = |x: usize, y: usize| (x + size - y) % size;
        self.table[offset(p / size, q / size) * size + offset(p % size, q % size)]
    }

    /// T is even, so that row p is the table moved by p.
    pub(crate) fn row(&self, p: usize, out: &mut [f64]) {
        let size = self.size;
        let (i, j) = (p / size, p % size);
        for (k, out) in out.chunks_exact_mut(size).enumerate() {
            let row = &self.table[(k + size - i) % size * size..][..size];
            out[j..].copy_from_slice(&row[..size - j]);
            out[..j].copy_from_slice(&row[size - j..]);
        }
    }

    /// Multiplies each Fourier coefficient by a function of its variance.
    pub(crate) fn filter(&self, field: Vec<f64>, factor: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut spectrum = self.transforms.spectrum(&field);
        for (x, variance) in spectrum.iter_mut().zip(&self.variances) {
            *x *= factor(*variance);
        }
        self.transforms.field(&spectrum)
    }
}
