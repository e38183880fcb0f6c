//! Single-precision functions from additions and products, for every vector width.

use super::Lanes;

/// Adding and subtracting 1.5 * 2^23 rounds to a whole number, for |x| < 2^22.
const ROUNDER: f32 = 12_582_912.0;

/// e^x = 2^n e^r with n = round(x / ln 2), |r| <= ln 2 / 2, and e^r from its Taylor polynomial of degree 6
/// (truncation 1.2e-7 relative). ln 2 is split in two so that r loses nothing.
#[inline(always)]
pub(super) fn exp<V: Lanes<Real = f32>>(x: V) -> V {
    let x = x.max(V::splat(-87.3)).min(V::splat(88.3));
    let rounder = V::splat(ROUNDER);
    let n = x.mul_add(V::splat(std::f32::consts::LOG2_E), rounder).sub(rounder);
    let r = n.mul_add(V::splat(-0.693_359_4), x);
    let r = n.mul_add(V::splat(2.121_944_4e-4), r);
    let mut p = V::splat(1.0 / 720.0);
    for c in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = p.mul_add(r, V::splat(c));
    }
    p.mul(n.pow2())
}

/// erf(x) = x p(x^2) / q(x^2) on |x| <= 4, beyond which it is 1 in single precision. The coefficients are the
/// minimax rational that Eigen and XLA document for this interval.
#[inline(always)]
pub(super) fn erf<V: Lanes<Real = f32>>(x: V) -> V {
    let x = x.max(V::splat(-4.0)).min(V::splat(4.0));
    let square = x.mul(x);
    let mut p = V::splat(-2.726_142_3e-10);
    for c in [2.770_681_5e-8, -2.101_024e-6, -5.692_506_5e-5, -7.349_906_4e-4, -2.954_6e-3, -1.609_603_4e-2] {
        p = p.mul_add(square, V::splat(c));
    }
    let mut q = V::splat(-1.456_607_2e-5);
    for c in [-2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2] {
        q = q.mul_add(square, V::splat(c));
    }
    x.mul(p).div(q)
}
