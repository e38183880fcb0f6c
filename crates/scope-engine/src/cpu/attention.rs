//! Attention, one head of one sample a task: its keys, values and a strip of scores stay in the second-level
//! cache.

use crate::bfloat16::bf16;

use super::{
    Cpu, Shared,
    gemm::{
        Finish, Left, Order, Out, Pair, PanelView, Unit, Unpacked, multiply_rows, pack_panel, panel_width,
        units,
    },
    lanes::{Kernel, Lanes, Real, load_some, store_some, store_some_half},
};
use crate::{
    dtype::{Dtype, Element},
    error::EngineError,
    tape::Flow,
    tensor::Tensor,
};

/// Rows of scores at a time in the forward pass.
const STRIP: usize = 16;

/// The sizes of one attention.
#[derive(Clone, Copy)]
struct Sizes {
    tokens: usize,
    width: usize,
    heads: usize,
}

impl Sizes {
    fn head(&self) -> usize {
        self.width / self.heads
    }

    /// 1 / sqrt(d).
    fn scale(&self) -> f64 {
        1.0 / (self.head() as f64).sqrt()
    }

    /// Where queries, keys and values of a head begin in qkv.
    fn starts(&self, task: usize) -> [usize; 3] {
        let sample = task / self.heads;
        let head = task % self.heads;
        let query = sample * self.tokens * 3 * self.width + head * self.head();
        [query, query + self.width, query + 2 * self.width]
    }

    /// Where a head begins in the output.
    fn output(&self, task: usize) -> usize {
        let sample = task / self.heads;
        let head = task % self.heads;
        sample * self.tokens * self.width + head * self.head()
    }
}

/// The output, and the log sum exp of each row of scores.
pub(crate) fn forward(
    cpu: &Cpu,
    qkv: &Tensor,
    heads: usize,
    shape: [usize; 3],
) -> Result<(Tensor, Tensor), EngineError> {
    Ok(match qkv.dtype() {
        Dtype::F32 => forward_in::<f32>(cpu, qkv, heads, shape),
        Dtype::Bf16 => forward_in::<Pair>(cpu, qkv, heads, shape),
        Dtype::F64 => forward_in::<f64>(cpu, qkv, heads, shape),
    })
}

fn forward_in<U: Unit>(cpu: &Cpu, qkv: &Tensor, heads: usize, shape: [usize; 3]) -> (Tensor, Tensor)
where
    U::Element: Element,
{
    let [batch, tokens, width] = shape;
    let sizes = Sizes { tokens, width, heads };
    let mut out = None;
    let log_sums = Tensor::compute::<U::Real>(cpu, &[batch, heads, tokens], |log_sums| {
        out = Some(Tensor::compute::<U::Element>(cpu, &shape, |out| {
            let out = Shared(out.as_mut_ptr());
            cpu.for_pieces(log_sums, tokens, |task, log_sums| {
                cpu.run(Forward::<U> { cpu, qkv: qkv.cpu(), out, log_sums, sizes, task });
            });
        }));
    });
    (out.unwrap_or_else(|| qkv.clone()), log_sums)
}

/// Scratch memory for panels of a \[k, n\] matrix.
fn panel_units<U: Unit>(cpu: &Cpu, k: usize, n: usize) -> (usize, usize) {
    let width = panel_width::<U::Real>(cpu.isa());
    (n.div_ceil(width) * width * units::<U>(k), width)
}

/// Packs a \[k, n\] matrix on this thread.
#[inline(always)]
fn pack_here<'a, U: Unit>(
    matrix: Unpacked<'_, U::Element>,
    width: usize,
    into: &'a mut [U],
) -> PanelView<'a, U> {
    let [k, n] = matrix.size;
    let depth = units::<U>(k);
    for (panel, piece) in into.chunks_mut(depth * width).enumerate() {
        pack_panel::<U>(matrix, panel, width, piece);
    }
    PanelView { units: into, panels: 0..n.div_ceil(width), k: depth, n, width }
}

struct Forward<'a, U: Unit> {
    cpu: &'a Cpu,
    qkv: &'a [U::Element],
    out: Shared<U::Element>,
    log_sums: &'a mut [U::Real],
    sizes: Sizes,
    task: usize,
}

