//! Complex products of channels, mode by mode.

use super::{Cpu, Real, combine::Combine};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::Mixing,
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// y = x W for each mode: each part of the result is two real products, in place.
pub(crate) fn forward(
    cpu: &Cpu,
    mixing: Mixing,
    params: &Params,
    weight: ParamId,
    x: &Tensor,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, forward_in(cpu, mixing, params, weight, x)))
}

fn forward_in<R: Real>(cpu: &Cpu, mixing: Mixing, params: &Params, weight: ParamId, x: &Tensor) -> Tensor {
    let Mixing { batch, modes, c, o } = mixing;
    let w = params.cpu::<R>(weight);
    let x = x.cpu::<R>();
    Tensor::compute::<R>(cpu, &[batch, modes, 2 * o], |out| {
        cpu.for_pieces(out, modes * 2 * o, |sample, out| {
            for (k, out) in out.chunks_mut(2 * o).enumerate() {
                let x = &x[(sample * modes + k) * 2 * c..][..2 * c];
                let (real, imaginary) = w[k * 2 * c * o..][..2 * c * o].split_at(c * o);
                let minus: Vec<R> = x[c..].iter().map(|x| R::default() - *x).collect();
                for (half, factors, terms, accumulate) in [
                    (0, &x[..c], real, false),
                    (0, &minus[..], imaginary, true),
                    (1, &x[..c], imaginary, false),
                    (1, &x[c..], real, true),
                ] {
                    let out = (&mut out[half * o..][..o], o);
                    let factors = (factors, [0, 1]);
                    let terms = (terms, o);
                    cpu.run(Combine { sizes: [1, c], width: o, factors, terms, out, accumulate });
                }
            }
        });
    })
}

/// dx = dy W^H.
pub(crate) fn input_gradient(
    cpu: &Cpu,
    mixing: Mixing,
    params: &Params,
    weight: ParamId,
    dy: &Tensor,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(dy, input_gradient_in(cpu, mixing, params, weight, dy)))
}

fn input_gradient_in<R: Real>(
    cpu: &Cpu,
    mixing: Mixing,
    params: &Params,
    weight: ParamId,
    dy: &Tensor,
) -> Tensor {
    let Mixing { batch, modes, c, o } = mixing;
    let w = params.cpu::<R>(weight);
    let dy = dy.cpu::<R>();
    Tensor::compute::<R>(cpu, &[batch, modes, 2 * c], |out| {
        cpu.for_pieces(out, modes * 2 * c, |sample, out| {
            for (k, out) in out.chunks_mut(2 * c).enumerate() {
                let (dr, di) = dy[(sample * modes + k) * 2 * o..][..2 * o].split_at(o);
                let (real, imaginary) = w[k * 2 * c * o..][..2 * c * o].split_at(c * o);
                for i in 0..c {
                    let wr = &real[i * o..][..o];
                    let wi = &imaginary[i * o..][..o];
                    out[i] = dot(dr, wr) + dot(di, wi);
                    out[c + i] = dot(di, wr) - dot(dr, wi);
                }
            }
        });
    })
}

fn dot<R: Real>(x: &[R], y: &[R]) -> R {
    x.iter().zip(y).fold(R::default(), |sum, (x, y)| sum + *x * *y)
}

/// dW += x^H dy over the batch.
pub(crate) fn weight_gradient(
    cpu: &Cpu,
    mixing: Mixing,
    weight: ParamId,
    x: &Tensor,
    dy: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    for_dtype!(dy, weight_gradient_in(cpu, mixing, weight, x, dy, flow))
}

fn weight_gradient_in<R: Real>(
    cpu: &Cpu,
    mixing: Mixing,
    weight: ParamId,
    x: &Tensor,
    dy: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let Mixing { batch, modes, c, o } = mixing;
    let x = x.cpu::<R>();
    let dy = dy.cpu::<R>();
    cpu.for_pieces(flow.into().cpu_mut::<R>(weight)?, 2 * c * o, |k, out| {
        let (real, imaginary) = out.split_at_mut(c * o);
        for sample in 0..batch {
            let (xr, xi) = x[(sample * modes + k) * 2 * c..][..2 * c].split_at(c);
            let (dr, di) = dy[(sample * modes + k) * 2 * o..][..2 * o].split_at(o);
            for i in 0..c {
                for (j, (real, imaginary)) in
                    real[i * o..][..o].iter_mut().zip(&mut imaginary[i * o..][..o]).enumerate()
                {
                    *real += xr[i] * dr[j] + xi[i] * di[j];
                    *imaginary += xr[i] * di[j] - xi[i] * dr[j];
                }
            }
        }
    });
    Ok(())
}
