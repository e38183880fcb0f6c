//! Vectors of a CPU's own width.
//!
//! A kernel is written once, for any [`Lanes`], and compiled for each instruction set; [`Isa::detect`] finds
//! the widest at hand when the program starts. Double precision runs the same kernels on plain arrays, which
//! is how every gradient is checked against finite differences.

mod array;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_double;
#[cfg(target_arch = "x86_64")]
mod intrinsics;
#[cfg(target_arch = "aarch64")]
mod neon;
mod polynomial;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd128;

use crate::{bfloat16::bf16, dtype::Element};

use array::Array;

/// The vectors of [`Isa::Portable`] in single precision.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
type PortableLanes = Array<f32, 8, false>;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
type PortableLanes = simd128::Simd128;

/// An instruction set that kernels are compiled for, from plain to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What every machine of the target has.
    Portable,
    /// 128-bit vectors of ARM with fused multiply-add.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// 256-bit vectors with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 512-bit vectors with products of pairs of bf16 and of integers (VNNI).
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
}

impl Isa {
    /// Every instruction set this CPU has, plainest first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut found = vec![Isa::Portable];
        #[cfg(target_arch = "aarch64")]
        found.push(Isa::Neon);
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl");
            found.extend(avx2.then_some(Isa::Avx2));
            found.extend(avx512.then_some(Isa::Avx512));
            let pairs =
                avx512 && is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512vnni");
            found.extend(pairs.then_some(Isa::Avx512Bf16));
        }
        found
    }

    /// The best instruction set of this CPU.
    pub(crate) fn detect() -> Self {
        Self::available().pop().unwrap_or(Isa::Portable)
    }
}

/// A number that kernels compute in.
pub(crate) trait Real:
    Element
    + Default
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::AddAssign
{
    /// Rounds a number of double precision.
    fn of(x: f64) -> Self;
    /// The number in double precision.
    fn wide(self) -> f64;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// self * factor + term, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Runs a kernel with the vectors of an instruction set.
    fn dispatch<K: Kernel<Self>>(isa: Isa, kernel: K) -> K::Output;
}

/// Work that is compiled once for each instruction set. `run` must be `#[inline(always)]`, and so must what
/// it calls in its inner loops: that is how the code ends up inside the function that has the instructions.
pub(crate) trait Kernel<R: Real> {
    /// What the work gives back.
    type Output;
    /// Whether it rounds to bf16 or multiplies pairs: only then is it compiled once more for processors that have
    /// instructions for that, and all other kernels run there as they do with AVX-512 alone.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "x86 alone has such instructions here")
    )]
    const HAS_BF16: bool = false;
    /// Does the work.
    fn run<V: Lanes<Real = R>>(self) -> Self::Output;
}

/// The arithmetic that both precisions have by the same names.
macro_rules! arithmetic {
    () => {
        #[inline(always)]
        fn of(x: f64) -> Self {
            x as Self
        }
        #[inline(always)]
        fn wide(self) -> f64 {
            self as f64
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            self.sqrt()
        }
        #[inline(always)]
        fn ln(self) -> Self {
            self.ln()
        }
        #[inline(always)]
        fn mul_add(self, factor: Self, term: Self) -> Self {
            self.mul_add(factor, term)
        }
    };
}

impl Real for f32 {
    arithmetic!();
    fn dispatch<K: Kernel<Self>>(isa: Isa, kernel: K) -> K::Output {
        match isa {
            Isa::Portable => kernel.run::<PortableLanes>(),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => kernel.run::<neon::Neon>(),
            // SAFETY: an `Isa` beyond `Portable` comes from `Isa::available`, which saw its features.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { avx2::run(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 if K::HAS_BF16 => unsafe { avx512::run_bf16(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512::run(kernel) },
        }
    }
}

impl Real for f64 {
    arithmetic!();
    fn dispatch<K: Kernel<Self>>(_: Isa, kernel: K) -> K::Output {
        kernel.run::<Array<f64, 4, false>>()
    }
}

/// Runs a kernel in double precision with the instructions at hand. Only work that is worth being compiled once more
/// for each of them comes here: gradients are checked in double precision, not trained.
pub(crate) fn dispatch_double<K: Kernel<f64>>(isa: Isa, kernel: K) -> K::Output {
    match isa {
        Isa::Portable => kernel.run::<Array<f64, 4, false>>(),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => kernel.run::<Array<f64, 4, true>>(),
        // SAFETY: an `Isa` beyond `Portable` comes from `Isa::available`, which saw its features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2::run_double(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx512Bf16 => unsafe { avx512_double::run(kernel) },
    }
}

/// A vector of numbers. Implementations for one instruction set are only ever reached through
/// [`Real::dispatch`], which is what makes their intrinsics sound.
pub(crate) trait Lanes: Copy {
    /// What a lane holds.
    type Real: Real;
    /// A pair of bf16, or of integers of sixteen bits, in each lane.
    type Pairs: Copy;
    /// Lanes per vector.
    const COUNT: usize;
    /// Rows of the product tile that fits the register file beside two vectors of columns.
    const TILE_ROWS: usize;