impl<U: Unit> Kernel<U::Real> for Forward<'_, U>
where
    U::Element: Element,
{
    const HAS_BF16: bool = U::ELEMENTS > 1;
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = U::Real>>(self) {
        let Sizes { tokens, width, .. } = self.sizes;
        let size = self.sizes.head();
        let stride = 3 * width;
        let [query, key, value] = self.sizes.starts(self.task);
        let (key_units, panel) = panel_units::<U>(self.cpu, size, tokens);
        let (value_units, _) = panel_units::<U>(self.cpu, tokens, size);
        let mut packed = self.cpu.memory((key_units + value_units) * size_of::<U>());
        let (keys, values) = packed.slice_mut::<U>().split_at_mut(key_units);
        let matrix = |at: usize, order, size| Unpacked { values: &self.qkv[at..], order, size, stride };
        let keys = pack_here(matrix(key, Order::ByColumn, [size, tokens]), panel, keys);
        let values = pack_here(matrix(value, Order::ByRow, [tokens, size]), panel, values);

        // A strip of scores, its exponentials as units, and a strip of the output; rows padded to whole units.
        let row = units::<U>(tokens) * U::ELEMENTS;
        let mut strip = self.cpu.memory(STRIP * (row + size) * size_of::<U::Real>());
        let (scores, sums) = strip.slice_mut::<U::Real>().split_at_mut(STRIP * row);
        scores.fill(U::Real::default());
        let mut halves = self.cpu.memory(if U::ELEMENTS == 2 { STRIP * row * 2 } else { 0 });
        let halves = halves.slice_mut::<bf16>();
        halves.fill(bf16::ZERO);
        for first in (0..tokens).step_by(STRIP) {
            let count = STRIP.min(tokens - first);
            let queries = &self.qkv[query + first * stride..];
            let left = Left::rows(queries.as_ptr().cast::<U>(), units::<U>(size), stride / U::ELEMENTS);
            let finish = Finish::plain(Out::Real(scores.as_mut_ptr()), row);
            // SAFETY: `count` rows of queries, and as many of scores with `tokens` columns.
            unsafe { multiply_rows::<V, U>(&left, keys.clone(), 0..count, &finish) };
            let mut factors = [U::Real::default(); STRIP];
            for r in 0..count {
                let halves = if U::ELEMENTS == 2 { &mut halves[r * row..][..tokens] } else { &mut [] };
                let (largest, sum) =
                    exponentials::<V>(&mut scores[r * row..][..tokens], halves, self.sizes.scale());
                factors[r] = U::Real::of(1.0) / sum;
                self.log_sums[first + r] = largest + sum.ln();
            }
            let weights: *const U =
                if U::ELEMENTS == 2 { halves.as_ptr().cast() } else { scores.as_ptr().cast() };
            let left = Left::rows(weights, units::<U>(tokens), row / U::ELEMENTS);
            let finish = Finish::plain(Out::Real(sums.as_mut_ptr()), size);
            // SAFETY: `count` rows of weights, and as many of sums with `size` columns.
            unsafe { multiply_rows::<V, U>(&left, values.clone(), 0..count, &finish) };
            for r in 0..count {
                let at = self.sizes.output(self.task) + (first + r) * width;
                // SAFETY: this head's columns of these rows belong to this task.
                unsafe { scaled::<V, U>(&sums[r * size..][..size], factors[r], self.out.get().add(at)) };
            }
        }
    }
}

