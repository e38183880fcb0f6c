//! Incompressible flow past a disk in a channel, from an impulsive start.
//!
//! Each step is a third-order Runge-Kutta step (Shu and Osher) of advection and diffusion with the pressure
//! gradient of the step before, then one exact projection. The [`Obstacle`] acts implicitly after each
//! stage. Since the old pressure is in the stages, the projection corrects by an increment only, and what
//! slips through the disk is of second order in the time step.
//!
//! Lengths are pixels, so a velocity V in domain widths per second is V S pixels per second, and a
//! kinematic viscosity nu is nu S^2.

use multiversion::multiversion;

use super::{
    disk::Disk,
    momentum::{Stage, advance},
    obstacle::Obstacle,
    staggered::{Staggered, origin, pitch, zeros},
};
use crate::{
    error::PdeError,
    linear::{SeparableSolver, cache_lines::CacheLines},
};

/// The largest (|u| + |v|) dt / spacing. Third-order upwinding with this Runge-Kutta method allows
/// 1.6.
const COURANT: f64 = 1.35;
/// The largest nu dt / spacing^2; the method allows about 0.6.
const DIFFUSION_NUMBER: f64 = 0.25;
/// Rounds of penalising and projecting that make the initial flow obey both.
const INITIAL_ROUNDS: usize = 20;
/// Speeds beyond this many inflow speeds are no flow any more; what was seen stays below five.
const BLOW_UP: f64 = 100.0;

/// A flow in progress.
pub(super) struct Flow<'a> {
    size: usize,
    /// The speed of the inflow, in pixels per second.
    inflow: f64,
    /// The kinematic viscosity, in pixels^2 per second.
    viscosity: f64,
    pressure_solver: &'a SeparableSolver,
    obstacle: Obstacle,
    velocity: Staggered,
    stages: [Staggered; 2],
    /// Pressure over density, at cell centres.
    pressure: CacheLines<f64>,
    /// \[S, S\]: what a projection takes the gradient of.
    correction: CacheLines<f64>,
    scratch: CacheLines<f64>,
    time: f64,
}

impl<'a> Flow<'a> {
    /// The flow at time 0: inflow `speed` (domain widths per second) turned on at once.
    pub(super) fn start(
        size: usize,
        disk: &Disk,
        speed: f64,
        viscosity: f64,
        pressure_solver: &'a SeparableSolver,
    ) -> Self {
        let scale = size as f64;
        let mut flow = Self {
            size,
            inflow: speed * scale,
            viscosity: viscosity * scale * scale,
            pressure_solver,
            obstacle: Obstacle::new(size, disk, speed * scale),
            velocity: Staggered::zero(size),
            stages: [Staggered::zero(size), Staggered::zero(size)],
            pressure: zeros(size),
            correction: CacheLines::of(0.0, size * size),
            scratch: CacheLines::of(0.0, size * size),
            time: 0.0,
        };
        flow.velocity.u.fill(flow.inflow);
        for _ in 0..INITIAL_ROUNDS {
            flow.obstacle.slow(&mut flow.velocity, 1.0 / flow.inflow);
            flow.velocity.bound(flow.inflow);
            flow.project();
        }
        flow
    }

    /// Carries the flow to `time` (seconds), in steps as long as stability allows.
    pub(super) fn run_to(&mut self, time: f64) -> Result<(), PdeError> {
        while self.time < time {
            let fastest = fastest(&self.velocity.u, &self.velocity.v);
            if fastest > BLOW_UP * self.inflow {
                return Err(PdeError::BlowUp { solver: "the cylinder solver", time: self.time });
            }
            let longest = (COURANT / fastest).min(DIFFUSION_NUMBER / self.viscosity);
            let remaining = time - self.time;
            let steps = (remaining / longest).ceil();
            self.step(remaining / steps);
            self.time = if steps <= 1.0 { time } else { self.time + remaining / steps };
        }
        Ok(())
    }

    /// The speed at every cell centre in domain widths per second, \[S, S\].
    pub(super) fn speed(&self) -> Vec<f64> {
        let scale = 1.0 / self.size as f64;
        self.velocity.speed().iter().map(|s| s * scale).collect()
    }

    /// The largest |divergence| of a cell, in inflow speeds per pixel.
    pub(super) fn divergence(&self) -> f64 {
        let mut divergence = vec![0.0; self.size * self.size];
        self.velocity.divergence(&mut divergence);
        divergence.iter().fold(0.0, |worst: f64, d| worst.max(d.abs())) / self.inflow
    }

    /// The largest velocity component inside the disk, in inflow speeds.
    pub(super) fn slip(&self) -> f64 {
        self.obstacle.slip(&self.velocity) / self.inflow
    }

    fn step(&mut self, dt: f64) {
        let [first, second] = &mut self.stages;
        let old = &self.velocity;
        let run = |kept: f64, from: &Staggered, to: &mut Staggered| {
            let stage = Stage { kept, dt, viscosity: self.viscosity };
            advance(stage, from, old, &self.pressure, self.inflow, to);
            self.obstacle.slow(to, dt);
            to.bound(self.inflow);
        };
        // Shu and Osher's weights of the old velocity.
        run(0.0, old, first);
        run(0.75, first, second);
        run(1.0 / 3.0, second, first);
        std::mem::swap(&mut self.velocity, first);
        self.project();
        add_increment(&mut self.pressure, &self.correction, self.size, dt);
    }

