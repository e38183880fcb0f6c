//! Sums and conversions, element by element.

use crate::bfloat16::bf16;

use super::{
    Cpu,
    lanes::{Kernel, Lanes, Real, load_some, load_some_half, store_some, store_some_half},
};
use crate::{dtype::Dtype, error::EngineError, tensor::Tensor};

/// Elements of one task.
pub(crate) const PIECE: usize = 16 * 1024;

/// x + y, in place where x is ours alone.
pub(crate) fn add(cpu: &Cpu, x: Tensor, y: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, add_in(cpu, x, y)))
}

fn add_in<R: Real>(cpu: &Cpu, mut x: Tensor, y: &Tensor) -> Tensor {
    let y = y.cpu::<R>();
    let work = |piece: usize, out: &mut [R]| {
        let from = piece * PIECE;
        cpu.run(AddTo { y: &y[from..from + out.len()], out });
    };
    if let Some(out) = x.cpu_mut::<R>() {
        cpu.for_pieces(out, PIECE, work);
        return x;
    }
    Tensor::compute(cpu, x.shape(), |out| {
        let x = x.cpu::<R>();
        cpu.for_pieces(out, PIECE, |piece, out| {
            out.copy_from_slice(&x[piece * PIECE..][..out.len()]);
            work(piece, out);
        });
    })
}

struct AddTo<'a, R> {
    y: &'a [R],
    out: &'a mut [R],
}

impl<R: Real> Kernel<R> for AddTo<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        for (out, y) in self.out.chunks_mut(V::COUNT).zip(self.y.chunks(V::COUNT)) {
            store_some(load_some::<V>(out).add(load_some::<V>(y)), out);
        }
    }
}

/// A tensor between f32 and bf16.
pub(crate) fn convert(cpu: &Cpu, x: &Tensor, dtype: Dtype) -> Result<Tensor, EngineError> {
    Ok(match (x.dtype(), dtype) {
        (Dtype::F32, Dtype::Bf16) => Tensor::compute::<bf16>(cpu, x.shape(), |out| {
            let x = x.cpu::<f32>();
            cpu.for_pieces(out, PIECE, |piece, out| {
                cpu.run(Narrow { x: &x[piece * PIECE..][..out.len()], out });
            });
        }),
        (Dtype::Bf16, Dtype::F32) => Tensor::compute::<f32>(cpu, x.shape(), |out| {
            let x = x.cpu::<bf16>();
            cpu.for_pieces(out, PIECE, |piece, out| {
                cpu.run(Widen { x: &x[piece * PIECE..][..out.len()], out });
            });
        }),
        // Double precision is for gradient checks, where every tensor is double already.
        _ => x.clone(),
    })
}

struct Narrow<'a> {
    x: &'a [f32],
    out: &'a mut [bf16],
}

impl Kernel<f32> for Narrow<'_> {
    const HAS_BF16: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) {
        for (out, x) in self.out.chunks_mut(V::COUNT).zip(self.x.chunks(V::COUNT)) {
            store_some_half(load_some::<V>(x), out);
        }
    }
}

struct Widen<'a> {
    x: &'a [bf16],
    out: &'a mut [f32],
}

impl Kernel<f32> for Widen<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) {
        for (out, x) in self.out.chunks_mut(V::COUNT).zip(self.x.chunks(V::COUNT)) {
            store_some(load_some_half::<V>(x), out);
        }
    }
}
