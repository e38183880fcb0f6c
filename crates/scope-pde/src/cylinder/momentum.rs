//! The explicit part of the momentum equation: advection and diffusion.
//!
//! d q/dt = -(v . grad) q + nu Lap q for each component q, in pixel units (spacing 1). Advection uses the
//! third-order upwind-biased difference, per axis
//!
//!   c (q_{-2} - 8 q_{-1} + 8 q_{+1} - q_{+2}) / 12 + |c| (q_{-2} - 4 q_{-1} + 6 q_0 - 4 q_{+1} + q_{+2}) /
//! 12,
//!
//! whose second term damps what the grid cannot carry; diffusion uses the five-point Laplacian.

use multiversion::multiversion;

use super::staggered::{Staggered, pitch};

/// Sets `rate` to the explicit rates of change on the faces that move: u on 1..S along axis 0, v on 1..S
/// along axis 1. `flow` must be bounded.
pub(super) fn rates(flow: &Staggered, viscosity: f64, rate: &mut Staggered) {
    let (size, pitch, origin) = (flow.size, pitch(flow.size), flow.origin());
    for i in 1..size {
        let row = origin + i * pitch;
        // v on the four faces around a face of u.
        let around = [row - pitch, row - pitch + 1, row, row + 1].map(|at| &flow.v[at..][..size]);
        let q = stencil(&flow.u, row, pitch, size);
        streamwise(&q, &around, viscosity, &mut rate.u[row..][..size]);
    }
    for i in 0..size {
        let row = origin + i * pitch + 1;
        // u on the four faces around a face of v.
        let around = [row - 1, row, row - 1 + pitch, row + pitch].map(|at| &flow.u[at..][..size - 1]);
        let q = stencil(&flow.v, row, pitch, size - 1);
        crosswise(&q, &around, viscosity, &mut rate.v[row..][..size - 1]);
    }
}

/// A row of a component and its neighbours.
struct Stencil<'a> {
    /// Offsets -2 .. 2 along axis 0.
    down: [&'a [f64]; 5],
    /// Offsets -2 .. 2 along axis 1.
    across: [&'a [f64]; 5],
}

fn stencil(q: &[f64], row: usize, pitch: usize, length: usize) -> Stencil<'_> {
    let at = |offset: usize| &q[row - 2 * pitch - 2 + offset..][..length];
    Stencil {
        down: [0, 1, 2, 3, 4].map(|k| at(k * pitch + 2)),
        across: [0, 1, 2, 3, 4].map(|k| at(2 * pitch + k)),
    }
}

/// The rate of u, which carries itself along axis 0.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn streamwise(q: &Stencil, v: &[&[f64]; 4], viscosity: f64, out: &mut [f64]) {
    for j in 0..out.len() {
        let carried = q.down[2][j];
        let carrier = 0.25 * (v[0][j] + v[1][j] + v[2][j] + v[3][j]);
        let advection =
            upwind(carried, q.down.map(|row| row[j])) + upwind(carrier, q.across.map(|row| row[j]));
        out[j] = viscosity * laplacian(q, j) - advection;
    }
}

/// The rate of v, which carries itself along axis 1.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn crosswise(q: &Stencil, u: &[&[f64]; 4], viscosity: f64, out: &mut [f64]) {
    for j in 0..out.len() {
        let carried = q.down[2][j];
        let carrier = 0.25 * (u[0][j] + u[1][j] + u[2][j] + u[3][j]);
        let advection =
            upwind(carrier, q.down.map(|row| row[j])) + upwind(carried, q.across.map(|row| row[j]));
        out[j] = viscosity * laplacian(q, j) - advection;
    }
}

/// c dq/dx by the upwind-biased difference.
#[inline(always)]
fn upwind(c: f64, [a, b, z, d, e]: [f64; 5]) -> f64 {
    let centred = a - 8.0 * b + 8.0 * d - e;
    let damping = a - 4.0 * b + 6.0 * z - 4.0 * d + e;
    (c * centred + c.abs() * damping) * (1.0 / 12.0)
}

#[inline(always)]
fn laplacian(q: &Stencil, j: usize) -> f64 {
    q.down[1][j] + q.down[3][j] + q.across[1][j] + q.across[3][j] - 4.0 * q.down[2][j]
}
