//! 128-bit vectors of ARM, two at a time.

use std::arch::aarch64::*;

use crate::bfloat16::bf16;

use super::{Lanes, polynomial};

/// Eight numbers in two registers: a product's factor is then read once for both.
#[derive(Clone, Copy)]
pub(super) struct Neon([float32x4_t; 2]);

impl Neon {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(float32x4_t, float32x4_t) -> float32x4_t) -> Self {
        Self([f(self.0[0], other.0[0]), f(self.0[1], other.0[1])])
    }
}

/// The numbers that the low halves of pairs are, and those of the high halves.
#[inline(always)]
fn low_and_high(pairs: uint32x4_t) -> [float32x4_t; 2] {
    // SAFETY: as below.
    unsafe {
        let high = vandq_u32(pairs, vdupq_n_u32(0xffff_0000));
        [vshlq_n_u32::<16>(pairs), high].map(|bits| vreinterpretq_f32_u32(bits))
    }
}

/// SAFETY (of every block here): every processor of this architecture that Rust's standard library runs on has NEON;
/// pointers are as good as the trait's callers promise.
impl Lanes for Neon {
    type Real = f32;
    type Pairs = [uint32x4_t; 2];
    const COUNT: usize = 8;
    // 6 x 2 x 2 sums, two columns of two registers, one factor: 29 of 32 registers.
    const TILE_ROWS: usize = 6;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self([unsafe { vdupq_n_f32(x) }; 2])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { [vld1q_f32(from), vld1q_f32(from.add(4))] })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe {
            vst1q_f32(to, self.0[0]);
            vst1q_f32(to.add(4), self.0[1]);
        }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const bf16) -> Self {
        unsafe {
            let halves = vld1q_u16(from.cast());
            let parts = [vshll_n_u16::<16>(vget_low_u16(halves)), vshll_n_u16::<16>(vget_high_u16(halves))];
            Self(parts.map(|bits| vreinterpretq_f32_u32(bits)))
        }
    }
    #[inline(always)]
    unsafe fn store_half(self, to: *mut bf16) {
        unsafe {
            let [low, high] = self.0.map(|part| {
                let bits = vreinterpretq_u32_f32(part);
                let odd = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(1));
                vshrn_n_u32::<16>(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff))))
            });
            vst1q_u16(to.cast(), vcombine_u16(low, high));
        }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| unsafe { vaddq_f32(a, b) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| unsafe { vsubq_f32(a, b) })
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| unsafe { vmulq_f32(a, b) })
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| unsafe { vdivq_f32(a, b) })
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        let fused = |k: usize| unsafe { vfmaq_f32(term.0[k], self.0[k], factor.0[k]) };
        Self([fused(0), fused(1)])
    }
    // As everywhere else, the second of a pair with something that is no number.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| unsafe { vbslq_f32(vcgtq_f32(a, b), a, b) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| unsafe { vbslq_f32(vcltq_f32(a, b), a, b) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(|part| unsafe { vsqrtq_f32(part) }))
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        Self(self.0.map(|part| unsafe {
            let biased = vaddq_s32(vcvtnq_s32_f32(part), vdupq_n_s32(127));
            vreinterpretq_f32_s32(vshlq_n_s32::<23>(biased))
        }))
    }
    #[inline(always)]
    fn exp(self) -> Self {
        polynomial::exp(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        polynomial::erf(self)
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        unsafe { vaddvq_f32(vaddq_f32(self.0[0], self.0[1])) }
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        unsafe { vmaxnmvq_f32(vmaxnmq_f32(self.0[0], self.0[1])) }
    }
    #[inline(always)]
    unsafe fn load_pairs(from: *const u32) -> [uint32x4_t; 2] {
        unsafe { [vld1q_u32(from), vld1q_u32(from.add(4))] }
    }
    #[inline(always)]
    fn add_pair_products(self, a: u32, b: [uint32x4_t; 2]) -> Self {
        let [a_low, a_high] = low_and_high(unsafe { vdupq_n_u32(a) });
        let added = |k: usize| {
            let [low, high] = low_and_high(b[k]);
            unsafe { vfmaq_f32(vfmaq_f32(self.0[k], a_low, low), a_high, high) }
        };
        Self([added(0), added(1)])
    }
    #[inline(always)]
    fn add_integer_products(self, a: u32, b: [uint32x4_t; 2]) -> Self {
        let add = |sum: float32x4_t, b: uint32x4_t| unsafe {
            let a = vreinterpretq_s16_u32(vdupq_n_u32(a));
            let b = vreinterpretq_s16_u32(b);
            // Products of halves, of which two neighbours are a pair's.
            let first = vmull_s16(vget_low_s16(a), vget_low_s16(b));
            let products = vpaddq_s32(first, vmull_high_s16(a, b));
            vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(sum), products))
        };
        Self([add(self.0[0], b[0]), add(self.0[1], b[1])])
    }
    #[inline(always)]
    fn bytes_as_pairs(b: [uint32x4_t; 2]) -> [[uint32x4_t; 2]; 2] {
        let even = |b: uint32x4_t| unsafe {
            vreinterpretq_u32_s16(vshrq_n_s16::<8>(vshlq_n_s16::<8>(vreinterpretq_s16_u32(b))))
        };
        let odd =
            |b: uint32x4_t| unsafe { vreinterpretq_u32_s16(vshrq_n_s16::<8>(vreinterpretq_s16_u32(b))) };
        [b.map(even), b.map(odd)]
    }
    #[inline(always)]
    fn integers_to_numbers(self) -> Self {
        Self(self.0.map(|sums| unsafe { vcvtq_f32_s32(vreinterpretq_s32_f32(sums)) }))
    }
    #[inline(always)]
    unsafe fn store_integers(self, to: *mut i16) {
        let [first, second] = self.0.map(|x| unsafe { vqmovn_s32(vcvtnq_s32_f32(x)) });
        unsafe { vst1q_s16(to, vcombine_s16(first, second)) }
    }
}