/// Replaces scores x by e^(s x - largest), or writes that as halves; gives the largest s x and the sum.
#[inline(always)]
fn exponentials<V: Lanes>(scores: &mut [V::Real], halves: &mut [bf16], scale: f64) -> (V::Real, V::Real) {
    let scale = V::Real::of(scale);
    let whole = scores.len() / V::COUNT * V::COUNT;
    let mut best = scores[0];
    if whole > 0 {
        let mut most = load_some::<V>(scores);
        for x in scores[..whole].chunks_exact(V::COUNT) {
            most = most.max(load_some::<V>(x));
        }
        best = most.largest();
    }
    best = scores[whole..].iter().fold(best, |best, x| if *x > best { *x } else { best });
    let largest = best * scale;
    let shift = V::splat(V::Real::default() - largest);
    let mut sum = V::splat(V::Real::default());
    for start in (0..whole).step_by(V::COUNT) {
        let e = load_some::<V>(&scores[start..]).mul_add(V::splat(scale), shift).exp();
        sum = sum.add(e);
        if halves.is_empty() {
            store_some(e, &mut scores[start..start + V::COUNT]);
        } else {
            store_some_half(e, &mut halves[start..start + V::COUNT]);
        }
    }
    let mut total = sum.sum();
    if whole < scores.len() {
        let rest = scores.len() - whole;
        let mut last = [V::Real::default(); 16];
        store_some(load_some::<V>(&scores[whole..]).mul_add(V::splat(scale), shift).exp(), &mut last[..rest]);
        total = last[..rest].iter().fold(total, |total, e| total + *e);
        if halves.is_empty() {
            scores[whole..].copy_from_slice(&last[..rest]);
        } else {
            for (half, e) in halves[whole..].iter_mut().zip(last) {
                *half = bf16::from_f32(e.wide() as f32);
            }
        }
    }
    (largest, total)
}

/// out = x factor, in the elements of the units.
///
/// # Safety
/// `out` must have room for x.
#[inline(always)]
unsafe fn scaled<V, U>(x: &[U::Real], factor: U::Real, out: *mut U::Element)
where
    U: Unit,
    V: Lanes<Real = U::Real>,
{
    for (block, x) in x.chunks(V::COUNT).enumerate() {
        let y = load_some::<V>(x).mul(V::splat(factor));
        // SAFETY: the caller's promise.
        unsafe {
            let out = out.add(block * V::COUNT);
            if U::ELEMENTS == 2 {
                store_some_half(y, std::slice::from_raw_parts_mut(out.cast::<bf16>(), x.len()));
            } else {
                store_some(y, std::slice::from_raw_parts_mut(out.cast::<U::Real>(), x.len()));
            }
        }
    }
}

/// The gradient of qkv.
pub(crate) fn backward(
    cpu: &Cpu,
    saved: [&Tensor; 3],
    gradient: &Tensor,
    heads: usize,
    _: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(gradient, backward_in(cpu, saved, gradient, heads)))
}

fn backward_in<R>(cpu: &Cpu, [qkv, out, log_sums]: [&Tensor; 3], gradient: &Tensor, heads: usize) -> Tensor
where
    R: Real + Unit<Element = R, Real = R>,
{
    let [batch, tokens, width] = [out.shape()[0], out.shape()[1], out.shape()[2]];
    let sizes = Sizes { tokens, width, heads };
    Tensor::compute::<R>(cpu, qkv.shape(), |dqkv| {
        let dqkv = Shared(dqkv.as_mut_ptr());
        cpu.for_each(batch * heads, |task| {
            let log_sums = &log_sums.cpu::<R>()[task * tokens..][..tokens];
            let qkv = qkv.cpu();
            let out = out.cpu();
            let dout = gradient.cpu();
            cpu.run(Backward { cpu, qkv, out, log_sums, dout, dqkv, sizes, task });
        });
    })
}

struct Backward<'a, R> {
    cpu: &'a Cpu,
    qkv: &'a [R],
    out: &'a [R],
    log_sums: &'a [R],
    dout: &'a [R],
    dqkv: Shared<R>,
    sizes: Sizes,
    task: usize,
}

