//! Linear layers whose weights are integers of eight bits: products of integers, exact whatever the order of adding.
//!
//! Each row x of activations becomes integers p with one scale, x = s p, most often as wide as sums of 32 bits allow:
//! |p| <= 2^31 / (128 k). Then y_j = s t_j sum_i p_i q_ij, with t_j and q_j the weight's scale and integers of output
//! j. Weights are the file's own, and an activation is off by a ten-thousandth of its row's largest at most: errors of
//! fields are those of f32. Layers that bear activations of eight bits say so (`byte_activations.rs`).

use super::{
    Cpu, Shared, byte_activations,
    gemm::{Bytes, Finish, IntegerPair, Left, Order, PASS, Panels, multiply},
    lanes::{Kernel, Lanes, load_some},
    linear::finish_of,
    produce::produce,
};
use crate::{
    ops::{Epilogue, Linear},
    params::Packing,
    quantised::{Activations, QuantisedRows},
    tape::{Tape, Var},
    tensor::Tensor,
};

/// Rows of activations that a task rounds.
const ROWS: usize = 16;

/// The widest rows whose sums are taken in one pass, in two integers a unit.
pub(crate) const WIDEST: usize = 2 * PASS;

/// The layer's value; never the value before GELU, which only recording tapes want.
pub(super) fn forward(
    cpu: &Cpu,
    tape: &Tape<'_>,
    layer: Linear,
    weight: &QuantisedRows,
    x: &Var,
    epilogue: Epilogue<'_>,
    shape: &[usize],
) -> (Tensor, Option<Tensor>) {
    let n = weight.scales.len();
    let k = weight.width();
    let m = shape.iter().product::<usize>() / n.max(1);
    let x = x.value().cpu::<f32>();
    let mut rounded = cpu.memory(m * k * size_of::<i16>());
    let mut rows = cpu.memory(2 * m * size_of::<f32>());
    let (scales, zeros) = rows.slice_mut().split_at_mut(m);
    let finish = Finish {
        row_scales: scales.as_ptr(),
        column_scales: weight.scales.as_ptr(),
        ..finish_of::<f32>(tape, layer, epilogue, n)
    };
    match weight.activations {
        Activations::Wide => {
            round_rows(cpu, x, k, rounded.slice_mut(), scales);
            let panels = tape.params().packed(layer.weight, Packing::Integers, || {
                let integers: Vec<i16> = weight.integers.iter().map(|q| i16::from(*q)).collect();
                Panels::pack::<IntegerPair>(cpu, &integers, Order::ByColumn, [k, n], k)
            });
            let left = Left::rows(rounded.slice::<IntegerPair>().as_ptr(), k / 2, k / 2);
            produce::<IntegerPair>(cpu, tape, shape, epilogue, finish, |finish| {
                // SAFETY: the rounded rows are [m, k], k is even, and the matrices of `finish` are [m, n] with m and n
                // scales.
                unsafe { multiply(cpu, m, left, panels.view(), finish) };
            })
        }
        Activations::Bytes => {
            byte_activations::round_rows(cpu, x, k, &mut rounded.slice_mut()[..m * k], scales, zeros);
            let panels = tape.params().packed(layer.weight, Packing::Integers, || {
                let twos = bytemuck::cast_slice(&weight.integers);
                Panels::pack::<Bytes>(cpu, twos, Order::ByColumn, [k / 2, n], k / 2)
            });
            let left = Left::rows(rounded.slice::<Bytes>().as_ptr(), k / 4, k / 4);
            let row_zeros = zeros.as_ptr();
            let column_sums = weight.sums.as_ptr();
            let finish = Finish { row_zeros, column_sums, ..finish };
            produce::<Bytes>(cpu, tape, shape, epilogue, finish, |finish| {
                // SAFETY: as above, with k a multiple of four, m zeros and n sums.
                unsafe { multiply(cpu, m, left, panels.view(), finish) };
            })
        }
    }
}

/// x = scale p for each row of k numbers.
fn round_rows(cpu: &Cpu, x: &[f32], k: usize, integers: &mut [i16], scales: &mut [f32]) {
    let largest = ((i32::MAX as usize) / (128 * k)).min(i16::MAX as usize) as f32;
    let out = Shared(integers.as_mut_ptr());
    cpu.for_pieces(scales, ROWS, |piece, scales| {
        let first = piece * ROWS * k;
        // SAFETY: these rows belong to this task alone.
        let integers = unsafe { std::slice::from_raw_parts_mut(out.get().add(first), scales.len() * k) };
        cpu.run(RoundRows { x: &x[first..][..scales.len() * k], k, largest, integers, scales });
    });
}

struct RoundRows<'a> {
    x: &'a [f32],
    k: usize,
    /// The largest integer.
    largest: f32,
    integers: &'a mut [i16],
    scales: &'a mut [f32],
}

impl Kernel<f32> for RoundRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) {
        let rows = self.x.chunks_exact(self.k).zip(self.integers.chunks_exact_mut(self.k));
        for ((row, integers), scale) in rows.zip(self.scales) {
            let zero = V::splat(0.0);
            let most = row.chunks(V::COUNT).fold(zero, |most, some| {
                let some = load_some::<V>(some);
                most.max(some).max(zero.sub(some))
            });
            let most = most.largest();
            // A row of zeros stays one; a row that is not finite gives what is not finite.
            *scale = if most > 0.0 || most.is_nan() { most / self.largest } else { 0.0 };
            let inverse = V::splat(if most > 0.0 { self.largest / most } else { 0.0 });
            for (some, integers) in row.chunks(V::COUNT).zip(integers.chunks_mut(V::COUNT)) {
                let rounded = load_some::<V>(some).mul(inverse);
                if integers.len() == V::COUNT {
                    // SAFETY: there is room for a whole vector.
                    unsafe { rounded.store_integers(integers.as_mut_ptr()) };
                    continue;
                }
                let mut all = [0_i16; 16];
                // SAFETY: no vector has more than 16 lanes.
                unsafe { rounded.store_integers(all.as_mut_ptr()) };
                integers.copy_from_slice(&all[..integers.len()]);
            }
        }
    }
}
