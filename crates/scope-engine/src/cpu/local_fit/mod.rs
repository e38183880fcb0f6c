//! Local polynomial fits, in double precision whatever the tensors hold: the normal equations of sensors that lie to one side
//! are so badly conditioned that single precision loses slopes and curvatures.
//!
//! The moments sum over q of m_q W_k(q0 - p0) W_l(q1 - p1), with W_k(d) = exp(-d^2 / 2 s^2) (d / s)^k, are separable: `spread`
//! sums them along axis 1, from sensor to sensor, `solve` along axis 0, and then solves for the coefficients of each pixel.

mod normal_equations;
mod solve;
mod spread;

use super::{Cpu, Real, Shared};
use crate::{
    dtype::Dtype,
    ops::{CLAMP, COEFFICIENTS, FitSizes, LocalFit, fit_weights},
    params::{ParamId, Params},
    tensor::Tensor,
};

use solve::SolveRow;
use spread::SpreadRow;

/// Powers of axis 1 that are summed along it: five of the mask, then three of the values.
const MASK_POWERS: usize = 5;
const SUMS: usize = MASK_POWERS + 3;
/// Rows are padded to a multiple of this, so that vectors never reach beyond them.
const PADDING: usize = 16;

/// What one scale needs to know.
struct Scale {
    /// How many pixels it reaches along each axis.
    reach: [usize; 2],
    /// W_k(d) of each axis for d = -reach to reach.
    weights: [[Vec<f64>; 5]; 2],
}

/// What becomes of the coefficients: divided by these numbers and clamped, or left as they are.
struct Finish {
    divisors: Vec<f64>,
    bound: f64,
}

/// The coefficients of all contexts; see [`crate::Tape::local_fits`].
pub(crate) fn fits(
    cpu: &Cpu,
    params: &Params,
    sizes: FitSizes,
    fit: &LocalFit,
    context: &Tensor,
    normaliser: Option<ParamId>,
) -> Tensor {
    let channels = fit.channels(sizes.fields);
    let finish = match normaliser {
        None => Finish { divisors: vec![1.0; channels], bound: f64::INFINITY },
        Some(id) => {
            let divisors = match params.dtype() {
                Dtype::F64 => params.cpu::<f64>(id).to_vec(),
                _ => params.cpu::<f32>(id).iter().map(|x| f64::from(*x)).collect(),
            };
            Finish { divisors, bound: f64::from(CLAMP) }
        }
    };
    for_kind!(context, fits_in(cpu, sizes, fit, context, &finish))
}

fn fits_in<R: Real>(cpu: &Cpu, sizes: FitSizes, fit: &LocalFit, context: &Tensor, finish: &Finish) -> Tensor {
    let context = context.cpu::<R>();
    let scales: Vec<Scale> = fit.scales.iter().map(|scale| Scale::new(fit, *scale, sizes)).collect();
    let each = fit.channels(sizes.fields) * sizes.pixels();
    let shape = [sizes.batch, fit.channels(sizes.fields), sizes.height, sizes.width];
    Tensor::compute::<R>(cpu, &shape, |out| {
        let stride = sizes.width.next_multiple_of(PADDING);
        let planes = scales.len() * sizes.fields;
        let mut sums = cpu.memory(planes * sizes.height * SUMS * stride * size_of::<f64>());
        for (context, out) in context.chunks(2 * sizes.fields * sizes.pixels()).zip(out.chunks_mut(each)) {
            let work = Sample { sizes, fit, scales: &scales, stride, context, finish };
            work.fit(cpu, sums.slice_mut(), out);
        }
    })
}

impl Scale {
    fn new(fit: &LocalFit, scale: f64, sizes: FitSizes) -> Self {
        let reach = [fit.reach(scale, 0, sizes.height), fit.reach(scale, 1, sizes.width)];
        Self { reach, weights: reach.map(|reach| fit_weights(scale, reach)) }
    }
}

/// The fits of one context.
struct Sample<'a, R> {
    sizes: FitSizes,
    fit: &'a LocalFit,
    scales: &'a [Scale],
    /// Numbers from one row of sums to the next.
    stride: usize,
    /// \[2 fields, height, width\].
    context: &'a [R],
    finish: &'a Finish,
}

impl<R: Real> Sample<'_, R> {
    /// `sums` \[scales, fields, height, SUMS, stride\], `out` \[scales, fields, 6, height, width\].
    fn fit(&self, cpu: &Cpu, sums: &mut [f64], out: &mut [R]) {
        let FitSizes { fields, height, .. } = self.sizes;
        let seen: Vec<bool> =
            (0..fields * height).map(|line| self.sees(line / height, line % height)).collect();
        let row = SUMS * self.stride;
        cpu.for_pieces(sums, row, |piece, sums| {
            let (plane, line) = (piece / height, piece % height);
            let (scale, field) = (&self.scales[plane / fields], plane % fields);
            if seen[field * height + line] {
                let (values, mask) = (self.line(2 * field, line), self.line(2 * field + 1, line));
                let periodic = self.fit.periodic[1];
                cpu.run_double(SpreadRow { scale, periodic, stride: self.stride, values, mask, sums });
            }
        });
        let sums = &*sums;
        let start = Shared(out.as_mut_ptr());
        cpu.for_each(self.scales.len() * fields * height, |task| {
            let (plane, line) = (task / height, task % height);
            let sums = &sums[plane * height * row..][..height * row];
            let seen = &seen[plane % fields * height..][..height];
            let mut solved = vec![0.0; COEFFICIENTS * self.stride];
            let rows = self.rows_around(&self.scales[plane / fields], seen, line);
            let ridges = self.fit.ridges();
            cpu.run_double(SolveRow { ridges, stride: self.stride, rows: &rows, sums, solved: &mut solved });
            for coefficient in 0..COEFFICIENTS {
                let channel = plane * COEFFICIENTS + coefficient;
                let at = channel * self.sizes.pixels() + line * self.sizes.width;
                // SAFETY: every task writes lines of its own, which lie inside `out`.
                let out = unsafe { std::slice::from_raw_parts_mut(start.get().add(at), self.sizes.width) };
                self.finish.write(channel, &solved[coefficient * self.stride..], out);
            }
        });
    }

    /// One line of a channel of the context.
    fn line(&self, channel: usize, line: usize) -> &[R] {
        &self.context[channel * self.sizes.pixels() + line * self.sizes.width..][..self.sizes.width]
    }

    /// Whether anything is measured on a line of a field.
    fn sees(&self, field: usize, line: usize) -> bool {
        self.line(2 * field + 1, line).iter().any(|mask| *mask != R::default())
    }

    /// The lines within reach of one that have sensors, with their weights W_k(q0 - p0).
    fn rows_around(&self, scale: &Scale, seen: &[bool], line: usize) -> Vec<(usize, [f64; 5])> {
        let (height, reach) = (self.sizes.height, scale.reach[0]);
        let place = |at: usize| {
            let from = (line + height + at).checked_sub(reach)?; // q0 + height
            let inside = (height..2 * height).contains(&from) || self.fit.periodic[0];
            let q = from % height;
            (inside && seen[q]).then(|| (q, std::array::from_fn(|power| scale.weights[0][power][at])))
        };
        (0..=2 * reach).filter_map(place).collect()
    }
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
