//! What a product steps over: one number, or a pair of bf16 or of integers, or four bytes, that one instruction
//! multiplies and adds.

use crate::bfloat16::bf16;
use bytemuck::{Pod, Zeroable};

use crate::cpu::lanes::{Lanes, Real};

/// One step along the inner dimension.
pub(crate) trait Unit: Pod + Send + Sync {
    /// The numbers that matrices hold.
    type Element: Pod + Send + Sync;
    /// What sums are kept in.
    type Real: Real;
    /// A vector of columns.
    type Columns<V: Lanes<Real = Self::Real>>: Copy;
    /// Elements per unit.
    const ELEMENTS: usize;
    /// Whether activations are kept in bf16.
    const IS_HALF: bool = false;

    /// A unit of consecutive elements; a missing second one is zero.
    fn join(first: Self::Element, second: Option<Self::Element>) -> Self;
    /// Reads a vector of columns.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn columns<V: Lanes<Real = Self::Real>>(from: *const Self) -> Self::Columns<V>;
    /// sum + self * columns.
    fn multiply_add<V: Lanes<Real = Self::Real>>(self, columns: Self::Columns<V>, sum: V) -> V;
}

/// How many units hold `elements` numbers.
pub(crate) fn units<U: Unit>(elements: usize) -> usize {
    elements.div_ceil(U::ELEMENTS)
}

macro_rules! single {
    ($real:ty) => {
        impl Unit for $real {
            type Element = $real;
            type Real = $real;
            type Columns<V: Lanes<Real = $real>> = V;
            const ELEMENTS: usize = 1;

            #[inline(always)]
            fn join(first: $real, _: Option<$real>) -> Self {
                first
            }
            #[inline(always)]
            unsafe fn columns<V: Lanes<Real = $real>>(from: *const Self) -> V {
                // SAFETY: the caller's promise.
                unsafe { V::load(from) }
            }
            #[inline(always)]
            fn multiply_add<V: Lanes<Real = $real>>(self, columns: V, sum: V) -> V {
                V::splat(self).mul_add(columns, sum)
            }
        }
    };
}

single!(f32);
single!(f64);

/// Two bf16, the first one in the low half.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Pair(u32);

impl Unit for Pair {
    type Element = bf16;
    type Real = f32;
    type Columns<V: Lanes<Real = f32>> = V::Pairs;
    const ELEMENTS: usize = 2;
    const IS_HALF: bool = true;

    #[inline(always)]
    fn join(first: bf16, second: Option<bf16>) -> Self {
        let second = second.unwrap_or(bf16::ZERO);
        Self(u32::from(first.to_bits()) | u32::from(second.to_bits()) << 16)
    }
    #[inline(always)]
    unsafe fn columns<V: Lanes<Real = f32>>(from: *const Self) -> V::Pairs {
        // SAFETY: the caller's promise; a pair is 32 bits.
        unsafe { V::load_pairs(from.cast()) }
    }
    #[inline(always)]
    fn multiply_add<V: Lanes<Real = f32>>(self, columns: V::Pairs, sum: V) -> V {
        sum.add_pair_products(self.0, columns)
    }
}

/// Two integers of sixteen bits, the first one in the low half. Sums are integers of 32 bits, in the bits of the lanes:
/// a [`Finish`](super::Finish) that has scales makes numbers of them.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct IntegerPair(u32);

impl Unit for IntegerPair {
    type Element = i16;
    type Real = f32;
    type Columns<V: Lanes<Real = f32>> = V::Pairs;
    const ELEMENTS: usize = 2;

    #[inline(always)]
    fn join(first: i16, second: Option<i16>) -> Self {
        let second = second.unwrap_or(0);
        Self(u32::from(first.cast_unsigned()) | u32::from(second.cast_unsigned()) << 16)
    }
    #[inline(always)]
    unsafe fn columns<V: Lanes<Real = f32>>(from: *const Self) -> V::Pairs {
        // SAFETY: the caller's promise; a pair is 32 bits.
        unsafe { V::load_pairs(from.cast()) }
    }
    #[inline(always)]
    fn multiply_add<V: Lanes<Real = f32>>(self, columns: V::Pairs, sum: V) -> V {
        sum.add_integer_products(self.0, columns)
    }
}

/// Four integers of eight bits, the first one lowest: those of left matrices without a sign, those of right ones with.
/// What matrices hold is two of them. Sums are as those of an [`IntegerPair`].
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Bytes(u32);

impl Unit for Bytes {
    type Element = [i8; 2];
    type Real = f32;
    type Columns<V: Lanes<Real = f32>> = V::Pairs;
    const ELEMENTS: usize = 2;

    #[inline(always)]
    fn join([a, b]: [i8; 2], second: Option<[i8; 2]>) -> Self {
        let [c, d] = second.unwrap_or_default();
        Self(u32::from_le_bytes([a, b, c, d].map(i8::cast_unsigned)))
    }
    #[inline(always)]
    unsafe fn columns<V: Lanes<Real = f32>>(from: *const Self) -> V::Pairs {
        // SAFETY: the caller's promise; four bytes are 32 bits.
        unsafe { V::load_pairs(from.cast()) }
    }
    #[inline(always)]
    fn multiply_add<V: Lanes<Real = f32>>(self, columns: V::Pairs, sum: V) -> V {
        sum.add_byte_products(self.0, columns)
    }
}
