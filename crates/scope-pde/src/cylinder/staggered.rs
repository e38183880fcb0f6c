//! Velocities on the faces of S x S cells, with two rings of ghost values.
//!
//! The streamwise component lives on faces i = 0..=S between cells along axis 0, the crosswise one on faces
//! j = 0..=S along axis 1. Both use one layout, and so does the pressure: face or cell (i, j) at
//! `origin + i * pitch + j`. Every row begins at a cache line, so that vectors of a row and of the rows above and below
//! it take one each. Cells are one unit wide here: lengths are pixels.

use multiversion::multiversion;

use crate::linear::cache_lines::{CacheLines, DOUBLES};

/// The ghost rings on each side.
pub(super) const GHOSTS: usize = 2;

/// A pair of face velocities.
#[derive(Clone, Debug)]
pub(super) struct Staggered {
    pub(super) size: usize,
    /// Streamwise, faces \[S + 1, S\].
    pub(super) u: CacheLines<f64>,
    /// Crosswise, faces \[S, S + 1\].
    pub(super) v: CacheLines<f64>,
}

/// How many faces and ghosts a row has, and how many rows there are.
fn faces(size: usize) -> usize {
    size + 1 + 2 * GHOSTS
}

/// The distance in memory between neighbours along axis 0. The last numbers of a row's lines are the first ghosts of
/// the next.
pub(super) fn pitch(size: usize) -> usize {
    faces(size).next_multiple_of(DOUBLES)
}

/// The place of face or cell (0, 0).
pub(super) fn origin(size: usize) -> usize {
    GHOSTS * pitch(size) + DOUBLES
}

/// Zero on all faces, or in all cells, and all ghosts.
pub(super) fn zeros(size: usize) -> CacheLines<f64> {
    CacheLines::of(0.0, DOUBLES + faces(size) * pitch(size))
}

impl Staggered {
    pub(super) fn zero(size: usize) -> Self {
        Self { size, u: zeros(size), v: zeros(size) }
    }

    /// The place of face (0, 0).
    pub(super) fn origin(&self) -> usize {
        origin(self.size)
    }

    /// Sets boundary and ghost values: inflow at the first faces of axis 0, no slip on the walls of axis 1,
    /// nothing changing beyond the last face. The outflow face itself is left alone.
    pub(super) fn bound(&mut self, inflow: f64) {
        let size = self.size;
        let pitch = pitch(self.size);
        let origin = self.origin();
        let u = &mut *self.u;
        let v = &mut *self.v;
        for i in 0..=size {
            // The walls lie half a cell beyond the first and last u, and on the first and last v.
            let row = origin + i * pitch;
            (u[row - 1], u[row - 2]) = (-u[row], -u[row + 1]);
            (u[row + size], u[row + size + 1]) = (-u[row + size - 1], -u[row + size - 2]);
            (v[row], v[row + size]) = (0.0, 0.0);
            // Continuity makes the normal derivative of v vanish at a wall.
            (v[row - 1], v[row - 2]) = (v[row + 1], v[row + 2]);
            (v[row + size + 1], v[row + size + 2]) = (v[row + size - 1], v[row + size - 2]);
        }
        for column in 0..faces(size) {
            let first = origin - GHOSTS + column;
            let last = first + size * pitch;
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
