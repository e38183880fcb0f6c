//! The number bf16, the upper half of single precision. The crate that has it brings a second parser of Rust, which
//! takes longer to build than everything else that it does.

use bytemuck::{Pod, Zeroable};

/// A number with the exponents of single precision and eight significant bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
#[allow(non_camel_case_types)] // as f32 is written
pub struct bf16(u16);

impl bf16 {
    /// The number zero.
    pub(crate) const ZERO: Self = Self(0);

    /// Rounds to nearest, to even where two are as near. What is no number stays none.
    #[inline]
    pub const fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        if value.is_nan() {
            return Self((bits >> 16) as u16 | 0x40);
        }
        // Half of the last place, less one unless that place is odd.
        let half = 0x7FFF + ((bits >> 16) & 1);
        Self(((bits + half) >> 16) as u16)
    }

    /// Rounds once, to nearest and to even where two are as near.
    #[inline]
    pub(crate) fn from_f64(value: f64) -> Self {
        let single = value as f32;
        if single.is_nan() || f64::from(single) == value {
            return Self::from_f32(single);
        }
        // Rounding to odd first keeps it known on which side of the middle between two bf16 the number lies.
        let beyond = f64::from(single).abs() > value.abs();
        Self::from_f32(f32::from_bits((single.to_bits() - u32::from(beyond)) | 1))
    }

    /// The same number in single precision.
    #[inline]
    pub const fn to_f32(self) -> f32 {
        f32::from_bits((self.0 as u32) << 16)
    }

    /// Its sixteen bits.
    #[inline]
    pub const fn to_bits(self) -> u16 {
        self.0
    }

    /// The number of two bytes, the lower one first.
    #[inline]
    pub const fn from_le_bytes(bytes: [u8; 2]) -> Self {
        Self(u16::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::bf16;

    #[test]
    fn every_number_survives_and_middles_go_to_even() {
        for bits in 0..=u16::MAX {
            let number = bf16::from_le_bytes(bits.to_le_bytes());
            let value = number.to_f32();
            if value.is_nan() {
                assert!(
                    bf16::from_f32(value).to_f32().is_nan() && bf16::from_f64(f64::NAN).to_f32().is_nan()
                );
                continue;
            }
            assert_eq!((bf16::from_f32(value), bf16::from_f64(f64::from(value))), (number, number));
            if value.is_infinite() {
                continue;
            }
            // The middle to the next number away from zero, and what lies just beside it.
            let middle = f32::from_bits((u32::from(bits) << 16) | 0x8000);
            let next = bf16::from_le_bytes((bits + 1).to_le_bytes());
            let even = if bits & 1 == 0 { number } else { next };
            assert_eq!((bf16::from_f32(middle), bf16::from_f64(f64::from(middle))), (even, even));
            let beside = |sign: f64| f64::from(middle) * (1.0 + sign * 1e-12);
            assert_eq!((bf16::from_f64(beside(-1.0)), bf16::from_f64(beside(1.0))), (number, next));
        }
    }
}
