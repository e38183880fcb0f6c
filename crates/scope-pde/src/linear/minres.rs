//! The minimum-residual method of Paige and Saunders with a definite preconditioner.
//!
//! It needs A symmetric, not definite: where conjugate gradients may divide by a vanishing curvature,
//! MINRES keeps reducing the residual. Lanczos in the inner product of the preconditioner M gives a
//! tridiagonal matrix that Givens rotations turn triangular, one column per iteration.

use multiversion::multiversion;

/// How a solve ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) iterations: usize,
    /// ||b - A x|| / ||b||, computed from its definition.
    pub(crate) residual: f64,
}

/// Solves A x = b from x = 0 to the relative residual `tolerance`.
///
/// `apply(x, out)` sets out = A x; `precondition(r, out)` sets out = M^-1 r. The recursion's own estimate of
/// the residual drifts from the truth, so the true one is computed and, where it falls short, the solve
/// restarts on it.
pub(crate) fn minres(
    b: &[f64],
    tolerance: f64,
    max_iterations: usize,
    mut apply: impl FnMut(&[f64], &mut [f64]),
    mut precondition: impl FnMut(&[f64], &mut [f64]),
) -> (Vec<f64>, Outcome) {
    let mut x = vec![0.0; b.len()];
    let mut residual = b.to_vec();
    let mut image = vec![0.0; b.len()];
    let target = tolerance * norm(b);
    let mut outcome = Outcome { iterations: 0, residual: 1.0 };
    while outcome.residual > tolerance && outcome.iterations < max_iterations {
        let reduction = target / norm(&residual);
        let budget = max_iterations - outcome.iterations;
        let done = cycle(&residual, reduction, budget, &mut x, &mut apply, &mut precondition);
        if done == 0 {
            break;
        }
        outcome.iterations += done;
        apply(&x, &mut image);
        for ((r, b), image) in residual.iter_mut().zip(b).zip(&image) {
            *r = b - image;
        }
        outcome.residual = norm(&residual) / norm(b);
    }
    (x, outcome)
}

/// One Lanczos run from the residual `start`: adds the correction to `x` until the residual in the norm of
/// M^-1 has shrunk by `reduction`. Returns the iterations done.
fn cycle(
    start: &[f64],
    reduction: f64,
    max_iterations: usize,
    x: &mut [f64],
    apply: &mut impl FnMut(&[f64], &mut [f64]),
    precondition: &mut impl FnMut(&[f64], &mut [f64]),
) -> usize {
    let n = start.len();
    let mut v = start.to_vec();
    let mut v_old = vec![0.0; n];
    let mut z = vec![0.0; n];
    precondition(&v, &mut z);
    let mut direction = vec![0.0; n];
    let mut w = vec![0.0; n];
    let mut w_old = vec![0.0; n];
    let mut image = vec![0.0; n];
    let mut gamma = dot(&z, &v).max(0.0).sqrt();
    let mut gamma_old = 1.0;
    let mut rotations = Rotations { c: 1.0, c_old: 1.0, s: 0.0, s_old: 0.0 };
    let mut eta = gamma;
    let goal = reduction * gamma;
    for iteration in 0..max_iterations {
        // A vanishing gamma means the Krylov space is exhausted: the correction is exact.
        if eta.abs() <= goal || gamma == 0.0 {
            return iteration;
        }
        divide(&mut z, gamma);
        apply(&z, &mut image);
        let delta = dot(&image, &z);
        lanczos(&mut image, delta / gamma, &v, gamma / gamma_old, &v_old);
        std::mem::swap(&mut v_old, &mut v);
        std::mem::swap(&mut v, &mut image);
        std::mem::swap(&mut direction, &mut z);
        precondition(&v, &mut z);
        (gamma_old, gamma) = (gamma, dot(&z, &v).max(0.0).sqrt());
        let column = rotations.turn(delta, gamma_old, gamma);
        advance(x, rotations.c * eta, &column, &direction, &w, &mut w_old);
        std::mem::swap(&mut w_old, &mut w);
        eta *= -rotations.s;
    }
    max_iterations
}