    /// The same number in every lane.
    fn splat(x: Self::Real) -> Self;
    /// Reads `COUNT` numbers.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn load(from: *const Self::Real) -> Self;
    /// Writes `COUNT` numbers.
    ///
    /// # Safety
    /// There must be room.
    unsafe fn store(self, to: *mut Self::Real);
    /// Reads `COUNT` halves.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn load_half(from: *const bf16) -> Self;
    /// Writes `COUNT` halves, rounded to nearest even.
    ///
    /// # Safety
    /// There must be room.
    unsafe fn store_half(self, to: *mut bf16);

    /// self + other.
    fn add(self, other: Self) -> Self;
    /// self - other.
    fn sub(self, other: Self) -> Self;
    /// self * other.
    fn mul(self, other: Self) -> Self;
    /// self / other.
    fn div(self, other: Self) -> Self;
    /// self * factor + term.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The larger of each pair.
    fn max(self, other: Self) -> Self;
    /// The smaller of each pair.
    fn min(self, other: Self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// 2^n for lanes that hold whole numbers.
    fn pow2(self) -> Self;
    /// e^x, relative error below 3e-7 in single precision; 0 below -87.
    fn exp(self) -> Self;
    /// The error function, absolute error below 4e-7 in single precision.
    fn erf(self) -> Self;
    /// The sum of all lanes, always in the same order.
    fn sum(self) -> Self::Real;
    /// The largest lane.
    fn largest(self) -> Self::Real;

    /// Reads `COUNT` pairs of bf16, each packed in 32 bits with the first one low.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn load_pairs(from: *const u32) -> Self::Pairs;
    /// `self + low(a) low(b) + high(a) high(b)` in every lane.
    fn add_pair_products(self, a: u32, b: Self::Pairs) -> Self;
    /// The same of integers: lanes hold the bits of sums of 32 bits, and pairs integers of sixteen.
    fn add_integer_products(self, a: u32, b: Self::Pairs) -> Self;
    /// Four bytes in each lane as two pairs: the first and third, the second and fourth.
    fn bytes_as_pairs(b: Self::Pairs) -> [Self::Pairs; 2];
    /// Products and sums of bytes, four in each lane, those of `a` without a sign and those of `b` with.
    #[inline(always)]
    fn add_byte_products(self, a: u32, b: Self::Pairs) -> Self {
        const EVEN: u32 = 0x00ff_00ff;
        let [even, odd] = Self::bytes_as_pairs(b);
        self.add_integer_products(a & EVEN, even).add_integer_products(a >> 8 & EVEN, odd)
    }
    /// The numbers of such sums.
    fn integers_to_numbers(self) -> Self;
    /// Writes `COUNT` numbers rounded to integers, ties to even; they must be within sixteen bits.
    ///
    /// # Safety
    /// There must be room.
    unsafe fn store_integers(self, to: *mut i16);
}

/// Reads up to `COUNT` numbers; the other lanes are zero.
#[inline(always)]
pub(crate) fn load_some<V: Lanes>(from: &[V::Real]) -> V {
    if from.len() >= V::COUNT {
        // SAFETY: the length was just checked.
        return unsafe { V::load(from.as_ptr()) };
    }
    let mut padded = [V::Real::default(); 16];
    padded[..from.len()].copy_from_slice(from);
    // SAFETY: no vector has more than 16 lanes.
    unsafe { V::load(padded.as_ptr()) }
}

/// Writes up to `COUNT` lanes.
#[inline(always)]
pub(crate) fn store_some<V: Lanes>(value: V, to: &mut [V::Real]) {
    if to.len() >= V::COUNT {
        // SAFETY: the length was just checked.
        return unsafe { value.store(to.as_mut_ptr()) };
    }
    let mut padded = [V::Real::default(); 16];
    // SAFETY: no vector has more than 16 lanes.
    unsafe { value.store(padded.as_mut_ptr()) };
    let room = to.len();
    to.copy_from_slice(&padded[..room]);
}

/// Reads up to `COUNT` halves; the other lanes are zero.
#[inline(always)]
pub(crate) fn load_some_half<V: Lanes>(from: &[bf16]) -> V {
    if from.len() >= V::COUNT {
        // SAFETY: the length was just checked.
        return unsafe { V::load_half(from.as_ptr()) };
    }
    let mut padded = [bf16::ZERO; 16];
    padded[..from.len()].copy_from_slice(from);
    // SAFETY: no vector has more than 16 lanes.
    unsafe { V::load_half(padded.as_ptr()) }
}

/// Writes up to `COUNT` lanes as halves.
#[inline(always)]
pub(crate) fn store_some_half<V: Lanes>(value: V, to: &mut [bf16]) {
    if to.len() >= V::COUNT {
        // SAFETY: the length was just checked.
        return unsafe { value.store_half(to.as_mut_ptr()) };
    }
    let mut padded = [bf16::ZERO; 16];
    // SAFETY: no vector has more than 16 lanes.
    unsafe { value.store_half(padded.as_mut_ptr()) };
    let room = to.len();
    to.copy_from_slice(&padded[..room]);
}

#[cfg(test)]
mod tests;
