//! Activations as bytes without a sign: each row's least and largest number become 0 and 255.
//!
//! x = s (p - z), where z is the byte that stands for zero. With y_j = t_j s (sum_i p_i q_ij - z sum_i q_ij) the sums
//! of a weight's rows are all that a product of bytes needs besides.

use super::{
    Cpu, Shared,
    lanes::{Kernel, Lanes, load_some},
};

/// Rows of activations that a task rounds.
const ROWS: usize = 16;
/// The largest byte.
const LARGEST: f32 = 255.0;

/// Bytes, scale and zero for each row of k numbers.
pub(super) fn round_rows(
    cpu: &Cpu,
    x: &[f32],
    k: usize,
    bytes: &mut [u8],
    scales: &mut [f32],
    zeros: &mut [f32],
) {
    let out = Shared(bytes.as_mut_ptr());
    let zeros = Shared(zeros.as_mut_ptr());
    cpu.for_pieces(scales, ROWS, |piece, scales| {
        let first = piece * ROWS;
        let rows = scales.len();
        // SAFETY: these rows belong to this task alone.
        let (bytes, zeros) = unsafe {
            let bytes = std::slice::from_raw_parts_mut(out.get().add(first * k), rows * k);
            (bytes, std::slice::from_raw_parts_mut(zeros.get().add(first), rows))
        };
        cpu.run(RoundRows { x: &x[first * k..][..rows * k], k, bytes, scales, zeros });
    });
}

struct RoundRows<'a> {
    x: &'a [f32],
    k: usize,
    bytes: &'a mut [u8],
    scales: &'a mut [f32],
    zeros: &'a mut [f32],
}

impl Kernel<f32> for RoundRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) {
        let rows = self.x.chunks_exact(self.k).zip(self.bytes.chunks_exact_mut(self.k));
        for ((row, bytes), (scale, zero)) in rows.zip(self.scales.iter_mut().zip(self.zeros)) {
            // Zero is always among the numbers, so that it is exact.
            let mut most = V::splat(0.0);
            let mut least = V::splat(0.0);
            for some in row.chunks(V::COUNT) {
                let some = load_some::<V>(some);
                most = most.max(some);
                least = least.max(V::splat(0.0).sub(some));
            }
            let most = most.largest();
            let least = least.largest();
            let range = most + least;
            // A row of zeros stays one; a row that is not finite gives what is not finite.
            *scale = if range > 0.0 || range.is_nan() { range / LARGEST } else { 0.0 };
            let inverse = if range > 0.0 { LARGEST / range } else { 0.0 };
            *zero = (least * inverse).round_ties_even();
            for (some, bytes) in row.chunks(V::COUNT).zip(bytes.chunks_mut(V::COUNT)) {
                let moved = load_some::<V>(some).mul(V::splat(inverse)).add(V::splat(*zero));
                let mut all = [0_i16; 16];
                // SAFETY: no vector has more than 16 lanes.
                unsafe { moved.max(V::splat(0.0)).min(V::splat(LARGEST)).store_integers(all.as_mut_ptr()) };
                let narrow = all.map(|integer| integer as u8);
                match <&mut [u8; 16]>::try_from(&mut *bytes) {
                    // A length that the compiler knows is one write.
                    Ok(whole) => *whole = narrow,
                    Err(_) => bytes.copy_from_slice(&narrow[..bytes.len()]),
                }
            }
        }
    }
}
