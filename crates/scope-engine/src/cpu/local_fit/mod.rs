//! Local polynomial fits, in double precision whatever the tensors hold: the normal equations of sensors that lie to one side
//! are so badly conditioned that single precision loses slopes and curvatures.
//!
//! The moments sum over q of m_q W_k(q0 - p0) W_l(q1 - p1), with W_k(d) = exp(-d^2 / 2 s^2) (d / s)^k, are separable: `spread`
//! sums them along axis 1, from sensor to sensor of a line, `solve` along axis 0, from line to line, and then solves for the
//! coefficients of each pixel. Lines of sensors need not be lines of pixels (`lines`), nor sensors lie on pixels (`scale`).

mod lines;
mod normal_equations;
mod scale;
mod solve;
mod spread;

use super::{Cpu, Real, Shared};
use crate::{
    dtype::Dtype,
    ops::{CLAMP, COEFFICIENTS, FitPoint, FitSizes, LocalFit},
    tensor::Tensor,
};

use lines::{Line, Lines};
use scale::Scale;
use solve::SolveRow;
use spread::SpreadRow;

/// Powers of axis 1 that are summed along it: five of the mask, then three of the values.
const MASK_POWERS: usize = 5;
const SUMS: usize = MASK_POWERS + 3;
/// Rows are padded to a multiple of this, so that vectors never reach beyond them.
const PADDING: usize = 16;

/// The coefficients of all contexts; see [`crate::Tape::local_fits`].
pub(crate) fn fits(
    cpu: &Cpu,
    sizes: FitSizes,
    fit: &LocalFit,
    context: &Tensor,
    divisors: Option<Vec<f64>>,
) -> Tensor {
    let work = Work::new(sizes, fit, divisors);
    for_kind!(context, fits_in(cpu, &work, context))
}

fn fits_in<R: Real>(cpu: &Cpu, work: &Work<'_>, context: &Tensor) -> Tensor {
    let (sizes, channels) = (work.sizes, work.fit.channels(work.sizes.fields));
    let samples = context.cpu::<R>().chunks(2 * sizes.fields * sizes.pixels());
    let shape = [sizes.batch, channels, sizes.height, sizes.width];
    Tensor::compute::<R>(cpu, &shape, |out| {
        for (context, out) in samples.zip(out.chunks_mut(channels * sizes.pixels())) {
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
    let mut out = vec![0.0; fit.channels(sizes.fields) * sizes.pixels()];
    Work::new(sizes, fit, divisors).fit(cpu, &Lines::of_points(sizes, fit, points), &mut out);
    out
}

/// How every sample is fitted.
struct Work<'a> {
    sizes: FitSizes,
    fit: &'a LocalFit,
    scales: Vec<Scale>,
    /// Numbers from one row of sums to the next.
    stride: usize,
    finish: Finish,
}

/// What becomes of the coefficients: divided by these numbers and clamped, or left as they are.
struct Finish {
    divisors: Vec<f64>,
    bound: f64,
}

impl<'a> Work<'a> {
    fn new(sizes: FitSizes, fit: &'a LocalFit, divisors: Option<Vec<f64>>) -> Self {
        let scales = fit.scales.iter().map(|scale| Scale::new(fit, *scale, sizes)).collect();
        let bound = if divisors.is_some() { f64::from(CLAMP) } else { f64::INFINITY };
        let divisors = divisors.unwrap_or_else(|| vec![1.0; fit.channels(sizes.fields)]);
        let stride = sizes.width.next_multiple_of(PADDING);
        Self { sizes, fit, scales, stride, finish: Finish { divisors, bound } }
    }

    /// The fits of one sample, `out` \[scales, fields, 6, height, width\].
    fn fit<R: Real>(&self, cpu: &Cpu, lines: &Lines, out: &mut [R]) {
        let FitSizes { fields, height, width, .. } = self.sizes;
        let (row, count) = (SUMS * self.stride, lines.lines.len());
        // [scales, lines, SUMS, stride]
        let mut memory = cpu.memory(self.scales.len() * count * row * size_of::<f64>());
        cpu.for_pieces(memory.slice_mut(), row, |piece, sums| {
            let (scale, line) = (&self.scales[piece / count], &lines.lines[piece % count]);
            cpu.run_double(SpreadRow { scale, width, stride: self.stride, line, sums });
        });
        let sums: &[f64] = memory.slice();
        let start = Shared(out.as_mut_ptr());
        cpu.for_each(self.scales.len() * fields * height, |task| {
            let (plane, line) = (task / height, task % height);
            let (scale, own) = (plane / fields, lines.of_field[plane % fields].clone());
            let sums = &sums[(scale * count + own.start) * row..][..own.len() * row];
            let rows = lines_around(&self.scales[scale], &lines.lines[own], line);
            let mut solved = vec![0.0; COEFFICIENTS * self.stride];
            let ridges = self.fit.ridges();
            cpu.run_double(SolveRow { ridges, stride: self.stride, rows: &rows, sums, solved: &mut solved });
            for coefficient in 0..COEFFICIENTS {
                let channel = plane * COEFFICIENTS + coefficient;
                let at = channel * self.sizes.pixels() + line * width;
                // SAFETY: every task writes lines of its own, which lie inside `out`.
                let out = unsafe { std::slice::from_raw_parts_mut(start.get().add(at), width) };
                self.finish.write(channel, &solved[coefficient * self.stride..], out);
            }
        });
    }
}

/// The lines of sensors within reach of a line of pixels, by their distance from low to high, with their weights W_k(q0 - p0).
fn lines_around(scale: &Scale, lines: &[Line], pixels: usize) -> Vec<(usize, [f64; 5])> {
    let mut around = Vec::with_capacity(lines.len());
    for shift in scale.shifts(0) {
        let weights = |line: &Line| scale.line_weights(line.at + shift as f64, pixels);
        around.extend(lines.iter().enumerate().filter_map(|(at, line)| Some((at, weights(line)?))));
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
