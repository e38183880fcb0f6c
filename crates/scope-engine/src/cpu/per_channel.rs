//! A factor, an offset or a choice for each channel.

use super::{Cpu, Real, elementwise::PIECE};
use crate::{
    dtype::Dtype,
    error::EngineError,
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// Rows whose sums are taken together before they are added up, in order.
const ROWS: usize = 1024;

/// x g for each channel.
pub(crate) fn scale(cpu: &Cpu, params: &Params, gain: ParamId, x: &Tensor) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, params: &Params, gain: ParamId, x: &Tensor) -> Tensor {
        with_each::<R>(cpu, x, params.cpu(gain), |x, gain| x * gain)
    }
    Ok(for_dtype!(x, typed(cpu, params, gain, x)))
}

/// x + b for each channel.
pub(crate) fn shift(cpu: &Cpu, params: &Params, offset: ParamId, x: &Tensor) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, params: &Params, offset: ParamId, x: &Tensor) -> Tensor {
        with_each::<R>(cpu, x, params.cpu(offset), |x, offset| x + offset)
    }
    Ok(for_dtype!(x, typed(cpu, params, offset, x)))
}

/// f of every number of a row and the number of its channel.
fn with_each<R: Real>(cpu: &Cpu, x: &Tensor, channels: &[R], f: impl Fn(R, R) -> R + Sync) -> Tensor {
    let n = channels.len();
    let values = x.cpu::<R>();
    Tensor::compute::<R>(cpu, x.shape(), |out| {
        cpu.for_pieces(out, ROWS * n, |piece, out| {
            let x = &values[piece * ROWS * n..][..out.len()];
            for (x, out) in x.chunks(n).zip(out.chunks_mut(n)) {
                for ((out, x), channel) in out.iter_mut().zip(x).zip(channels) {
                    *out = f(*x, *channel);
                }
            }
        });
    })
}

/// dg += column sums of dy x.
pub(crate) fn gain_gradient(
    cpu: &Cpu,
    gain: ParamId,
    x: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    fn typed<R: Real>(
        cpu: &Cpu,
        gain: ParamId,
        x: &Tensor,
        gradient: &Tensor,
        flow: &mut Flow<'_>,
    ) -> Result<(), EngineError> {
        let x = x.cpu::<R>();
        let dy = gradient.cpu::<R>();
        add_sums(cpu, dy.len(), flow.into().cpu_mut::<R>(gain)?, |at| dy[at].wide() * x[at].wide());
        Ok(())
    }
    for_dtype!(gradient, typed(cpu, gain, x, gradient, flow))
}

/// db += column sums of dy.
pub(crate) fn offset_gradient(
    cpu: &Cpu,
    offset: ParamId,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    fn typed<R: Real>(
        cpu: &Cpu,
        offset: ParamId,
        gradient: &Tensor,
        flow: &mut Flow<'_>,
    ) -> Result<(), EngineError> {
        let dy = gradient.cpu::<R>();
        add_sums(cpu, dy.len(), flow.into().cpu_mut::<R>(offset)?, |at| dy[at].wide());
        Ok(())
    }
    for_dtype!(gradient, typed(cpu, offset, gradient, flow))
}

/// Adds the sums over rows of a function of each number, in double precision over fixed pieces.
fn add_sums<R: Real>(cpu: &Cpu, count: usize, into: &mut [R], f: impl Fn(usize) -> f64 + Sync) {
    let n = into.len();
    let rows = count / n.max(1);
    let mut partial = vec![0.0_f64; rows.div_ceil(ROWS) * n];
    cpu.for_pieces(&mut partial, n, |piece, sums| {
        for row in piece * ROWS..((piece + 1) * ROWS).min(rows) {
            sums.iter_mut().enumerate().for_each(|(channel, sum)| *sum += f(row * n + channel));
        }
    });
    for (channel, into) in into.iter_mut().enumerate() {
        *into += R::of(partial.chunks(n).map(|sums| sums[channel]).sum());
    }
}

/// x where a channel's weight is not zero; elsewhere the other value, or zero.
pub(crate) fn choose(
    cpu: &Cpu,
    x: &Tensor,
    other: Option<&Tensor>,
    weights: &Tensor,
) -> Result<Tensor, EngineError> {
    fn typed<R: Real>(cpu: &Cpu, x: &Tensor, other: Option<&Tensor>, weights: &Tensor) -> Tensor {
        let weights = weights.cpu::<R>();
        let each = x.len() / weights.len().max(1);
        let values = x.cpu::<R>();
        let other = other.map(|other| other.cpu::<R>());
        Tensor::compute::<R>(cpu, x.shape(), |out| {
            cpu.for_pieces(out, PIECE, |piece, out| {
                for (at, out) in (piece * PIECE..).zip(out) {
                    let chosen = weights[at / each] != R::default();
                    *out = if chosen { values[at] } else { other.map_or(R::default(), |other| other[at]) };
                }
            });
        })
    }
    Ok(for_dtype!(x, typed(cpu, x, other, weights)))
}
