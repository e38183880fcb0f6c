//! Losses: sums in double precision over fixed pieces, added in order.

use super::{Cpu, Real, elementwise::PIECE};
use crate::{
    dtype::{Dtype, Element},
    error::EngineError,
    tensor::Tensor,
};

/// The sum of f over fixed pieces of two equally long slices, in double precision.
fn sum_over<R: Real>(cpu: &Cpu, x: &[R], y: &[R], f: impl Fn(f64, f64) -> f64 + Sync) -> f64 {
    let mut sums = vec![0.0_f64; x.len().div_ceil(PIECE)];
    cpu.for_pieces(&mut sums, 1, |piece, sum| {
        let range = piece * PIECE..((piece + 1) * PIECE).min(x.len());
        sum[0] = x[range.clone()].iter().zip(&y[range]).map(|(x, y)| f(x.wide(), y.wide())).sum();
    });
    sums.iter().sum()
}

/// A scalar tensor.
fn scalar<R: Real>(cpu: &Cpu, value: f64) -> Tensor {
    Tensor::compute::<R>(cpu, &[1], |out| out[0] = R::of(value))
}

/// The mean weighted distance, and the distances.
pub(crate) fn distance(
    cpu: &Cpu,
    p: &Tensor,
    t: &Tensor,
    w: &Tensor,
) -> Result<(Tensor, Tensor), EngineError> {
    Ok(for_dtype!(p, distance_in(cpu, p, t, w)))
}

fn distance_in<R: Real>(cpu: &Cpu, p: &Tensor, t: &Tensor, w: &Tensor) -> (Tensor, Tensor) {
    let p = p.cpu::<R>();
    let t = t.cpu::<R>();
    let weights = w.cpu::<R>();
    let each = p.len() / weights.len().max(1);
    let mut exact = vec![0.0_f64; weights.len()];
    cpu.for_pieces(&mut exact, 1, |pair, out| {
        let range = pair * each..(pair + 1) * each;
        let squares = p[range.clone()].iter().zip(&t[range]).map(|(p, t)| (p.wide() - t.wide()).powi(2));
        out[0] = squares.sum::<f64>().sqrt();
    });
    let total: f64 = exact.iter().zip(weights).map(|(distance, weight)| distance * weight.wide()).sum();
    let distances = Tensor::compute::<R>(cpu, w.shape(), |out| {
        out.iter_mut().zip(&exact).for_each(|(out, exact)| *out = R::of(*exact));
    });
    (scalar::<R>(cpu, total / weights.len() as f64), distances)
}

/// The gradient of the mean weighted distance.
pub(crate) fn distance_back(
    cpu: &Cpu,
    saved: [&Tensor; 4],
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(gradient, distance_back_in(cpu, saved, gradient)))
}

fn distance_back_in<R: Real>(cpu: &Cpu, saved: [&Tensor; 4], gradient: &Tensor) -> Tensor {
    let shape = saved[0].shape();
    let [p, t, weights, distances] = saved.map(|tensor| tensor.cpu::<R>());
    let each = p.len() / weights.len().max(1);
    let share = gradient.cpu::<R>()[0] / R::of(weights.len() as f64);
    Tensor::compute::<R>(cpu, shape, |out| {
        cpu.for_pieces(out, each, |pair, out| {
            let distance = distances[pair];
            let zero = R::default();
            let factor = if distance > zero { share * weights[pair] / distance } else { zero };
            let range = pair * each..(pair + 1) * each;
            for ((out, p), t) in out.iter_mut().zip(&p[range.clone()]).zip(&t[range]) {
                *out = factor * (*p - *t);
            }
        });
    })
}

/// The mean weighted absolute difference.
pub(crate) fn absolute(cpu: &Cpu, p: &Tensor, t: &Tensor, w: &Tensor) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, p: &Tensor, t: &Tensor, w: &Tensor) -> Tensor {
        let batch = w.shape()[0];
        let p = p.cpu::<R>();
        let t = t.cpu::<R>();
        let weights = w.cpu::<R>();
        let each = p.len() / weights.len().max(1);
        let mut means = vec![0.0_f64; weights.len()];
        cpu.for_pieces(&mut means, 1, |pair, out| {
            let range = pair * each..(pair + 1) * each;
            let apart = p[range.clone()].iter().zip(&t[range]).map(|(p, t)| (p.wide() - t.wide()).abs());
            out[0] = apart.sum::<f64>() / each as f64;
        });
        let total: f64 = means.iter().zip(weights).map(|(mean, weight)| mean * weight.wide()).sum();
        scalar::<R>(cpu, total / batch as f64)
    }
    Ok(for_dtype!(p, typed(cpu, p, t, w)))
}