impl<R> Kernel<R> for Backward<'_, R>
where
    R: Real + Unit<Element = R, Real = R>,
{
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let Sizes { tokens, width, .. } = self.sizes;
        let size = self.sizes.head();
        let stride = 3 * width;
        let [query, key, value] = self.sizes.starts(self.task);
        let at = self.sizes.output(self.task);
        let square = tokens * tokens;
        let panel = panel_width::<R>(self.cpu.isa());
        let most = tokens.next_multiple_of(panel) * size.next_multiple_of(panel);
        let mut scratch = self.cpu.memory((2 * square + most) * size_of::<R>());
        let (p, rest) = scratch.slice_mut::<R>().split_at_mut(square);
        let (ds, room) = rest.split_at_mut(square);
        // SAFETY (of each product): rows and columns are those of one head, [tokens, size], or scores,
        // [tokens, tokens]; the three parts of dqkv belong to this task.
        let product = |left: Left<R>, right: PanelView<'_, R>, out: *mut R, stride: usize| unsafe {
            let finish = Finish::plain(Out::Real(out), stride);
            multiply_rows::<V, R>(&left, right, 0..tokens, &finish);
        };
        let rows = |from: &[R], stride: usize| Left::rows(from.as_ptr(), size, stride);
        let pack = Packer { cpu: self.cpu, panel };
        let dqkv = self.dqkv.get();

        // Scores again, and P = exp(s scores - log sum).
        let keys = pack.here(&self.qkv[key..], Order::ByColumn, [size, tokens], stride, room);
        product(rows(&self.qkv[query..], stride), keys, p.as_mut_ptr(), tokens);
        // do v^T.
        let values = pack.here(&self.qkv[value..], Order::ByColumn, [size, tokens], stride, room);
        product(rows(&self.dout[at..], width), values, ds.as_mut_ptr(), tokens);
        self.softmax_gradient::<V>(p, ds);
        // dq = (s dS) k.
        let keys = pack.here(&self.qkv[key..], Order::ByRow, [tokens, size], stride, room);
        // SAFETY: inside dqkv, as all starts are.
        let (dq, dk, dv) = unsafe { (dqkv.add(query), dqkv.add(key), dqkv.add(value)) };
        product(Left::rows(ds.as_ptr(), tokens, tokens), keys, dq, stride);
        // dv = P^T do, dk = (s dS)^T q: the left matrices are read down their columns.
        let down = |from: &[R]| Left { row_step: 1, step: tokens, ..Left::rows(from.as_ptr(), tokens, 1) };
        let dout = pack.here(&self.dout[at..], Order::ByRow, [tokens, size], width, room);
        product(down(p), dout, dv, stride);
        let queries = pack.here(&self.qkv[query..], Order::ByRow, [tokens, size], stride, room);
        product(down(ds), queries, dk, stride);
    }
}

/// Packs the right matrices of one head into scratch memory, one after the other.
struct Packer<'a> {
    cpu: &'a Cpu,
    panel: usize,
}

impl Packer<'_> {
    #[inline(always)]
    fn here<'r, R>(
        &self,
        values: &[R],
        order: Order,
        size: [usize; 2],
        stride: usize,
        room: &'r mut [R],
    ) -> PanelView<'r, R>
    where
        R: Real + Unit<Element = R, Real = R>,
    {
        let units = panel_units::<R>(self.cpu, size[0], size[1]).0;
        pack_here(Unpacked { values, order, size, stride }, self.panel, &mut room[..units])
    }
}

impl<R: Real> Backward<'_, R> {
    /// From scores and do v^T to P and s dS.
    #[inline(always)]
    fn softmax_gradient<V: Lanes<Real = R>>(&self, p: &mut [R], ds: &mut [R]) {
        let Sizes { tokens, width, .. } = self.sizes;
        let size = self.sizes.head();
        let at = self.sizes.output(self.task);
        let scale = V::splat(R::of(self.sizes.scale()));
        for row in 0..tokens {
            let head = at + row * width..at + row * width + size;
            let products = self.out[head.clone()].iter().zip(&self.dout[head]);
            let dot = products.fold(R::default(), |sum, (o, d)| sum + *o * *d);
            let dot = V::splat(dot);
            let shift = V::splat(R::default() - self.log_sums[row]);
            let range = row * tokens..(row + 1) * tokens;
            let pairs = p[range.clone()].chunks_mut(V::COUNT).zip(ds[range].chunks_mut(V::COUNT));
            for (p, ds) in pairs {
                let weight = load_some::<V>(p).mul_add(scale, shift).exp();
                let slope = load_some::<V>(ds).sub(dot).mul(weight).mul(scale);
                store_some(weight, p);
                store_some(slope, ds);
            }
        }
    }
}
