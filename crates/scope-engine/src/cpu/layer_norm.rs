//! Layer normalisation, a row at a time.

use crate::bfloat16::bf16;

use super::{
    Cpu, Shared,
    lanes::{Kernel, Lanes, Real, load_some, store_some, store_some_half},
};
use crate::{
    dtype::{Dtype, Element},
    error::EngineError,
    ops::{NORM_EPSILON, Norm},
    tape::{Flow, Tape},
    tensor::Tensor,
};

/// Rows of one task; the gradients of gain and bias are summed over such blocks, then over blocks in order.
const ROWS: usize = 32;

/// The normalised rows.
pub(crate) fn forward(cpu: &Cpu, tape: &Tape<'_>, norm: Norm, x: &Tensor) -> Result<Tensor, EngineError> {
    Ok(match tape.compute() {
        Dtype::F64 => forward_in::<f64, f64>(cpu, Affine::of(tape, norm), x, |out| Rows::Real(out)),
        Dtype::F32 => forward_in::<f32, f32>(cpu, Affine::of(tape, norm), x, |out| Rows::Real(out)),
        Dtype::Bf16 => forward_in::<f32, bf16>(cpu, Affine::of(tape, norm), x, |out| Rows::Half(out)),
    })
}

/// The normalised rows in the precision of what `rows` makes rows of.
fn forward_in<R: Real, E: Element>(
    cpu: &Cpu,
    affine: Affine<'_, R>,
    x: &Tensor,
    rows: impl Fn(&mut [E]) -> Rows<'_, R> + Sync,
) -> Tensor {
    let shape = x.shape();
    let x = x.cpu::<R>();
    let each = ROWS * affine.gain.len();
    Tensor::compute::<E>(cpu, shape, |out| {
        cpu.for_pieces(out, each, |piece, out| {
            let x = &x[piece * each..][..out.len()];
            cpu.run(Normalise { x, affine, out: rows(out) });
        });
    })
}

/// Gain and bias.
#[derive(Clone, Copy)]
struct Affine<'a, R> {
    gain: &'a [R],
    bias: &'a [R],
}

impl<'a, R: Real> Affine<'a, R> {
    fn of(tape: &Tape<'a>, norm: Norm) -> Self {
        Self { gain: tape.params().cpu(norm.weight), bias: tape.params().cpu(norm.bias) }
    }
}

/// Some rows of the result.
enum Rows<'a, R> {
    Real(&'a mut [R]),
    Half(&'a mut [bf16]),
}

struct Normalise<'a, R> {
    x: &'a [R],
    affine: Affine<'a, R>,
    out: Rows<'a, R>,
}

impl<R: Real> Kernel<R> for Normalise<'_, R> {
    const HAS_BF16: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(mut self) {
        let n = self.affine.gain.len();
        for (row, x) in self.x.chunks(n).enumerate() {
            let (mean, scale) = moments::<V>(x);
            let mean = V::splat(mean);
            let scale = V::splat(scale);
            for start in (0..n).step_by(V::COUNT) {
                let range = start..(start + V::COUNT).min(n);
                let h = load_some::<V>(&x[range.clone()]).sub(mean).mul(scale);
                let gain = load_some::<V>(&self.affine.gain[range.clone()]);
                let y = h.mul_add(gain, load_some::<V>(&self.affine.bias[range.clone()]));
                let at = row * n + range.start..row * n + range.end;
                match &mut self.out {
                    Rows::Real(out) => store_some(y, &mut out[at]),
                    Rows::Half(out) => store_some_half(y, &mut out[at]),
                }
            }
        }
    }
}

/// The mean of a row and 1 / sqrt(variance + e).
#[inline(always)]
fn moments<V: Lanes>(x: &[V::Real]) -> (V::Real, V::Real) {
    let zero = V::splat(V::Real::default());
    let count = V::Real::of(x.len() as f64);
    let whole = x.len() / V::COUNT * V::COUNT;
    let (body, rest) = x.split_at(whole);
    // Plain loops: a closure handed to `fold` would not be compiled for the vectors.
    let mut sum = zero;
    for x in body.chunks_exact(V::COUNT) {
        sum = sum.add(load_some::<V>(x));
    }
    let mut total = sum.sum();
    for x in rest {
        total += *x;
    }
    let mean = total / count;
    let mut squares = zero;
    for x in body.chunks_exact(V::COUNT) {
        let d = load_some::<V>(x).sub(V::splat(mean));
        squares = d.mul_add(d, squares);
    }
    let mut total = squares.sum();
    for x in rest {
        total += (*x - mean) * (*x - mean);
    }
    let variance = total / count;
    (mean, V::Real::of(1.0) / (variance + V::Real::of(NORM_EPSILON)).sqrt())
}

