//! Velocities on the faces of S x S cells, with two rings of ghost values.
//!
//! The streamwise component lives on faces i = 0..=S between cells along axis 0, the crosswise one on faces
//! j = 0..=S along axis 1. Both use one layout: face (i, j) at `(i + 2) * pitch + j + 2`, pitch = S + 5.
//! Cells are one unit wide here: lengths are pixels.

use multiversion::multiversion;

/// The ghost rings on each side.
pub(super) const GHOSTS: usize = 2;

/// A pair of face velocities.
#[derive(Clone, Debug)]
pub(super) struct Staggered {
    pub(super) size: usize,
    /// Streamwise, faces \[S + 1, S\].
    pub(super) u: Vec<f64>,
    /// Crosswise, faces \[S, S + 1\].
    pub(super) v: Vec<f64>,
}

/// The distance in memory between neighbours along axis 0.
pub(super) fn pitch(size: usize) -> usize {
    size + 1 + 2 * GHOSTS
}

impl Staggered {
    pub(super) fn zero(size: usize) -> Self {
        let length = pitch(size) * pitch(size);
        Self { size, u: vec![0.0; length], v: vec![0.0; length] }
    }

    /// The place of face (0, 0).
    pub(super) fn origin(&self) -> usize {
        GHOSTS * pitch(self.size) + GHOSTS
    }

    /// Sets boundary and ghost values: inflow at the first faces of axis 0, no slip on the walls of axis 1,
    /// nothing changing beyond the last face. The outflow face itself is left alone.
    pub(super) fn bound(&mut self, inflow: f64) {
        let size = self.size;
        let pitch = pitch(self.size);
        let origin = self.origin();
        for i in 0..=size {
            // The walls lie half a cell beyond the first and last u, and on the first and last v.
            let row = origin + i * pitch;
            let u = &mut self.u;
            let v = &mut self.v;
            (u[row - 1], u[row - 2]) = (-u[row], -u[row + 1]);
            (u[row + size], u[row + size + 1]) = (-u[row + size - 1], -u[row + size - 2]);
            (v[row], v[row + size]) = (0.0, 0.0);
            // Continuity makes the normal derivative of v vanish at a wall.
            (v[row - 1], v[row - 2]) = (v[row + 1], v[row + 2]);
            (v[row + size + 1], v[row + size + 2]) = (v[row + size - 1], v[row + size - 2]);
        }
        for column in 0..pitch {
            let first = GHOSTS * pitch + column;
            let last = first + size * pitch;
            let u = &mut self.u;
            let v = &mut self.v;
            for row in [first, first - pitch, first - 2 * pitch] {
                u[row] = inflow;
            }
            (u[last + pitch], u[last + 2 * pitch]) = (u[last], u[last]);
            (v[first - pitch], v[first - 2 * pitch]) = (-v[first], -v[first + pitch]);
            let end = v[last - pitch];
            (v[last], v[last + pitch], v[last + 2 * pitch]) = (end, end, end);
        }
    }

    /// The speed at the centre of every cell, \[S, S\].
    pub(super) fn speed(&self) -> Vec<f64> {
        let size = self.size;
        let pitch = pitch(self.size);
        let origin = self.origin();
        let at = |cell: usize| origin + (cell / size) * pitch + cell % size;
        (0..size * size)
            .map(|cell| {
                let k = at(cell);
                (0.5 * (self.u[k] + self.u[k + pitch])).hypot(0.5 * (self.v[k] + self.v[k + 1]))
            })
            .collect()
    }

    /// The divergence of every cell, \[S, S\].
    pub(super) fn divergence(&self, out: &mut [f64]) {
        divergence(self, out);
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn divergence(flow: &Staggered, out: &mut [f64]) {
    let size = flow.size;
    let pitch = pitch(flow.size);
    let origin = flow.origin();
    for i in 0..size {
        let row = origin + i * pitch;
        let upstream = &flow.u[row..][..size];
        let downstream = &flow.u[row + pitch..][..size];
        let left = &flow.v[row..][..size];
        let right = &flow.v[row + 1..][..size];
        let out = &mut out[i * size..][..size];
        for j in 0..size {
            out[j] = downstream[j] - upstream[j] + right[j] - left[j];
        }
    }
}
