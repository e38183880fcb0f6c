//! 512-bit vectors, with and without products of pairs.

use std::arch::x86_64::*;

use crate::bfloat16::bf16;

use super::{Kernel, Lanes, intrinsics::by_intrinsics, polynomial};

/// Sixteen numbers; `PAIRS` says whether the CPU multiplies pairs of bf16 and of integers.
#[derive(Clone, Copy)]
struct Avx512<const PAIRS: bool>(__m512);

/// Runs a kernel with these vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,fma")]
pub(super) fn run<K: Kernel<f32>>(kernel: K) -> K::Output {
    kernel.run::<Avx512<false>>()
}

/// Runs a kernel with these vectors and the instructions for pairs.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16,avx512vnni,avx2,fma")]
pub(super) fn run_bf16<K: Kernel<f32>>(kernel: K) -> K::Output {
    kernel.run::<Avx512<true>>()
}

/// SAFETY (of every block here): this type is reached only through [`run`] and [`run_bf16`], whose callers
/// saw the features; pointers are as good as the trait's callers promise.
impl<const PAIRS: bool> Lanes for Avx512<PAIRS> {
    type Real = f32;
    type Pairs = __m512i;
    const COUNT: usize = 16;
    // 8 x 2 sums, two columns, and factors straight from memory. Twelve rows are no faster.
    const TILE_ROWS: usize = 8;

    by_intrinsics! {
        f32,
        splat: _mm512_set1_ps,
        load: _mm512_loadu_ps,
        store: _mm512_storeu_ps,
        sqrt: _mm512_sqrt_ps,
        mul_add: _mm512_fmadd_ps,
        add: _mm512_add_ps,
        sub: _mm512_sub_ps,
        mul: _mm512_mul_ps,
        div: _mm512_div_ps,
        max: _mm512_max_ps,
        min: _mm512_min_ps,
    }

    #[inline(always)]
    unsafe fn load_half(from: *const bf16) -> Self {
        unsafe {
            let halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            Self(_mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves)))
        }
    }
    #[inline(always)]
    unsafe fn store_half(self, to: *mut bf16) {
        unsafe {
            let halves = if PAIRS {
                std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(self.0))
            } else {
                let bits = _mm512_castps_si512(self.0);
                let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
                let round = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
                _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(_mm512_add_epi32(bits, round)))
            };
            _mm256_storeu_si256(to.cast(), halves);
        }
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        Self(unsafe { _mm512_scalef_ps(_mm512_set1_ps(1.0), self.0) })
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
        unsafe { _mm512_reduce_add_ps(self.0) }
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        unsafe { _mm512_reduce_max_ps(self.0) }
    }
    #[inline(always)]
    unsafe fn load_pairs(from: *const u32) -> __m512i {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    fn add_pair_products(self, a: u32, b: __m512i) -> Self {
        unsafe {
            let a = _mm512_set1_epi32(a as i32);
            if PAIRS {
                let pairs = |x| std::mem::transmute::<__m512i, __m512bh>(x);
                return Self(_mm512_dpbf16_ps(self.0, pairs(a), pairs(b)));
            }
            let high = _mm512_set1_epi32(0xffff_0000_u32 as i32);
            let low = |x| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(x));
            let up = |x| _mm512_castsi512_ps(_mm512_and_si512(x, high));
            Self(_mm512_fmadd_ps(up(a), up(b), _mm512_fmadd_ps(low(a), low(b), self.0)))
        }
    }
    #[inline(always)]
    fn add_integer_products(self, a: u32, b: __m512i) -> Self {
        unsafe {
            let a = _mm512_set1_epi32(a as i32);
            let sum = _mm512_castps_si512(self.0);
            let sum = if PAIRS {
                _mm512_dpwssd_epi32(sum, a, b)
            } else {
                _mm512_add_epi32(sum, _mm512_madd_epi16(a, b))
            };
            Self(_mm512_castsi512_ps(sum))
        }
    }
    #[inline(always)]
    fn bytes_as_pairs(b: __m512i) -> [__m512i; 2] {
        unsafe { [_mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(b)), _mm512_srai_epi16::<8>(b)] }
    }
    #[inline(always)]
    fn add_byte_products(self, a: u32, b: __m512i) -> Self {
        if PAIRS {
            let sum =
                unsafe { _mm512_dpbusd_epi32(_mm512_castps_si512(self.0), _mm512_set1_epi32(a as i32), b) };
            return Self(unsafe { _mm512_castsi512_ps(sum) });
        }
        let [even, odd] = Self::bytes_as_pairs(b);
        self.add_integer_products(a & 0x00ff_00ff, even).add_integer_products(a >> 8 & 0x00ff_00ff, odd)
    }
    #[inline(always)]
    fn integers_to_numbers(self) -> Self {
        Self(unsafe { _mm512_cvtepi32_ps(_mm512_castps_si512(self.0)) })
    }
    #[inline(always)]
    unsafe fn store_integers(self, to: *mut i16) {
        unsafe { _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(self.0))) }
    }
}
