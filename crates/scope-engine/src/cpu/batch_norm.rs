//! Batch normalisation: sums over rows in double precision, over fixed pieces added in order.

use super::{Cpu, Real};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{BatchNorm, BatchStatistics, NORM_EPSILON, Norm},
    params::Params,
    tape::Flow,
    tensor::Tensor,
};

/// Rows of one task.
const ROWS: usize = 1024;

/// Sums over rows of two functions of each number, which are told its place and its channel.
fn sums(cpu: &Cpu, rows: usize, n: usize, f: impl Fn(usize, usize) -> [f64; 2] + Sync) -> Vec<[f64; 2]> {
    let mut partial = vec![0.0_f64; rows.div_ceil(ROWS) * 2 * n];
    cpu.for_pieces(&mut partial, 2 * n, |piece, sums| {
        for row in piece * ROWS..((piece + 1) * ROWS).min(rows) {
            for (channel, sums) in sums.chunks_mut(2).enumerate() {
                let [first, second] = f(row * n + channel, channel);
                sums[0] += first;
                sums[1] += second;
            }
        }
    });
    let add =
        |channel: usize, which: usize| partial.chunks(2 * n).map(|sums| sums[2 * channel + which]).sum();
    (0..n).map(|channel| [add(channel, 0), add(channel, 1)]).collect()
}

/// (x - mean) r g + b, with mean and variance of each channel.
fn normalise<R: Real>(cpu: &Cpu, params: &Params, norm: Norm, x: &Tensor, moments: &[R]) -> Tensor {
    let gain = params.cpu::<R>(norm.weight);
    let bias = params.cpu::<R>(norm.bias);
    let n = gain.len();
    let (mean, variance) = moments.split_at(n);
    let scales: Vec<R> =
        gain.iter().zip(variance).map(|(g, v)| *g / (*v + R::of(NORM_EPSILON)).sqrt()).collect();
    let values = x.cpu::<R>();
    Tensor::compute::<R>(cpu, x.shape(), |out| {
        cpu.for_pieces(out, ROWS * n, |piece, out| {
            let x = &values[piece * ROWS * n..][..out.len()];
            for (x, out) in x.chunks(n).zip(out.chunks_mut(n)) {
                for (channel, (x, out)) in x.iter().zip(out).enumerate() {
                    *out = (*x - mean[channel]) * scales[channel] + bias[channel];
                }
            }
        });
    })
}

/// The normalised batch, and the mean and variance \[2, n\] of each channel.
pub(crate) fn forward(
    cpu: &Cpu,
    params: &Params,
    norm: Norm,
    x: &Tensor,
) -> Result<(Tensor, Tensor), EngineError> {
    Ok(for_dtype!(x, forward_in(cpu, params, norm, x)))
}

fn forward_in<R: Real>(cpu: &Cpu, params: &Params, norm: Norm, x: &Tensor) -> (Tensor, Tensor) {
    let n = params.cpu::<R>(norm.weight).len();
    let values = x.cpu::<R>();
    let rows = values.len() / n;
    let mean: Vec<f64> =
        sums(cpu, rows, n, |at, _| [values[at].wide(), 0.0]).iter().map(|sum| sum[0] / rows as f64).collect();
    let squares = sums(cpu, rows, n, |at, channel| [(values[at].wide() - mean[channel]).powi(2), 0.0]);
    let moments = Tensor::compute::<R>(cpu, &[2, n], |out| {
        for channel in 0..n {
            out[channel] = R::of(mean[channel]);
            out[n + channel] = R::of(squares[channel][0] / rows as f64);
        }
    });
    (normalise(cpu, params, norm, x, moments.cpu::<R>()), moments)
}

/// Normalised by the running statistics.
pub(crate) fn running(
    cpu: &Cpu,
    params: &Params,
    layer: BatchNorm,
    x: &Tensor,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, running_in(cpu, params, layer, x)))
}

fn running_in<R: Real>(cpu: &Cpu, params: &Params, layer: BatchNorm, x: &Tensor) -> Tensor {
    let moments = [params.cpu::<R>(layer.running_mean), params.cpu::<R>(layer.running_var)].concat();
    normalise(cpu, params, layer.norm, x, &moments)
}

/// dx; gain and bias get their sums.
pub(crate) fn backward(
    cpu: &Cpu,
    norm: Norm,
    x: &Tensor,
    moments: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    for_dtype!(x, backward_in(cpu, norm, x, moments, gradient, flow))
}

fn backward_in<R: Real>(
    cpu: &Cpu,
    norm: Norm,
    x: &Tensor,
    moments: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let gain = flow.params().cpu::<R>(norm.weight);
    let n = gain.len();
    let values = x.cpu::<R>();
    let dy = gradient.cpu::<R>();
    let (mean, variance) = moments.cpu::<R>().split_at(n);
    let inverse: Vec<R> = variance.iter().map(|v| R::of(1.0) / (*v + R::of(NORM_EPSILON)).sqrt()).collect();
    let rows = values.len() / n;
    let sums = sums(cpu, rows, n, |at, channel| {
        let h = (values[at] - mean[channel]) * inverse[channel];
        [dy[at].wide(), (dy[at] * h).wide()]
    });
    for (parameter, which) in [(norm.bias, 0), (norm.weight, 1)] {
        for (into, sums) in flow.into().cpu_mut::<R>(parameter)?.iter_mut().zip(&sums) {
            *into += R::of(sums[which]);
        }
    }
    let means: Vec<[R; 2]> = sums.iter().map(|sums| sums.map(|sum| R::of(sum / rows as f64))).collect();
    Ok(Tensor::compute::<R>(cpu, x.shape(), |out| {
        cpu.for_pieces(out, ROWS * n, |piece, out| {
            for (k, out) in out.iter_mut().enumerate() {
                let at = piece * ROWS * n + k;
                let channel = k % n;
                let h = (values[at] - mean[channel]) * inverse[channel];
                let [plain, along] = means[channel];
                *out = gain[channel] * inverse[channel] * (dy[at] - plain - h * along);
            }
        });
    }))
}

/// Running statistics take a step towards those of a batch.
pub(crate) fn update_running_statistics(
    _: &Cpu,
    params: &mut Params,
    statistics: &BatchStatistics,
    share: f64,
    guard: &Tensor,
) -> Result<(), EngineError> {
    if !guard.cpu::<f32>()[0].is_finite() {
        return Ok(());
    }
    let moments = statistics.moments.cpu::<f32>();
    let n = moments.len() / 2;
    let unbiased = statistics.rows as f64 / (statistics.rows as f64 - 1.0).max(1.0);
    let layout = params.layout().clone();
    let all = params.cpu_mut::<f32>()?;
    for (parameter, moments, factor) in [
        (statistics.layer.running_mean, &moments[..n], 1.0),
        (statistics.layer.running_var, &moments[n..], unbiased),
    ] {
        for (running, moment) in all[layout.param(parameter).range.clone()].iter_mut().zip(moments) {
            let moment = factor * f64::from(*moment);
            *running = ((1.0 - share) * f64::from(*running) + share * moment) as f32;
        }
    }
    Ok(())
}
