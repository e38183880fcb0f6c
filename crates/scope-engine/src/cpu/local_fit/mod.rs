//! Local polynomial fits, in double precision whatever the tensors hold: the normal equations of sensors that lie to
//! one side are so badly conditioned that single precision loses slopes and curvatures.
//!
//! The moments sum over q of m_q W_k(q0 - p0) W_l(q1 - p1), with W_k(d) = exp(-d^2 / 2 s^2) (d / s)^k, are separable:
//! `spread` sums them along axis 1, from sensor to sensor of a line, `solve` along axis 0, from line to line, and then
//! solves for the coefficients of each point. Lines of sensors need not be lines of pixels (`lines`), nor sensors lie
//! on pixels (`scale`).

mod lines;
mod normal_equations;
mod scale;
mod solve;
mod spread;

use std::ops::Range;

use super::{Cpu, Real, Shared};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{CLAMP, FitPoint, FitSizes, LocalFit, POWERS},
    params::ParamId,
    tape::Tape,
    tensor::Tensor,
};

use lines::{Line, Lines};
use scale::Scale;
use solve::SolveRow;
use spread::SpreadRow;

/// Rows are padded to a multiple of this, so that vectors never reach beyond them.
const PADDING: usize = 16;

/// How the sums of one line of sensors lie.
#[derive(Clone, Copy)]
struct Sums {
    /// Powers of axis 1 that are summed along it: those of the mask, then those of the values.
    count: usize,
    /// Numbers from one sum to the next.
    stride: usize,
}

/// The coefficients of all contexts; see [`crate::Tape::local_fits`].
pub(crate) fn fits(
    cpu: &Cpu,
    tape: &Tape<'_>,
    sizes: FitSizes,
    fit: &LocalFit,
    context: &Tensor,
    normaliser: Option<ParamId>,
) -> Result<Tensor, EngineError> {
    let divisors = normaliser.map(|id| tape.params().values_of(id)).transpose()?;
    let work = Work::new(sizes, fit, divisors);
    Ok(for_dtype!(context, fits_in(cpu, &work, context)))
}

fn fits_in<R: Real>(cpu: &Cpu, work: &Work<'_>, context: &Tensor) -> Tensor {
    let sizes = work.sizes;
    let channels = work.fit.channels(work.sizes.fields);
    let samples = context.cpu::<R>().chunks(2 * sizes.fields * sizes.pixels());
    let [height, width] = sizes.points(work.fit.stride);
    Tensor::compute::<R>(cpu, &[sizes.batch, channels, height, width], |out| {
        for (context, out) in samples.zip(out.chunks_mut(channels * height * width)) {
            work.fit(cpu, &Lines::of_context(sizes, work.fit, context), out);
        }
    })
}

/// The coefficients of sensors anywhere; see [`LocalFit::of_points`].
pub(crate) fn fits_of_points(
    cpu: &Cpu,
    sizes: FitSizes,
    fit: &LocalFit,
    points: &[Vec<FitPoint>],
    divisors: Option<Vec<f64>>,
) -> Vec<f64> {
    let [height, width] = sizes.points(fit.stride);
    let mut out = vec![0.0; fit.channels(sizes.fields) * height * width];
    Work::new(sizes, fit, divisors).fit(cpu, &Lines::of_points(sizes, fit, points), &mut out);
    out
}

/// The weights of sensors on pixels along one axis; see [`LocalFit::pixel_weights`].
pub(crate) fn pixel_weights(
    fit: &LocalFit,
    scale: f64,
    [height, width]: [usize; 2],
    axis: usize,
) -> Vec<f64> {
    let sizes = FitSizes { batch: 1, fields: 1, height, width };
    let points = sizes.points(fit.stride);
    let scale = Scale::new(fit, scale, sizes, points[1]);
    let pixels = [height, width][axis];
    let powers = 2 * fit.degree + 1;
    let mut all = vec![0.0; powers * points[axis] * pixels];
    for pixel in 0..pixels {
        let weights = scale.weights(axis, pixel as f64);
        for row in 0..powers * points[axis] {
            all[row * pixels + pixel] = weights[row];
        }
    }
    all
}