/// The gradient of the mean weighted absolute difference.
pub(crate) fn absolute_back(
    cpu: &Cpu,
    saved: [&Tensor; 3],
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, saved: [&Tensor; 3], gradient: &Tensor) -> Tensor {
        let shape = saved[0].shape();
        let batch = saved[2].shape()[0];
        let [p, t, weights] = saved.map(|tensor| tensor.cpu::<R>());
        let each = p.len() / weights.len().max(1);
        let share = gradient.cpu::<R>()[0] * R::of(1.0 / (each * batch) as f64);
        let zero = R::default();
        Tensor::compute::<R>(cpu, shape, |out| {
            cpu.for_pieces(out, each, |pair, out| {
                let factor = share * weights[pair];
                let range = pair * each..(pair + 1) * each;
                for ((out, p), t) in out.iter_mut().zip(&p[range.clone()]).zip(&t[range]) {
                    let apart = *p - *t;
                    *out = if apart > zero {
                        factor
                    } else if apart < zero {
                        zero - factor
                    } else {
                        zero
                    };
                }
            });
        })
    }
    Ok(for_dtype!(gradient, typed(cpu, saved, gradient)))
}

/// The mean squared difference.
pub(crate) fn mean_square(cpu: &Cpu, x: &Tensor, t: &Tensor) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, x: &Tensor, t: &Tensor) -> Tensor {
        let total = sum_over::<R>(cpu, x.cpu(), t.cpu(), |x, t| (x - t).powi(2));
        scalar::<R>(cpu, total / x.len() as f64)
    }
    Ok(for_dtype!(x, typed(cpu, x, t)))
}

/// The gradient of the mean squared difference.
pub(crate) fn mean_square_back(
    cpu: &Cpu,
    x: &Tensor,
    t: &Tensor,
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, x: &Tensor, t: &Tensor, gradient: &Tensor) -> Tensor {
        let factor = gradient.cpu::<R>()[0] * R::of(2.0 / x.len() as f64);
        let shape = x.shape();
        let x = x.cpu::<R>();
        let t = t.cpu::<R>();
        Tensor::compute::<R>(cpu, shape, |out| {
            for ((out, x), t) in out.iter_mut().zip(x).zip(t) {
                *out = factor * (*x - *t);
            }
        })
    }
    Ok(for_dtype!(x, typed(cpu, x, t, gradient)))
}

/// The floor's loss, and mean and standard deviation of each coordinate.
pub(crate) fn spread(cpu: &Cpu, z: &Tensor, floor: f64) -> Result<(Tensor, Tensor), EngineError> {
    Ok(for_dtype!(z, spread_in(cpu, z, floor)))
}

fn spread_in<R: Real>(cpu: &Cpu, z: &Tensor, floor: f64) -> (Tensor, Tensor) {
    let batch = z.shape().first().copied().unwrap_or(1);
    let coordinates = z.len() / batch.max(1);
    let z = z.cpu::<R>();
    let column = |j: usize| (0..batch).map(move |b| z[b * coordinates + j].wide());
    let moments = Tensor::compute::<R>(cpu, &[2, coordinates], |out| {
        let (means, deviations) = out.split_at_mut(coordinates);
        for (j, (mean, deviation)) in means.iter_mut().zip(deviations).enumerate() {
            let centre = column(j).sum::<f64>() / batch as f64;
            let variance = column(j).map(|z| (z - centre).powi(2)).sum::<f64>() / batch as f64;
            *mean = R::of(centre);
            *deviation = R::of(variance.sqrt());
        }
    });
    let short = |s: &R| (floor - s.wide()).max(0.0).powi(2);
    let total: f64 = moments.cpu::<R>()[coordinates..].iter().map(short).sum();
    (scalar::<R>(cpu, total / coordinates as f64), moments)
}

/// The mean standard deviation of a coordinate.
pub(crate) fn mean_spread(cpu: &Cpu, z: &Tensor) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, z: &Tensor) -> Tensor {
        let (_, moments) = spread_in::<R>(cpu, z, 0.0);
        let deviations = &moments.cpu::<R>()[moments.len() / 2..];
        let total: f64 = deviations.iter().map(|s| s.wide()).sum();
        scalar::<R>(cpu, total / deviations.len() as f64)
    }
    Ok(for_dtype!(z, typed(cpu, z)))
}

/// The gradient of the floor's loss.
pub(crate) fn spread_back(
    cpu: &Cpu,
    z: &Tensor,
    moments: &Tensor,
    floor: f64,
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(z, spread_back_in(cpu, z, moments, floor, gradient)))
}

fn spread_back_in<R: Real + Element>(
    cpu: &Cpu,
    z: &Tensor,
    moments: &Tensor,
    floor: f64,
    gradient: &Tensor,
) -> Tensor {
    let batch = z.shape().first().copied().unwrap_or(1);
    let coordinates = z.len() / batch.max(1);
    let (means, deviations) = moments.cpu::<R>().split_at(coordinates);
    let share = -2.0 * gradient.cpu::<R>()[0].wide() / z.len() as f64;
    let factors: Vec<R> = deviations
        .iter()
        .map(|s| s.wide())
        .map(|s| R::of(if s > 0.0 { share * (floor - s).max(0.0) / s } else { 0.0 }))
        .collect();
    let shape = z.shape();
    let z = z.cpu::<R>();
    Tensor::compute::<R>(cpu, shape, |out| {
        cpu.for_pieces(out, coordinates, |sample, out| {
            let z = &z[sample * coordinates..][..coordinates];
            for (j, out) in out.iter_mut().enumerate() {
                *out = factors[j] * (z[j] - means[j]);
            }
        });
    })
}
