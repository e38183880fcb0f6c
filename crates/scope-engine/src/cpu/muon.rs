//! A step of Muon on one matrix.

use super::{
    Cpu, Shared,
    gemm::{Finish, Left, Order, Out, Panels, Unit, multiply},
    lanes::Real,
    optim::length,
};
use crate::optim::{
    Muon, Slot, StepScalars,
    muon::{COEFFICIENTS, EPSILON, STEPS, scale},
};

/// A kind of number that products are made of directly.
pub(super) trait Number: Real + Unit<Element = Self, Real = Self> {}
impl Number for f32 {}
impl Number for f64 {}

/// The numbers of one step.
pub(super) struct MuonStep {
    momentum: f64,
    /// Multiplies gradients.
    factor: f64,
    rate: f64,
    /// Multiplies parameters.
    shrink: f64,
}

impl MuonStep {
    pub(super) fn new(settings: &Muon, decay: f64, scalars: &StepScalars, factor: f64) -> Self {
        let rate = settings.rate_ratio * f64::from(scalars.numbers.cpu::<f32>()[Slot::Rate as usize]);
        Self { momentum: settings.momentum, factor, rate, shrink: 1.0 - rate * decay }
    }

    /// One step of a matrix \[rows, columns\], given as its values, its momentum and its gradient.
    pub(super) fn apply<R: Number>(
        &self,
        cpu: &Cpu,
        [rows, columns]: [usize; 2],
        (values, momentum, gradient): (&mut [R], &mut [R], &[R]),
    ) {
        let turned = rows > columns;
        let mut direction = cpu.memory(size_of_val(gradient));
        let direction = direction.slice_mut::<R>();
        self.direction(cpu, columns, momentum, gradient, direction);
        let inverse = R::of(1.0 / (length(cpu, direction) + EPSILON));
        let height = rows.min(columns);
        let width = rows.max(columns);
        let mut x = vec![R::default(); gradient.len()];
        cpu.for_pieces(&mut x, width, |row, out| {
            for (column, out) in out.iter_mut().enumerate() {
                let at = if turned { column * columns + row } else { row * columns + column };
                *out = direction[at] * inverse;
            }
        });
        let x = orthogonalised(cpu, x, [height, width]);
        let step = R::of(self.rate * scale(rows, columns));
        let shrink = R::of(self.shrink);
        cpu.for_pieces(values, columns, |row, out| {
            for (column, out) in out.iter_mut().enumerate() {
                let at = if turned { column * width + row } else { row * width + column };
                *out = *out * shrink - step * x[at];
            }
        });
    }

    /// Takes the momentum of a matrix along whose values someone else changes.
    pub(super) fn follow<R: Number>(&self, cpu: &Cpu, columns: usize, momentum: &mut [R], gradient: &[R]) {
        let mut direction = cpu.memory(size_of_val(gradient));
        self.direction(cpu, columns, momentum, gradient, direction.slice_mut::<R>());
    }

    /// b = mu b + (1 - mu) g, in place; d = (1 - mu) g + mu b, into `out`.
    fn direction<R: Number>(&self, cpu: &Cpu, columns: usize, b: &mut [R], g: &[R], out: &mut [R]) {
        let keep = R::of(self.momentum);
        let take = R::of(1.0 - self.momentum);
        let factor = R::of(self.factor);
        let start = Shared(out.as_mut_ptr());
        cpu.for_pieces(b, columns, |row, b| {
            let from = row * columns;
            // SAFETY: rows are disjoint, and as many and as long as the momentum's.
            let out = unsafe { std::slice::from_raw_parts_mut(start.get().add(from), b.len()) };
            for ((b, g), d) in b.iter_mut().zip(&g[from..]).zip(out) {
                let g = *g * factor;
                *b = keep * *b + take * g;
                *d = take * g + keep * *b;
            }
        });
    }
}

/// X \[m, n\], m <= n, with its singular values brought near one: X = (a + b A + c A^2) X with A = X X^T, five times.
fn orthogonalised<R: Number>(cpu: &Cpu, mut x: Vec<R>, [m, n]: [usize; 2]) -> Vec<R> {
    let [a, b, c] = COEFFICIENTS.map(R::of);
    let mut gram = vec![R::default(); m * m];
    let mut map = vec![R::default(); m * m];
    let mut next = vec![R::default(); m * n];
    for _ in 0..STEPS {
        product(cpu, &x, &x, Order::ByColumn, [m, n, m], &mut gram);
        product(cpu, &gram, &gram, Order::ByRow, [m, m, m], &mut map);
        cpu.for_pieces(&mut map, m, |row, out| {
            for (out, gram) in out.iter_mut().zip(&gram[row * m..]) {
                *out = b * *gram + c * *out;
            }
            out[row] += a;
        });
        product(cpu, &map, &x, Order::ByRow, [m, m, n], &mut next);
        std::mem::swap(&mut x, &mut next);
    }
    x
}

/// out \[m, n\] = left \[m, k\] times right: \[k, n\] by rows, or by columns \[n, k\].
fn product<R: Number>(
    cpu: &Cpu,
    left: &[R],
    right: &[R],
    order: Order,
    [m, k, n]: [usize; 3],
    out: &mut [R],
) {
    let stride = match order {
        Order::ByColumn => k,
        Order::ByRow => n,
    };
    let panels = Panels::pack::<R>(cpu, right, order, [k, n], stride);
    let finish = Finish::plain(Out::Real(out.as_mut_ptr()), n);
    // SAFETY: left is [m, k] and out [m, n], which is borrowed here.
    unsafe { multiply(cpu, m, Left::rows(left.as_ptr(), k, k), panels.view(), finish) }
}
