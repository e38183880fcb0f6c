//! Slices: soft weights, sums over pixels, and their gradients; a sample a task.

use super::{
    Cpu, Real, Shared,
    combine::Combine,
    lanes::{Kernel, Lanes, load_some, store_some},
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{SLICE_EPSILON, Slices, TEMPERATURES},
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// The temperature of a head, kept within its bounds.
fn bounded<R: Real>(temperature: R) -> R {
    let [low, high] = TEMPERATURES;
    R::of(temperature.wide().clamp(low, high))
}

/// softmax(logits / temperature).
pub(crate) fn weights(
    cpu: &Cpu,
    sizes: Slices,
    params: &Params,
    temperature: ParamId,
    logits: &Tensor,
    _: Dtype,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(logits, weights_in(cpu, sizes, params, temperature, logits)))
}

fn weights_in<R: Real>(
    cpu: &Cpu,
    sizes: Slices,
    params: &Params,
    temperature: ParamId,
    logits: &Tensor,
) -> Tensor {
    let values = logits.cpu::<R>();
    let temperatures = params.cpu::<R>(temperature);
    let each = sizes.heads * sizes.slices;
    Tensor::compute::<R>(cpu, logits.shape(), |out| {
        cpu.for_pieces(out, each, |pixel, out| {
            let logits = &values[pixel * each..][..each];
            for (head, (row, out)) in
                logits.chunks(sizes.slices).zip(out.chunks_mut(sizes.slices)).enumerate()
            {
                cpu.run(Softmax { row, temperature: bounded(temperatures[head]), out });
            }
        });
    })
}

struct Softmax<'a, R> {
    row: &'a [R],
    temperature: R,
    out: &'a mut [R],
}

impl<R: Real> Kernel<R> for Softmax<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let most = self.row.iter().fold(self.row[0], |most, x| if *x > most { *x } else { most });
        let most = V::splat(most);
        let scale = V::splat(R::of(1.0) / self.temperature);
        for (out, row) in self.out.chunks_mut(V::COUNT).zip(self.row.chunks(V::COUNT)) {
            store_some(load_some::<V>(row).sub(most).mul(scale).exp(), out);
        }
        let sum = self.out.iter().fold(R::default(), |sum, x| sum + *x);
        self.out.iter_mut().for_each(|x| *x = *x / sum);
    }
}

/// The gradient of the logits; the temperature gets its sum.
pub(crate) fn weights_back(
    cpu: &Cpu,
    sizes: Slices,
    temperature: ParamId,
    weights: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    for_dtype!(weights, weights_back_in(cpu, sizes, temperature, weights, gradient, flow))
}

fn weights_back_in<R: Real>(
    cpu: &Cpu,
    sizes: Slices,
    temperature: ParamId,
    weights: &Tensor,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let Slices { batch, pixels, heads, slices, .. } = sizes;
    let w = weights.cpu::<R>();
    let dw = gradient.cpu::<R>();
    let temperatures = flow.params().cpu::<R>(temperature);
    let each = pixels * heads * slices;
    // The sum of e ln w, for each sample and head.
    let mut sums = vec![0.0_f64; batch * heads];
    let dl = Tensor::compute::<R>(cpu, weights.shape(), |out| {
        let out = Shared(out.as_mut_ptr());
        cpu.for_pieces(&mut sums, heads, |sample, sums| {
            for row in 0..pixels * heads {
                let head = row % heads;
                let at = sample * each + row * slices;
                let w = &w[at..at + slices];
                let dw = &dw[at..at + slices];
                let mean = w.iter().zip(dw).fold(R::default(), |sum, (w, dw)| sum + *w * *dw);
                let scale = R::of(1.0) / bounded(temperatures[head]);
                for (k, (w, dw)) in w.iter().zip(dw).enumerate() {
                    let e = *w * (*dw - mean);
                    if *w > R::default() {
                        sums[head] += e.wide() * w.wide().ln();
                    }
                    // SAFETY: this sample's part belongs to this task alone.
                    unsafe { *out.get().add(at + k) = e * scale };
                }
            }
        });
    });
    let [low, high] = TEMPERATURES;
    for (head, into) in flow.into().cpu_mut::<R>(temperature)?.iter_mut().enumerate() {
        let t = temperatures[head].wide();
        if (low..=high).contains(&t) {
            let sum: f64 = sums.iter().skip(head).step_by(heads).sum();
            *into += R::of(-sum / t);
        }
    }
    Ok(dl)
}