/// How every sample is fitted.
struct Work<'a> {
    sizes: FitSizes,
    fit: &'a LocalFit,
    scales: Vec<Scale>,
    sums: Sums,
    finish: Finish,
}

/// What becomes of the coefficients: divided by these numbers and clamped, or left as they are.
struct Finish {
    divisors: Vec<f64>,
    bound: f64,
}

impl<'a> Work<'a> {
    fn new(sizes: FitSizes, fit: &'a LocalFit, divisors: Option<Vec<f64>>) -> Self {
        let bound = if divisors.is_some() { f64::from(CLAMP) } else { f64::INFINITY };
        let divisors = divisors.unwrap_or_else(|| vec![1.0; fit.channels(sizes.fields)]);
        let mask_powers = 2 * fit.degree + 1;
        let stride = sizes.points(fit.stride)[1].next_multiple_of(PADDING);
        let sums = Sums { count: mask_powers + fit.degree + 1, stride };
        let scales = fit.scales.iter().map(|scale| Scale::new(fit, *scale, sizes, stride)).collect();
        Self { sizes, fit, scales, sums, finish: Finish { divisors, bound } }
    }

    /// The fits of one sample, `out` \[scales, fields, coefficients, points, points\].
    fn fit<R: Real>(&self, cpu: &Cpu, lines: &Lines, out: &mut [R]) {
        let shape = self.sums;
        let fields = self.sizes.fields;
        let [height, width] = self.sizes.points(self.fit.stride);
        let degree = self.fit.degree;
        let count = lines.lines.len();
        // [scales, sums, lines, stride]
        let each = shape.count * count * shape.stride;
        let mut memory = cpu.memory(self.scales.len() * each * size_of::<f64>());
        let first = Shared(memory.slice_mut::<f64>().as_mut_ptr());
        cpu.for_each(self.scales.len() * count, |task| {
            let scale = task / count;
            let at = task % count;
            // SAFETY: the sums of a scale lie inside the memory.
            let sums = Shared(unsafe { first.get().add(scale * each) });
            let scale = &self.scales[scale];
            let line = &lines.lines[at];
            cpu.run_double(SpreadRow { scale, degree, shape, line, sums, lines: count, at });
        });
        let sums: &[f64] = memory.slice();
        let start = Shared(out.as_mut_ptr());
        let coefficients = self.fit.coefficients();
        cpu.for_each(self.scales.len() * fields * height, |task| {
            let plane = task / height;
            let line = task % height;
            let scale = plane / fields;
            let field = plane % fields;
            let own = lines.of_field[field].clone();
            let sums = &sums[scale * each..][..each];
            let rows = lines_around(&self.scales[scale], &lines.lines, own, line);
            let mut solved = vec![0.0; coefficients * shape.stride];
            cpu.run_double(SolveRow {
                degree,
                ridges: self.fit.ridges(scale, field, fields),
                shape,
                rows: &rows,
                sums,
                lines: count,
                solved: &mut solved,
            });
            for coefficient in 0..coefficients {
                let channel = plane * coefficients + coefficient;
                let at = (channel * height + line) * width;
                // SAFETY: every task writes lines of its own, which lie inside `out`.
                let out = unsafe { std::slice::from_raw_parts_mut(start.get().add(at), width) };
                self.finish.write(channel, &solved[coefficient * shape.stride..], out);
            }
        });
    }
}

/// Those of a field's own lines of sensors that are within reach of a line of points, with their weights W_k(q0 - p0).
fn lines_around(
    scale: &Scale,
    lines: &[Line],
    own: Range<usize>,
    points: usize,
) -> Vec<(usize, [f64; POWERS])> {
    let mut around = Vec::with_capacity(own.len());
    for at in own {
        let weights = scale.weights(0, lines[at].at);
        if weights[points] != 0.0 {
            around.push((at, std::array::from_fn(|power| weights[power * scale.stride(0) + points])));
        }
    }
    around
}

impl Finish {
    /// A line of coefficients of one channel, as it leaves.
    fn write<R: Real>(&self, channel: usize, solved: &[f64], out: &mut [R]) {
        let divisor = self.divisors[channel];
        for (out, x) in out.iter_mut().zip(solved) {
            *out = R::of((x / divisor).clamp(-self.bound, self.bound));
        }
    }
}
