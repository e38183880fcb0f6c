//! 512-bit vectors of double precision. The compiler keeps plain arrays of eight in memory where many of them are
//! summed at once; these stay in registers.

use std::arch::x86_64::*;

use crate::bfloat16::bf16;

use super::{Kernel, Lanes, array::Array, intrinsics::by_intrinsics};

/// Eight numbers.
#[derive(Clone, Copy)]
struct Avx512Double(__m512d);

/// The same numbers as an array, for what is not worth an instruction of its own.
type Plain = Array<f64, 8, true>;

/// Runs a kernel with these vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,fma")]
pub(super) fn run<K: Kernel<f64>>(kernel: K) -> K::Output {
    kernel.run::<Avx512Double>()
}

impl Avx512Double {
    #[inline(always)]
    fn plain(self) -> Plain {
        let mut numbers = [0.0; 8];
        // SAFETY: there is room for eight, and the features were seen.
        unsafe {
            _mm512_storeu_pd(numbers.as_mut_ptr(), self.0);
            Plain::load(numbers.as_ptr())
        }
    }

    #[inline(always)]
    fn of(plain: Plain) -> Self {
        let mut numbers = [0.0; 8];
        // SAFETY: as above.
        unsafe {
            plain.store(numbers.as_mut_ptr());
            Self(_mm512_loadu_pd(numbers.as_ptr()))
        }
    }
}

/// SAFETY (of every block here): this type is reached only through [`run`], whose caller saw the features; pointers are
/// as good as the trait's callers promise.
impl Lanes for Avx512Double {
    type Real = f64;
    type Pairs = [u32; 8];
    const COUNT: usize = 8;
    const TILE_ROWS: usize = 8;

    by_intrinsics! {
        f64,
        splat: _mm512_set1_pd,
        load: _mm512_loadu_pd,
        store: _mm512_storeu_pd,
        sqrt: _mm512_sqrt_pd,
        mul_add: _mm512_fmadd_pd,
        add: _mm512_add_pd,
        sub: _mm512_sub_pd,
        mul: _mm512_mul_pd,
        div: _mm512_div_pd,
        max: _mm512_max_pd,
        min: _mm512_min_pd,
    }

    #[inline(always)]
    unsafe fn load_half(from: *const bf16) -> Self {
        Self::of(unsafe { Plain::load_half(from) })
    }
    #[inline(always)]
    unsafe fn store_half(self, to: *mut bf16) {
        unsafe { self.plain().store_half(to) }
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        Self::of(self.plain().pow2())
    }
    #[inline(always)]
    fn exp(self) -> Self {
        Self::of(self.plain().exp())
    }
    #[inline(always)]
    fn erf(self) -> Self {
        Self::of(self.plain().erf())
    }
    #[inline(always)]
    fn sum(self) -> f64 {
        self.plain().sum()
    }
    #[inline(always)]
    fn largest(self) -> f64 {
        self.plain().largest()
    }
    #[inline(always)]
    unsafe fn load_pairs(from: *const u32) -> [u32; 8] {
        unsafe { Plain::load_pairs(from) }
    }
    #[inline(always)]
    fn add_pair_products(self, a: u32, b: [u32; 8]) -> Self {
        Self::of(self.plain().add_pair_products(a, b))
    }
    #[inline(always)]
    fn add_integer_products(self, a: u32, b: [u32; 8]) -> Self {
        Self::of(self.plain().add_integer_products(a, b))
    }
    #[inline(always)]
    fn bytes_as_pairs(b: [u32; 8]) -> [[u32; 8]; 2] {
        Plain::bytes_as_pairs(b)
    }
    #[inline(always)]
    fn integers_to_numbers(self) -> Self {
        Self::of(self.plain().integers_to_numbers())
    }
    #[inline(always)]
    unsafe fn store_integers(self, to: *mut i16) {
        // SAFETY: the caller's promise.
        unsafe { self.plain().store_integers(to) }
    }
}