/// dx plus what had arrived already; gain and bias get their sums.
pub(crate) fn backward(
    cpu: &Cpu,
    norm: Norm,
    x: &Tensor,
    gradient: &Tensor,
    arrived: Option<Tensor>,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    for_dtype!(gradient, backward_in(cpu, norm, x, gradient, arrived, flow))
}

fn backward_in<R: Real>(
    cpu: &Cpu,
    norm: Norm,
    x: &Tensor,
    gradient: &Tensor,
    arrived: Option<Tensor>,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let gain = flow.params().cpu::<R>(norm.weight);
    let n = gain.len();
    let each = ROWS * n;
    let blocks = x.len().div_ceil(each);
    // Per block: sums for the gain, then sums for the bias.
    let mut partial = cpu.memory(blocks * 2 * n * size_of::<R>());
    let sums = Shared(partial.slice_mut::<R>().as_mut_ptr());
    let values = x.cpu::<R>();
    let dy = gradient.cpu::<R>();
    let arrived = arrived.as_ref().map(|arrived| arrived.cpu::<R>());
    let dx = Tensor::compute::<R>(cpu, x.shape(), |out| {
        cpu.for_pieces(out, each, |block, out| {
            let rows = block * each..block * each + out.len();
            // SAFETY: each block has its own sums.
            let sums = unsafe { std::slice::from_raw_parts_mut(sums.get().add(block * 2 * n), 2 * n) };
            let arrived = arrived.map(|arrived| &arrived[rows.clone()]);
            cpu.run(Backward { x: &values[rows.clone()], dy: &dy[rows], gain, arrived, out, sums });
        });
    });
    for (id, offset) in [(norm.weight, 0), (norm.bias, n)] {
        let into = flow.into().cpu_mut::<R>(id)?;
        for block in partial.slice::<R>().chunks(2 * n) {
            for (into, sum) in into.iter_mut().zip(&block[offset..offset + n]) {
                *into += *sum;
            }
        }
    }
    Ok(dx)
}

struct Backward<'a, R> {
    x: &'a [R],
    dy: &'a [R],
    gain: &'a [R],
    arrived: Option<&'a [R]>,
    out: &'a mut [R],
    sums: &'a mut [R],
}

impl<R: Real> Kernel<R> for Backward<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let n = self.gain.len();
        let (dgain, dbias) = self.sums.split_at_mut(n);
        dgain.fill(R::default());
        dbias.fill(R::default());
        let zero = V::splat(R::default());
        let count = R::of(n as f64);
        for row in 0..self.x.len() / n {
            let x = &self.x[row * n..][..n];
            let dy = &self.dy[row * n..][..n];
            let (mean, scale) = moments::<V>(x);
            let mean = V::splat(mean);
            let scale = V::splat(scale);
            let mut sum_d = zero;
            let mut sum_dh = zero;
            for start in (0..n).step_by(V::COUNT) {
                let at = start..(start + V::COUNT).min(n);
                let g = load_some::<V>(&dy[at.clone()]);
                // Lanes beyond the row hold zero gradients, so what h is there does not matter.
                let h = load_some::<V>(&x[at.clone()]).sub(mean).mul(scale);
                let d = g.mul(load_some::<V>(&self.gain[at.clone()]));
                sum_d = sum_d.add(d);
                sum_dh = d.mul_add(h, sum_dh);
                store_some(g.mul_add(h, load_some::<V>(&dgain[at.clone()])), &mut dgain[at.clone()]);
                store_some(g.add(load_some::<V>(&dbias[at.clone()])), &mut dbias[at]);
            }
            let mean_d = V::splat(sum_d.sum() / count);
            let mean_dh = V::splat(sum_dh.sum() / count);
            for start in (0..n).step_by(V::COUNT) {
                let at = start..(start + V::COUNT).min(n);
                let h = load_some::<V>(&x[at.clone()]).sub(mean).mul(scale);
                let d = load_some::<V>(&dy[at.clone()]).mul(load_some::<V>(&self.gain[at.clone()]));
                let mut dx = d.sub(mean_d).sub(h.mul(mean_dh)).mul(scale);
                let at = row * n + at.start..row * n + at.end;
                if let Some(arrived) = self.arrived {
                    dx = dx.add(load_some::<V>(&arrived[at.clone()]));
                }
                store_some(dx, &mut self.out[at]);
            }
        }
    }
}