/// The last two Givens rotations.
struct Rotations {
    c: f64,
    c_old: f64,
    s: f64,
    s_old: f64,
}

/// A column of the triangular matrix: its diagonal and the two entries above.
struct Column {
    diagonal: f64,
    above: f64,
    two_above: f64,
}

impl Rotations {
    /// Turns the column (gamma, delta, gamma_next) of the tridiagonal matrix by both rotations and by a new
    /// one.
    fn turn(&mut self, delta: f64, gamma: f64, gamma_next: f64) -> Column {
        let Rotations { c, c_old, s, s_old } = *self;
        let turned = c * delta - c_old * s * gamma;
        let diagonal = turned.hypot(gamma_next);
        *self = Rotations { c: turned / diagonal, c_old: c, s: gamma_next / diagonal, s_old: s };
        Column { diagonal, above: s * delta + c_old * c * gamma, two_above: s_old * gamma }
    }
}

/// z /= gamma.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn divide(z: &mut [f64], gamma: f64) {
    z.iter_mut().for_each(|z| *z /= gamma);
}

/// image -= alpha v + beta v_old.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn lanczos(image: &mut [f64], alpha: f64, v: &[f64], beta: f64, v_old: &[f64]) {
    for ((image, v), v_old) in image.iter_mut().zip(v).zip(v_old) {
        *image -= alpha * v + beta * v_old;
    }
}

/// w_old becomes the next direction, z with the two before it taken out, and x moves along it by `step`.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn advance(x: &mut [f64], step: f64, column: &Column, z: &[f64], w: &[f64], w_old: &mut [f64]) {
    for (((x, w_old), z), w) in x.iter_mut().zip(w_old).zip(z).zip(w) {
        *w_old = (z - column.two_above * *w_old - column.above * w) / column.diagonal;
        *x += step * *w_old;
    }
}

/// A sum in eight interleaved parts: fast, and in an order that does not depend on the machine.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (x, x_rest) = x.as_chunks::<8>();
    let (y, y_rest) = y.as_chunks::<8>();
    for (x, y) in x.iter().zip(y) {
        for lane in 0..8 {
            parts[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    parts.iter().sum::<f64>() + rest
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal of both signs: definite methods fail, MINRES ends after as many steps as there are
    /// values.
    #[test]
    fn indefinite_diagonal_is_solved_in_as_many_steps_as_it_has_values() {
        let diagonal: Vec<f64> = (0..60).map(|k| [3.0, -1.0, 0.5, -2.0][k % 4]).collect();
        let b: Vec<f64> = (0..60).map(|k| (k as f64 * 0.7).sin() + 1.5).collect();
        let apply = |x: &[f64], out: &mut [f64]| {
            for ((out, x), d) in out.iter_mut().zip(x).zip(&diagonal) {
                *out = d * x;
            }
        };
        let (x, outcome) = minres(&b, 1e-12, 50, apply, |r, out| out.copy_from_slice(r));
        assert!(outcome.iterations <= 5, "{outcome:?}");
        for ((x, b), d) in x.iter().zip(&b).zip(&diagonal) {
            assert!((x - b / d).abs() < 1e-11);
        }
    }

    #[test]
    fn an_exhausted_budget_is_reported() {
        let apply = |x: &[f64], out: &mut [f64]| {
            for (k, (out, x)) in out.iter_mut().zip(x).enumerate() {
                *out = (k + 1) as f64 * x;
            }
        };
        let (_, outcome) = minres(&[1.0; 40], 1e-12, 3, apply, |r, out| out.copy_from_slice(r));
        assert_eq!(outcome.iterations, 3);
        assert!(outcome.residual > 1e-12);
    }
}
