//! GELU in its exact form, its derivative, and activations on their own.

use super::{
    Cpu,
    elementwise::PIECE,
    lanes::{Kernel, Lanes, Real, load_some, store_some},
};
use crate::{dtype::Dtype, error::EngineError, ops::Activation, tensor::Tensor};

/// gelu(x) = x (1 + erf(x / sqrt 2)) / 2.
#[inline(always)]
pub(crate) fn gelu<V: Lanes>(x: V) -> V {
    let erf = x.mul(V::splat(V::Real::of(std::f64::consts::FRAC_1_SQRT_2))).erf();
    let half = x.mul(V::splat(V::Real::of(0.5)));
    half.mul_add(erf, half)
}

/// gelu'(x) = (1 + erf(x / sqrt 2)) / 2 + x exp(-x^2 / 2) / sqrt(2 pi).
#[inline(always)]
pub(crate) fn gelu_slope<V: Lanes>(x: V) -> V {
    let constant = |c: f64| V::splat(V::Real::of(c));
    let erf = x.mul(constant(std::f64::consts::FRAC_1_SQRT_2)).erf();
    let cumulative = erf.mul_add(constant(0.5), constant(0.5));
    let density = x.mul(x).mul(constant(-0.5)).exp().mul(constant(0.398_942_280_401_432_7));
    x.mul_add(density, cumulative)
}

/// f(x), number by number.
pub(crate) fn forward(cpu: &Cpu, activation: Activation, x: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, forward_in(cpu, activation, x)))
}

fn forward_in<R: Real>(cpu: &Cpu, activation: Activation, x: &Tensor) -> Tensor {
    let values = x.cpu::<R>();
    Tensor::compute::<R>(cpu, x.shape(), |out| {
        cpu.for_pieces(out, PIECE, |piece, out| {
            cpu.run(Apply { activation, x: &values[piece * PIECE..][..out.len()], gradient: None, out });
        });
    })
}

/// dy f'(x), number by number.
pub(crate) fn backward(
    cpu: &Cpu,
    activation: Activation,
    x: &Tensor,
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, backward_in(cpu, activation, x, gradient)))
}

fn backward_in<R: Real>(cpu: &Cpu, activation: Activation, x: &Tensor, gradient: &Tensor) -> Tensor {
    let values = x.cpu::<R>();
    let gradients = gradient.cpu::<R>();
    Tensor::compute::<R>(cpu, x.shape(), |out| {
        cpu.for_pieces(out, PIECE, |piece, out| {
            let part = piece * PIECE..piece * PIECE + out.len();
            cpu.run(Apply { activation, x: &values[part.clone()], gradient: Some(&gradients[part]), out });
        });
    })
}

/// f(x), or dy f'(x).
struct Apply<'a, R> {
    activation: Activation,
    x: &'a [R],
    gradient: Option<&'a [R]>,
    out: &'a mut [R],
}

impl<R: Real> Kernel<R> for Apply<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        match (self.activation, self.gradient) {
            (Activation::LeakyRelu(slope), gradient) => {
                let slope = R::of(slope);
                let factors = self.x.iter().map(|x| if *x > R::default() { R::of(1.0) } else { slope });
                let sources = gradient.unwrap_or(self.x);
                for ((out, factor), source) in self.out.iter_mut().zip(factors).zip(sources) {
                    *out = factor * *source;
                }
            }
            (Activation::Gelu, None) => {
                for (out, x) in self.out.chunks_mut(V::COUNT).zip(self.x.chunks(V::COUNT)) {
                    store_some(gelu(load_some::<V>(x)), out);
                }
            }
            (Activation::Gelu, Some(gradient)) => {
                let pairs = self.x.chunks(V::COUNT).zip(gradient.chunks(V::COUNT));
                for (out, (x, g)) in self.out.chunks_mut(V::COUNT).zip(pairs) {
                    store_some(load_some::<V>(g).mul(gelu_slope(load_some::<V>(x))), out);
                }
            }
        }
    }
}
