//! GELU in its exact form, and its derivative.

use super::lanes::{Lanes, Real};

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