    /// Removes the divergence of `velocity`; leaves the potential in `correction`.
    fn project(&mut self) {
        let size = self.size;
        let last = self.velocity.origin() + size * pitch(size);
        let outflow = &mut self.velocity.u[last..last + size];
        let surplus = outflow.iter().sum::<f64>() / size as f64 - self.inflow;
        outflow.iter_mut().for_each(|u| *u -= surplus);
        self.velocity.divergence(&mut self.correction);
        self.pressure_solver.solve(&mut self.correction, &mut self.scratch);
        subtract_gradient(&self.correction, &mut self.velocity);
        self.velocity.bound(self.inflow);
    }
}

/// p += phi / dt.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn add_increment(pressure: &mut [f64], correction: &[f64], size: usize, dt: f64) {
    let rows = pressure[origin(size)..].chunks_mut(pitch(size));
    for (pressure, correction) in rows.zip(correction.chunks_exact(size)) {
        for (p, phi) in pressure.iter_mut().zip(correction) {
            *p += phi / dt;
        }
    }
}

/// target -= grad p on the faces between cells.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn subtract_gradient(p: &[f64], target: &mut Staggered) {
    let size = target.size;
    let pitch = pitch(target.size);
    let origin = target.origin();
    for i in 0..size {
        let here = &p[i * size..][..size];
        if i > 0 {
            let before = &p[(i - 1) * size..][..size];
            let u = &mut target.u[origin + i * pitch..][..size];
            for j in 0..size {
                u[j] -= here[j] - before[j];
            }
        }
        let v = &mut target.v[origin + i * pitch..][..size];
        for j in 1..size {
            v[j] -= here[j] - here[j - 1];
        }
    }
}

/// max (|u| + |v|), in interleaved parts that a vector unit can hold.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn fastest(u: &[f64], v: &[f64]) -> f64 {
    let (u, u_rest) = u.as_chunks::<16>();
    let (v, v_rest) = v.as_chunks::<16>();
    let mut parts = [0.0f64; 16];
    for (u, v) in u.iter().zip(v) {
        for lane in 0..16 {
            let sum = u[lane].abs() + v[lane].abs();
            parts[lane] = if sum > parts[lane] { sum } else { parts[lane] };
        }
    }
    let rest = u_rest.iter().zip(v_rest).map(|(u, v)| u.abs() + v.abs());
    parts.into_iter().chain(rest).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOWHERE: Disk = Disk { cx: -1e3, cy: -1e3, r: 1.0 };

    fn speeds(size: usize, disk: &Disk, inflow: f64, viscosity: f64, time: f64) -> Vec<f64> {
        let solver = SeparableSolver::neumann(size, 1.0);
        let mut flow = Flow::start(size, disk, inflow, viscosity, &solver);
        flow.run_to(time).unwrap();
        flow.speed()
    }

    /// Far from the inlet a viscous channel flow is the parabola 6 V y (1 - y).
    #[test]
    fn a_viscous_channel_becomes_poiseuille_flow() {
        let size = 32;
        let inflow = 1.0;
        let speed = speeds(size, &NOWHERE, inflow, 0.2, 2.0);
        for j in 0..size {
            let y = (j as f64 + 0.5) / size as f64;
            let got = speed[(size * 3 / 4) * size + j];
            assert!((got - 6.0 * inflow * y * (1.0 - y)).abs() < 0.01, "{y}: {got}");
        }
    }

    /// A disk on the axis gives a flow that is its own mirror image.
    #[test]
    fn a_centred_disk_gives_a_symmetric_flow() {
        let size = 64;
        let speed = speeds(size, &Disk { cx: 20.0, cy: 31.5, r: 6.0 }, 1.0, 1e-3, 0.5);
        for row in speed.chunks(size) {
            for j in 0..size / 2 {
                assert!((row[j] - row[size - 1 - j]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn every_cross_section_carries_the_inflow() {
        let size = 64;
        let inflow = 2.0;
        let solver = SeparableSolver::neumann(size, 1.0);
        let mut flow = Flow::start(size, &Disk { cx: 22.0, cy: 25.0, r: 8.0 }, inflow, 1e-3, &solver);
        flow.run_to(0.3).unwrap();
        for i in 0..=size {
            let row = flow.velocity.origin() + i * pitch(size);
            let flux: f64 = flow.velocity.u[row..][..size].iter().sum();
            assert!((flux / (flow.inflow * size as f64) - 1.0).abs() < 1e-11);
        }
    }

    /// Shorter steps converge to the same flow: the body does not depend on the step.
    #[test]
    fn the_time_step_does_not_show() {
        let size = 64;
        let disk = Disk { cx: 22.0, cy: 27.0, r: 7.0 };
        let solver = SeparableSolver::neumann(size, 1.0);
        let run = |substeps: usize| {
            let mut flow = Flow::start(size, &disk, 1.5, 1e-3, &solver);
            for _ in 0..80 * substeps {
                flow.step(0.005 / substeps as f64);
            }
            flow.speed()
        };
        let fine = run(8);
        let distance = |x: &[f64]| {
            let total: f64 = x.iter().zip(&fine).map(|(x, y)| (x - y).powi(2)).sum();
            (total / fine.iter().map(|y| y * y).sum::<f64>()).sqrt()
        };
        let whole = distance(&run(1));
        let half = distance(&run(2));
        assert!(whole < 5e-3 && half < 0.6 * whole, "{whole} {half}");
    }
}
