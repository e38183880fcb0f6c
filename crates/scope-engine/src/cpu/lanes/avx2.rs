//! 256-bit vectors with fused multiply-add.

use std::arch::x86_64::*;

use crate::bfloat16::bf16;

use super::{Kernel, Lanes, array::Array, intrinsics::by_intrinsics, polynomial};

/// Eight numbers.
#[derive(Clone, Copy)]
struct Avx2(__m256);

/// Runs a kernel with these vectors.
#[target_feature(enable = "avx2,fma")]
pub(super) fn run<K: Kernel<f32>>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

/// Runs a kernel in double precision.
#[target_feature(enable = "avx2,fma")]
pub(super) fn run_double<K: Kernel<f64>>(kernel: K) -> K::Output {
    kernel.run::<Array<f64, 4, true>>()
}

/// SAFETY (of every block here): this type is reached only through [`run`], whose caller saw the features;
/// pointers are as good as the trait's callers promise.
impl Lanes for Avx2 {
    type Real = f32;
    type Pairs = __m256i;
    const COUNT: usize = 8;
    // 6 x 2 sums, two columns, one factor: 15 of 16 registers.
    const TILE_ROWS: usize = 6;

    by_intrinsics! {
        f32,
        splat: _mm256_set1_ps,
        load: _mm256_loadu_ps,
        store: _mm256_storeu_ps,
        sqrt: _mm256_sqrt_ps,
        mul_add: _mm256_fmadd_ps,
        add: _mm256_add_ps,
        sub: _mm256_sub_ps,
        mul: _mm256_mul_ps,
        div: _mm256_div_ps,
        max: _mm256_max_ps,
        min: _mm256_min_ps,
    }

    #[inline(always)]
    unsafe fn load_half(from: *const bf16) -> Self {
        unsafe {
            let halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<16>(halves)))
        }
    }
    #[inline(always)]
    unsafe fn store_half(self, to: *mut bf16) {
        unsafe {
            let bits = _mm256_castps_si256(self.0);
            let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
            let round = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
            let halves = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, round));
            let packed = _mm256_packus_epi32(halves, halves);
            let packed = _mm256_permute4x64_epi64::<0b1000>(packed);
            _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(packed));
        }
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        unsafe {
            let biased = _mm256_add_epi32(_mm256_cvtps_epi32(self.0), _mm256_set1_epi32(127));
            Self(_mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased)))
        }
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
        unsafe {
            let half = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
            _mm_cvtss_f32(_mm_add_ss(quarter, _mm_shuffle_ps::<1>(quarter, quarter)))
        }
    }
    #[inline(always)]
    fn largest(self) -> f32 {
        unsafe {
            let half = _mm_max_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let quarter = _mm_max_ps(half, _mm_movehl_ps(half, half));
            _mm_cvtss_f32(_mm_max_ss(quarter, _mm_shuffle_ps::<1>(quarter, quarter)))
        }
    }
    #[inline(always)]
    unsafe fn load_pairs(from: *const u32) -> __m256i {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    fn add_pair_products(self, a: u32, b: __m256i) -> Self {
        unsafe {
            let a = _mm256_set1_epi32(a as i32);
            let high = _mm256_set1_epi32(0xffff_0000_u32 as i32);
            let low = |x| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(x));
            let up = |x| _mm256_castsi256_ps(_mm256_and_si256(x, high));
            Self(_mm256_fmadd_ps(up(a), up(b), _mm256_fmadd_ps(low(a), low(b), self.0)))
        }
    }
    #[inline(always)]
    fn add_integer_products(self, a: u32, b: __m256i) -> Self {
        unsafe {
            let products = _mm256_madd_epi16(_mm256_set1_epi32(a as i32), b);
            Self(_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(self.0), products)))
        }
    }
    #[inline(always)]
    fn bytes_as_pairs(b: __m256i) -> [__m256i; 2] {
        unsafe { [_mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(b)), _mm256_srai_epi16::<8>(b)] }
    }
    #[inline(always)]
    fn integers_to_numbers(self) -> Self {
        Self(unsafe { _mm256_cvtepi32_ps(_mm256_castps_si256(self.0)) })
    }
    #[inline(always)]
    unsafe fn store_integers(self, to: *mut i16) {
        unsafe {
            let wide = _mm256_cvtps_epi32(self.0);
            let narrow = _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256::<1>(wide));
            _mm_storeu_si128(to.cast(), narrow);
        }
    }
}
