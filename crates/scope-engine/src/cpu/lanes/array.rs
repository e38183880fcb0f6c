//! Vectors as plain arrays: for targets without known vector units, and for double precision.

use crate::bfloat16::bf16;

use super::{Lanes, Real, polynomial};

/// `N` numbers side by side; products and sums are fused where the code around has the instruction.
#[derive(Clone, Copy)]
pub(super) struct Array<R, const N: usize, const FUSED: bool>([R; N]);

/// The functions whose arithmetic differs between single and double precision.
pub(super) trait Scalar: Real {
    /// The integer whose bits it has, of 32 bits.
    fn to_integer(self) -> i32;
    /// The number with the bits of an integer.
    fn of_integer(bits: i32) -> Self;
    fn exp<const N: usize, const F: bool>(x: Array<Self, N, F>) -> Array<Self, N, F>
    where
        Array<Self, N, F>: Lanes<Real = Self>;
    fn erf<const N: usize, const F: bool>(x: Array<Self, N, F>) -> Array<Self, N, F>
    where
        Array<Self, N, F>: Lanes<Real = Self>;
}

impl Scalar for f32 {
    #[inline(always)]
    fn to_integer(self) -> i32 {
        self.to_bits() as i32
    }
    #[inline(always)]
    fn of_integer(bits: i32) -> Self {
        Self::from_bits(bits as u32)
    }
    #[inline(always)]
    fn exp<const N: usize, const F: bool>(x: Array<Self, N, F>) -> Array<Self, N, F>
    where
        Array<Self, N, F>: Lanes<Real = Self>,
    {
        polynomial::exp(x)
    }
    #[inline(always)]
    fn erf<const N: usize, const F: bool>(x: Array<Self, N, F>) -> Array<Self, N, F>
    where
        Array<Self, N, F>: Lanes<Real = Self>,
    {
        polynomial::erf(x)
    }
}

impl Scalar for f64 {
    fn to_integer(self) -> i32 {
        self.to_bits() as i32
    }
    fn of_integer(bits: i32) -> Self {
        Self::from_bits(u64::from(bits as u32))
    }
    fn exp<const N: usize, const F: bool>(x: Array<Self, N, F>) -> Array<Self, N, F> {
        Array(x.0.map(libm::exp))
    }
    fn erf<const N: usize, const F: bool>(x: Array<Self, N, F>) -> Array<Self, N, F> {
        Array(x.0.map(libm::erf))
    }
}

impl<R: Scalar, const N: usize, const FUSED: bool> Array<R, N, FUSED> {
    #[inline(always)]
    fn zip(mut self, other: Self, f: impl Fn(R, R) -> R) -> Self {
        for i in 0..N {
            self.0[i] = f(self.0[i], other.0[i]);
        }
        self
    }
}

impl<R: Scalar, const N: usize, const FUSED: bool> Lanes for Array<R, N, FUSED> {
    type Real = R;
    type Pairs = [u32; N];
    const COUNT: usize = N;
    const TILE_ROWS: usize = 4;

    #[inline(always)]
    fn splat(x: R) -> Self {
        Self([x; N])
    }
    #[inline(always)]
    unsafe fn load(from: *const R) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { from.cast::<[R; N]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut R) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[R; N]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn load_half(from: *const bf16) -> Self {
        // SAFETY: the caller's promise.
        let halves = unsafe { from.cast::<[bf16; N]>().read_unaligned() };
        let mut out = [R::default(); N];
        for (out, half) in out.iter_mut().zip(halves) {
            *out = R::of(f64::from(half.to_f32()));
        }
        Self(out)
    }
    #[inline(always)]
    unsafe fn store_half(self, to: *mut bf16) {
        let mut out = [bf16::ZERO; N];
        for (out, x) in out.iter_mut().zip(self.0) {
            *out = bf16::from_f32(x.wide() as f32);
        }
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[bf16; N]>().write_unaligned(out) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        if !FUSED {
            // Without the instruction a fused product is a slow library call.
            return self.mul(factor).add(term);
        }
        let mut out = self;
        for i in 0..N {
            out.0[i] = self.0[i].mul_add(factor.0[i], term.0[i]);
        }
        out
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn sqrt(mut self) -> Self {
        for i in 0..N {
            self.0[i] = Real::sqrt(self.0[i]);
        }
        self
    }
    #[inline(always)]
    fn pow2(self) -> Self {
        let mut out = self;
        for i in 0..N {
            let biased = (self.0[i].wide() as i32 + 127) as u32;
            out.0[i] = R::of(f64::from(f32::from_bits(biased << 23)));
        }
        out
    }
    #[inline(always)]
    fn exp(self) -> Self {
        R::exp(self)
    }
    #[inline(always)]
    fn erf(self) -> Self {
        R::erf(self)
    }
    #[inline(always)]
    fn sum(self) -> R {
        self.0.iter().fold(R::default(), |sum, x| sum + *x)
    }
    #[inline(always)]
    fn largest(self) -> R {
        self.0.iter().fold(self.0[0], |best, x| if *x > best { *x } else { best })
    }
    #[inline(always)]
    unsafe fn load_pairs(from: *const u32) -> [u32; N] {
        // SAFETY: the caller's promise.
        unsafe { from.cast::<[u32; N]>().read_unaligned() }
    }
    #[inline(always)]
    fn add_pair_products(self, a: u32, b: [u32; N]) -> Self {
        let low = |pair: u32| R::of(f64::from(f32::from_bits(pair << 16)));
        let high = |pair: u32| R::of(f64::from(f32::from_bits(pair & 0xffff_0000)));
        let mut out = self;
        for (out, b) in out.0.iter_mut().zip(b) {
            *out += low(a) * low(b) + high(a) * high(b);
        }
        out
    }
    #[inline(always)]
    fn add_integer_products(self, a: u32, b: [u32; N]) -> Self {
        let low = |pair: u32| i32::from(pair as i16);
        let high = |pair: u32| i32::from((pair >> 16) as i16);
        let mut out = self;
        for (out, b) in out.0.iter_mut().zip(b) {
            let sum = out.to_integer().wrapping_add(low(a) * low(b)).wrapping_add(high(a) * high(b));
            *out = R::of_integer(sum);
        }
        out
    }
    #[inline(always)]
    fn bytes_as_pairs(b: [u32; N]) -> [[u32; N]; 2] {
        let pair = |low: i8, high: i8| {
            u32::from(i16::from(low).cast_unsigned()) | u32::from(i16::from(high).cast_unsigned()) << 16
        };
        let bytes = |b: u32| b.to_le_bytes().map(u8::cast_signed);
        let even = |b: u32| pair(bytes(b)[0], bytes(b)[2]);
        let odd = |b: u32| pair(bytes(b)[1], bytes(b)[3]);
        [b.map(even), b.map(odd)]
    }
    #[inline(always)]
    fn integers_to_numbers(self) -> Self {
        let mut out = self;
        for x in &mut out.0 {
            *x = R::of(f64::from(x.to_integer()));
        }
        out
    }
    #[inline(always)]
    unsafe fn store_integers(self, to: *mut i16) {
        let mut out = [0_i16; N];
        for (out, x) in out.iter_mut().zip(self.0) {
            *out = libm::rint(x.wide()) as i16;
        }
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[i16; N]>().write_unaligned(out) }
    }
}