/// Pooled values, and the sum of each slice's weights.
pub(crate) fn pool(
    cpu: &Cpu,
    sizes: Slices,
    weights: &Tensor,
    values: &Tensor,
) -> Result<(Tensor, Tensor), EngineError> {
    Ok(for_dtype!(weights, pool_in(cpu, sizes, weights, values)))
}

fn pool_in<R: Real>(cpu: &Cpu, sizes: Slices, weights: &Tensor, values: &Tensor) -> (Tensor, Tensor) {
    let Slices { batch, heads, slices, size, .. } = sizes;
    let w = weights.cpu::<R>();
    let sums = Tensor::compute::<R>(cpu, &[batch, heads, slices], |out| {
        cpu.for_pieces(out, heads * slices, |sample, out| {
            let rows = sizes.weights_of(w, sample).chunks(heads * slices);
            let mut exact = vec![0.0_f64; heads * slices];
            rows.for_each(|row| exact.iter_mut().zip(row).for_each(|(sum, w)| *sum += w.wide()));
            out.iter_mut().zip(exact).for_each(|(out, sum)| *out = R::of(sum));
        });
    });
    let totals = sums.cpu::<R>();
    let pooled = Tensor::compute::<R>(cpu, &[batch, heads, slices, size], |out| {
        cpu.for_pieces(out, heads * slices * size, |sample, out| {
            gather(cpu, sizes, sizes.weights_of(w, sample), sizes.values_of(values.cpu(), sample), out);
            let totals = &totals[sample * heads * slices..][..heads * slices];
            for (row, total) in out.chunks_mut(size).zip(totals) {
                row.iter_mut().for_each(|x| *x = *x / (*total + R::of(SLICE_EPSILON)));
            }
        });
    });
    (pooled, sums)
}

impl Slices {
    fn weights_of<'a, R>(&self, weights: &'a [R], sample: usize) -> &'a [R] {
        let each = self.pixels * self.heads * self.slices;
        &weights[sample * each..][..each]
    }

    fn values_of<'a, R>(&self, values: &'a [R], sample: usize) -> &'a [R] {
        let each = self.pixels * self.heads * self.size;
        &values[sample * each..][..each]
    }
}

/// out \[heads, slices, d\] = sum over pixels of w f, of one sample.
fn gather<R: Real>(cpu: &Cpu, sizes: Slices, w: &[R], f: &[R], out: &mut [R]) {
    let Slices { pixels, heads, slices, size, .. } = sizes;
    for (head, out) in out.chunks_mut(slices * size).enumerate() {
        cpu.run(Combine {
            sizes: [slices, pixels],
            width: size,
            factors: (&w[head * slices..], [1, heads * slices]),
            terms: (&f[head * size..], heads * size),
            out: (out, size),
            accumulate: false,
        });
    }
}

/// out \[pixels, heads, d\] = sum over slices of w z, of one sample.
fn scatter<R: Real>(cpu: &Cpu, sizes: Slices, w: &[R], z: &[R], out: &mut [R]) {
    let Slices { pixels, heads, slices, size, .. } = sizes;
    for (head, z) in z.chunks(slices * size).enumerate() {
        cpu.run(Combine {
            sizes: [pixels, slices],
            width: size,
            factors: (&w[head * slices..], [heads * slices, 1]),
            terms: (z, size),
            out: (&mut out[head * size..], heads * size),
            accumulate: false,
        });
    }
}

/// out \[pixels, heads, slices\] = f . z for each pixel and slice, of one sample.
fn inner<R: Real>(cpu: &Cpu, sizes: Slices, f: &[R], z: &[R], out: &mut [R]) {
    let Slices { pixels, heads, slices, size, .. } = sizes;
    for (head, z) in z.chunks(slices * size).enumerate() {
        let turned: Vec<R> = (0..size * slices).map(|k| z[k % slices * size + k / slices]).collect();
        cpu.run(Combine {
            sizes: [pixels, size],
            width: slices,
            factors: (&f[head * size..], [heads * size, 1]),
            terms: (&turned, slices),
            out: (&mut out[head * slices..], heads * slices),
            accumulate: false,
        });
    }
}

