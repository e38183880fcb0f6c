//! One Runge-Kutta stage of the momentum equation.
//!
//! d q/dt = -(v . grad) q + nu Lap q - grad p for each component q, in pixel units (spacing 1). Advection
//! uses the third-order upwind-biased difference, per axis
//!
//!   c (q_{-2} - 8 q_{-1} + 8 q_{+1} - q_{+2}) / 12 + |c| (q_{-2} - 4 q_{-1} + 6 q_0 - 4 q_{+1} + q_{+2}) /
//! 12,
//!
//! whose second term damps what the grid cannot carry; diffusion uses the five-point Laplacian. Rates are
//! not stored: each row is carried to the next stage at once, which halves the traffic to memory.

use multiversion::{multiversion, target::target_cfg_f};

use super::staggered::{Staggered, pitch};

/// What a stage does with a rate: next = kept old + (1 - kept) (stage + dt rate).
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    /// The share of the step's first velocity.
    pub(super) kept: f64,
    /// The length of a step, in seconds.
    pub(super) dt: f64,
    /// Pixels^2 per second.
    pub(super) viscosity: f64,
}

/// Carries `flow`, which must be bounded, to `next` on the faces that move: u on 1..S along axis 0, v on 1..S along
/// axis 1. The outflow faces of u, at S, are convected with the speed `inflow` instead. The first v of a row, on the
/// wall, is carried too, so that rows are whole vectors; whoever bounds `next` stills it again.
#[multiversion(targets("x86_64+avx512f+avx512vl+fma", "x86_64+avx2+fma"))]
pub(super) fn advance(
    stage: Stage,
    flow: &Staggered,
    old: &Staggered,
    pressure: &[f64],
    inflow: f64,
    next: &mut Staggered,
) {
    let fused = target_cfg_f!(target_feature = "fma");
    let size = flow.size;
    let pitch = pitch(flow.size);
    let origin = flow.origin();
    for i in 1..size {
        let row = origin + i * pitch;
        let terms = Terms {
            q: neighbours(&flow.u, row, pitch, size),
            // v on the four faces around a face of u.
            around: [row - pitch, row - pitch + 1, row, row + 1].map(|at| &flow.v[at..][..size]),
            pressure: [row - pitch, row].map(|at| &pressure[at..][..size]),
            old: &old.u[row..][..size],
        };
        // A row of u carries itself along axis 0.
        carry(fused, stage, &terms, |own, other| (own, other), &mut next.u[row..][..size]);
    }
    for i in 0..size {
        let row = origin + i * pitch;
        let terms = Terms {
            q: neighbours(&flow.v, row, pitch, size),
            // u on the four faces around a face of v.
            around: [row - 1, row, row - 1 + pitch, row + pitch].map(|at| &flow.u[at..][..size]),
            pressure: [row - 1, row].map(|at| &pressure[at..][..size]),
            old: &old.v[row..][..size],
        };
        // A row of v carries itself along axis 1.
        carry(fused, stage, &terms, |own, other| (other, own), &mut next.v[row..][..size]);
    }
    let last = origin + size * pitch;
    for at in last..last + size {
        let rate = -inflow * (flow.u[at] - flow.u[at - pitch]);
        next.u[at] = stage.combine(old.u[at], flow.u[at], rate);
    }
}

impl Stage {
    #[inline(always)]
    fn combine(&self, old: f64, now: f64, rate: f64) -> f64 {
        self.kept * old + (1.0 - self.kept) * (now + self.dt * rate)
    }
}

/// All that the rates of a row depend on.
struct Terms<'a> {
    q: Neighbours<'a>,
    /// The other component on the four faces around.
    around: [&'a [f64]; 4],
    /// The cells before and behind the faces.
    pressure: [&'a [f64]; 2],
    old: &'a [f64],
}

impl<'a> Terms<'a> {
    /// The same terms with lengths that the compiler can see, so that it drops its checks and uses vectors.
    #[inline(always)]
    fn cut(&self, n: usize) -> Self {
        let [a, b, c, d] = self.around;
        Self {
            q: Neighbours { down: cut(self.q.down, n), across: cut(self.q.across, n) },
            around: [&a[..n], &b[..n], &c[..n], &d[..n]],
            pressure: [&self.pressure[0][..n], &self.pressure[1][..n]],
            old: &self.old[..n],
        }
    }
}

/// Written out because `array::map` is not always inlined here, and must be.
#[inline(always)]
fn cut([a, b, c, d, e]: [&[f64]; 5], n: usize) -> [&[f64]; 5] {
    [&a[..n], &b[..n], &c[..n], &d[..n], &e[..n]]
}

/// A row of a component with its neighbours.
struct Neighbours<'a> {
    /// Offsets -2 .. 2 along axis 0.
    down: [&'a [f64]; 5],
    /// Offsets -2 .. 2 along axis 1.
    across: [&'a [f64]; 5],
}

#[inline(always)]
fn neighbours(q: &[f64], row: usize, pitch: usize, length: usize) -> Neighbours<'_> {
    let at = |offset: usize| &q[row - 2 * pitch - 2 + offset..][..length];
    Neighbours {
        down: [at(2), at(pitch + 2), at(2 * pitch + 2), at(3 * pitch + 2), at(4 * pitch + 2)],
        across: [at(2 * pitch), at(2 * pitch + 1), at(2 * pitch + 2), at(2 * pitch + 3), at(2 * pitch + 4)],
    }
}

/// The faces of a row. `order` puts the row's own component and the other one in the order of the axes.
#[inline(always)]
fn carry(fused: bool, stage: Stage, terms: &Terms, order: impl Fn(f64, f64) -> (f64, f64), out: &mut [f64]) {
    let faces = out.len();
    let Terms { q, around, pressure, old } = terms.cut(faces);
    // Counted, and not iterated over: the compiler then sees that no index is beyond any of the rows.
    for j in 0..faces {
        let at = |rows: &[&[f64]; 5]| [rows[0][j], rows[1][j], rows[2][j], rows[3][j], rows[4][j]];
        let down = at(&q.down);
        let across = at(&q.across);
        let other = 0.25 * (around[0][j] + around[1][j] + around[2][j] + around[3][j]);
        let own = down[2];
        let (u, v) = order(own, other);
        let laplacian = scale_and_add(fused, -4.0, own, (down[1] + down[3]) + (across[1] + across[3]));
        let gradient = pressure[1][j] - pressure[0][j];
        let advection = (upwind(fused, u, down, own) + upwind(fused, v, across, own)) * (1.0 / 12.0);
        let rate = stage.viscosity * laplacian - advection - gradient;
        out[j] = stage.combine(old[j], own, rate);
    }
}

/// 12 c dq/dx by the upwind-biased difference about the value z.
#[inline(always)]
fn upwind(fused: bool, c: f64, [a, b, _, d, e]: [f64; 5], z: f64) -> f64 {
    let centred = scale_and_add(fused, 8.0, d - b, a - e);
    let damping = scale_and_add(fused, -4.0, b + d, a + e) + 6.0 * z;
    c * centred + c.abs() * damping
}

/// x times a power of two, plus y. Such a product is exact, so both ways give the same bits; where there is an
/// instruction for both steps, it takes the time of one.
#[inline(always)]
fn scale_and_add(fused: bool, power: f64, x: f64, y: f64) -> f64 {
    if fused { x.mul_add(power, y) } else { power * x + y }
}
