//! 128-bit vectors of WebAssembly. Whether a module has them, and whether it has relaxed ones, is decided when it is
//! compiled: an engine that lacks an instruction refuses the whole module, so there is nothing to find out at run time.

use std::arch::wasm32::*;

use crate::bfloat16::bf16;

use super::{Lanes, polynomial};

/// Four numbers.
#[derive(Clone, Copy)]
pub(super) struct Simd128(v128);

/// SAFETY (of every block here): pointers are as good as the trait's callers promise.
impl Lanes for Simd128 {
    type Real = f32;
    type Pairs = v128;
    const COUNT: usize = 4;
    // 4 x 2 sums, two columns, one factor: 11 of the 16 registers that engines have on x86. Six rows spill there.
    const TILE_ROWS: usize = 4;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self(f32x4_splat(x))
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { v128_load(from.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { v128_store(to.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const bf16) -> Self {
        Self(u32x4_shl(unsafe { u32x4_load_extend_u16x4(from.cast()) }, 16))
    }
    #[inline(always)]
    unsafe fn store_half(self, to: *mut bf16) {
        let odd = v128_and(u32x4_shr(self.0, 16), u32x4_splat(1));
        let round = u32x4_add(odd, u32x4_splat(0x7fff));
        let halves = u32x4_shr(u32x4_add(self.0, round), 16);
        unsafe { v128_store64_lane::<0>(u16x8_narrow_i32x4(halves, halves), to.cast()) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(f32x4_add(self.0, other.0))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(f32x4_sub(self.0, other.0))
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(f32x4_mul(self.0, other.0))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(f32x4_div(self.0, other.0))
    }
    #[cfg(target_feature = "relaxed-simd")]
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(f32x4_relaxed_madd(self.0, factor.0, term.0))
    }
    #[cfg(not(target_feature = "relaxed-simd"))]
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        self.mul(factor).add(term)
    }
    /// As on other processors, the second of two that cannot be compared.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(f32x4_pmax(other.0, self.0))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(f32x4_pmin(other.0, self.0))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(f32x4_sqrt(self.0))
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        let biased = i32x4_add(i32x4_trunc_sat_f32x4(self.0), i32x4_splat(127));
        Self(i32x4_shl(biased, 23))
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
        let half = f32x4_add(self.0, i32x4_shuffle::<2, 3, 0, 1>(self.0, self.0));
        f32x4_extract_lane::<0>(half) + f32x4_extract_lane::<1>(half)
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        let half = f32x4_pmax(self.0, i32x4_shuffle::<2, 3, 0, 1>(self.0, self.0));
        f32x4_extract_lane::<0>(f32x4_pmax(half, i32x4_shuffle::<1, 0, 3, 2>(half, half)))
    }
    #[inline(always)]
    unsafe fn load_pairs(from: *const u32) -> v128 {
        unsafe { v128_load(from.cast()) }
    }
    #[inline(always)]
    fn add_pair_products(self, a: u32, b: v128) -> Self {
        let a = u32x4_splat(a);
        let low = |x| Self(u32x4_shl(x, 16));
        let high = |x| Self(v128_and(x, u32x4_splat(0xffff_0000)));
        high(a).mul_add(high(b), low(a).mul_add(low(b), self))
    }
    #[inline(always)]
    fn add_integer_products(self, a: u32, b: v128) -> Self {
        Self(i32x4_add(self.0, i32x4_dot_i16x8(u32x4_splat(a), b)))
    }
    #[inline(always)]
    fn bytes_as_pairs(b: v128) -> [v128; 2] {
        [i16x8_shr(i16x8_shl(b, 8), 8), i16x8_shr(b, 8)]
    }
    #[inline(always)]
    fn integers_to_numbers(self) -> Self {
        Self(f32x4_convert_i32x4(self.0))
    }
    #[inline(always)]
    unsafe fn store_integers(self, to: *mut i16) {
        let wide = i32x4_trunc_sat_f32x4(f32x4_nearest(self.0));
        unsafe { v128_store64_lane::<0>(i16x8_narrow_i32x4(wide, wide), to.cast()) }
    }
}