/// Gradients of the weights and of the values.
pub(crate) fn pool_back(
    cpu: &Cpu,
    sizes: Slices,
    saved: [&Tensor; 4],
    gradient: &Tensor,
) -> Result<[Tensor; 2], EngineError> {
    Ok(for_dtype!(gradient, pool_back_in(cpu, sizes, saved, gradient)))
}

fn pool_back_in<R: Real>(cpu: &Cpu, sizes: Slices, saved: [&Tensor; 4], gradient: &Tensor) -> [Tensor; 2] {
    let Slices { pixels, heads, slices, size, .. } = sizes;
    let shapes = [saved[0].shape(), saved[1].shape()];
    let [w, f, z, sums] = saved.map(|tensor| tensor.cpu::<R>());
    let each = heads * slices * size;
    let scaled: Vec<R> = gradient
        .cpu::<R>()
        .iter()
        .enumerate()
        .map(|(k, dz)| *dz / (sums[k / size] + R::of(SLICE_EPSILON)))
        .collect();
    let dw = Tensor::compute::<R>(cpu, shapes[0], |out| {
        cpu.for_pieces(out, pixels * heads * slices, |sample, out| {
            let e = &scaled[sample * each..][..each];
            let z = &z[sample * each..][..each];
            inner(cpu, sizes, sizes.values_of(f, sample), e, out);
            let dot = |(e, z): (&[R], &[R])| e.iter().zip(z).fold(R::default(), |sum, (e, z)| sum + *e * *z);
            let along: Vec<R> = e.chunks(size).zip(z.chunks(size)).map(dot).collect();
            for row in out.chunks_mut(heads * slices) {
                row.iter_mut().zip(&along).for_each(|(out, along)| *out = *out - *along);
            }
        });
    });
    let df = Tensor::compute::<R>(cpu, shapes[1], |out| {
        cpu.for_pieces(out, pixels * heads * size, |sample, out| {
            scatter(cpu, sizes, sizes.weights_of(w, sample), &scaled[sample * each..][..each], out);
        });
    });
    [dw, df]
}

/// Tokens spread over the pixels.
pub(crate) fn spread(
    cpu: &Cpu,
    sizes: Slices,
    weights: &Tensor,
    tokens: &Tensor,
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(weights, spread_in(cpu, sizes, weights, tokens)))
}

fn spread_in<R: Real>(cpu: &Cpu, sizes: Slices, weights: &Tensor, tokens: &Tensor) -> Tensor {
    let Slices { batch, pixels, heads, slices, size } = sizes;
    let w = weights.cpu::<R>();
    let z = tokens.cpu::<R>();
    Tensor::compute::<R>(cpu, &[batch, pixels, heads * size], |out| {
        cpu.for_pieces(out, pixels * heads * size, |sample, out| {
            let z = &z[sample * heads * slices * size..][..heads * slices * size];
            scatter(cpu, sizes, sizes.weights_of(w, sample), z, out);
        });
    })
}

/// Gradients of the weights and of the tokens.
pub(crate) fn spread_back(
    cpu: &Cpu,
    sizes: Slices,
    saved: [&Tensor; 2],
    gradient: &Tensor,
) -> Result<[Tensor; 2], EngineError> {
    Ok(for_dtype!(gradient, spread_back_in(cpu, sizes, saved, gradient)))
}

fn spread_back_in<R: Real>(cpu: &Cpu, sizes: Slices, saved: [&Tensor; 2], gradient: &Tensor) -> [Tensor; 2] {
    let Slices { pixels, heads, slices, size, .. } = sizes;
    let shapes = saved.map(Tensor::shape);
    let [w, z] = saved.map(|tensor| tensor.cpu::<R>());
    let dy = gradient.cpu::<R>();
    let each = heads * slices * size;
    let dw = Tensor::compute::<R>(cpu, shapes[0], |out| {
        cpu.for_pieces(out, pixels * heads * slices, |sample, out| {
            inner(cpu, sizes, sizes.values_of(dy, sample), &z[sample * each..][..each], out);
        });
    });
    let dz = Tensor::compute::<R>(cpu, shapes[1], |out| {
        cpu.for_pieces(out, each, |sample, out| {
            gather(cpu, sizes, sizes.weights_of(w, sample), sizes.values_of(dy, sample), out);
        });
    });
    [dw, dz]
}
