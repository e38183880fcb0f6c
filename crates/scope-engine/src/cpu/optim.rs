//! The passes of optimizers over flat buffers of parameters: norms, cap, AdamW, Muon, EMA.

use std::ops::Range;

use super::{
    Cpu, Shared,
    elementwise::PIECE,
    lanes::{Kernel, Lanes, Real, load_some, store_some},
    muon::{MuonStep, Number},
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    optim::{AdamW, CAP_MARGIN, Capped, Moments, Optimizer, Slot, StepScalars, Update},
    params::{Gradients, Layout, Params},
    tensor::Tensor,
};

/// The Euclidean norm of a range.
pub(crate) fn norm(cpu: &Cpu, flat: &Tensor, range: Range<usize>) -> f64 {
    for_dtype!(flat, length(cpu, &flat.cpu()[range]))
}

/// The Euclidean norm of some numbers, summed in double precision over fixed pieces.
pub(super) fn length<R: Real>(cpu: &Cpu, values: &[R]) -> f64 {
    let mut sums = vec![0.0_f64; values.len().div_ceil(PIECE)];
    cpu.for_pieces(&mut sums, 1, |piece, sum| {
        let values = &values[piece * PIECE..((piece + 1) * PIECE).min(values.len())];
        sum[0] = cpu.run(SumOfSquares { values });
    });
    sums.iter().sum::<f64>().sqrt()
}

struct SumOfSquares<'a, R> {
    values: &'a [R],
}

/// Squares are added in vectors over short runs, and the runs in double precision.
impl<R: Real> Kernel<R> for SumOfSquares<'_, R> {
    type Output = f64;
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) -> f64 {
        let mut total = 0.0;
        for run in self.values.chunks(256) {
            let mut sum = V::splat(R::default());
            for x in run.chunks(V::COUNT) {
                let x = load_some::<V>(x);
                sum = x.mul_add(x, sum);
            }
            total += sum.sum().wide();
        }
        total
    }
}

/// Makes gradients not a number unless a loss is exactly zero.
pub(crate) fn void_unless_zero(_: &Cpu, gradients: &mut Gradients, loss: &Tensor) -> Result<(), EngineError> {
    if loss.cpu::<f32>()[0] != 0.0 {
        gradients.all_cpu_mut::<f32>()?[0] = f32::NAN;
    }
    Ok(())
}

/// lead += alpha (sum of the auxiliaries), with alpha as the operation says.
pub(crate) fn add_capped(
    cpu: &Cpu,
    lead: &mut Gradients,
    auxiliaries: &[&Gradients],
    paths: &[&str],
) -> Result<Capped, EngineError> {
    let ranges: Vec<Range<usize>> = paths.iter().map(|path| lead.layout().range(path)).collect();
    let all = std::iter::once(lead.flat()).chain(auxiliaries.iter().map(|auxiliary| auxiliary.flat()));
    let norms: Vec<f64> =
        all.flat_map(|flat| ranges.iter().map(|range| norm(cpu, flat, range.clone()))).collect();
    let (field, others) = norms.split_at(paths.len());
    let mut alpha = 1.0_f64;
    for (path, field) in field.iter().enumerate() {
        let together: f64 = others.iter().skip(path).step_by(paths.len()).sum();
        if together > 0.0 {
            alpha = alpha.min(field / together);
        }
    }
    if alpha < 1.0 {
        alpha *= 1.0 - CAP_MARGIN;
    }
    let others: Vec<&[f32]> = auxiliaries.iter().map(|auxiliary| auxiliary.flat().cpu::<f32>()).collect();
    cpu.for_pieces(lead.all_cpu_mut::<f32>()?, PIECE, |piece, out| {
        let range = piece * PIECE..piece * PIECE + out.len();
        let others: Vec<&[f32]> = others.iter().map(|other| &other[range.clone()]).collect();
        cpu.run(AddSum { out, others: &others, factor: alpha as f32 });
    });
    let wide = |values: &[f64]| values.iter().map(|x| *x as f32).collect::<Vec<f32>>();
    let tensor = |shape: &[usize], values: &[f64]| {
        Tensor::compute::<f32>(cpu, shape, |out| out.copy_from_slice(&wide(values)))
    };
    let norms = tensor(&[1 + auxiliaries.len(), paths.len()], &norms);
    Ok(Capped { norms, alpha: tensor(&[1], &[alpha]) })
}

struct AddSum<'a> {
    out: &'a mut [f32],
    others: &'a [&'a [f32]],
    factor: f32,
}

impl Kernel<f32> for AddSum<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) {
        for start in (0..self.out.len()).step_by(V::COUNT) {
            let at = start..(start + V::COUNT).min(self.out.len());
            let mut sum = V::splat(0.0);
            for other in self.others {
                sum = sum.add(load_some::<V>(&other[at.clone()]));
            }
            let out = load_some::<V>(&self.out[at.clone()]);
            store_some(sum.mul_add(V::splat(self.factor), out), &mut self.out[at]);
        }
    }
}

/// Pieces of the parameters under some paths, with whether they decay; hidden matrices are left out if another
/// optimizer has them.
fn pieces(layout: &Layout, paths: &[&str], without_hidden: bool) -> Vec<(Range<usize>, bool)> {
    layout
        .chosen(paths)
        .filter(|param| !(without_hidden && param.hidden > 0))
        .flat_map(|param| param.moving().map(|range| (range, param.decay)))
        .flat_map(|(Range { start, end }, decays)| {
            (start..end).step_by(PIECE).map(move |at| (at..(at + PIECE).min(end), decays))
        })
        .collect()
}

/// One step of an optimizer; the gradients' norm before clipping.
pub(crate) fn step(
    cpu: &Cpu,
    optimizer: &Optimizer,
    params: &mut Params,
    gradients: &Gradients,
    moments: &mut Moments,
    update: Update<'_>,
) -> Result<Tensor, EngineError> {
    for_dtype!(params, step_in(cpu, optimizer, params, gradients, moments, update))
}

fn step_in<R: Number>(
    cpu: &Cpu,
    optimizer: &Optimizer,
    params: &mut Params,
    gradients: &Gradients,
    moments: &mut Moments,
    update: Update<'_>,
) -> Result<Tensor, EngineError> {
    let length = norm(cpu, gradients.flat(), 0..gradients.flat().len());
    let measured = Tensor::compute::<f32>(cpu, &[1], |out| out[0] = length as f32);
    if !length.is_finite() {
        return Ok(measured);
    }
    let factor = (update.max_norm / (length + 1e-6)).min(1.0);
    let matrices = params.layout().hidden_matrices(update.paths);
    let pieces = pieces(params.layout(), update.paths, optimizer.muon.is_some());
    let g = gradients.flat().cpu::<R>();
    let first = moments.first.own_cpu_mut::<R>()?;
    let second = moments.second.own_cpu_mut::<R>()?;
    let values = params.cpu_mut::<R>()?;
    let rule = Rule::new(&optimizer.adamw, update.scalars, factor);
    let m = Shared(first.as_mut_ptr());
    let v = Shared(second.as_mut_ptr());
    let p = Shared(values.as_mut_ptr());
    cpu.for_each(pieces.len(), |task| {
        let (range, decays) = pieces[task].clone();
        // SAFETY: pieces are disjoint ranges of buffers of one length.
        let cut = |buffer: Shared<R>| unsafe {
            std::slice::from_raw_parts_mut(buffer.get().add(range.start), range.len())
        };
        cpu.run(AdamPiece { p: cut(p), m: cut(m), v: cut(v), g: &g[range.clone()], rule, decays });
    });
    if let Some(settings) = &optimizer.muon {
        let step = MuonStep::new(settings, optimizer.adamw.decay, update.scalars, factor);
        for matrix in matrices {
            let range = matrix.start..matrix.start + matrix.rows * matrix.columns;
            let own = update.share.is_none_or(|share| share.contains(&range));
            let momentum = &mut first[range.clone()];
            if own {
                let slices = (&mut values[range.clone()], momentum, &g[range]);
                step.apply(cpu, [matrix.rows, matrix.columns], slices);
            } else {
                step.follow(cpu, matrix.columns, momentum, &g[range]);
            }
        }
    }
    Ok(measured)
}

/// The numbers of one step.
#[derive(Clone, Copy)]
struct Rule {
    betas: [f64; 2],
    epsilon: f64,
    /// Multiplies gradients.
    factor: f64,
    /// Multiplies parameters that decay.
    shrink: f64,
    /// rate / (1 - b1^t).
    step_size: f64,
    /// 1 / sqrt(1 - b2^t).
    root: f64,
}

impl Rule {
    fn new(settings: &AdamW, scalars: &StepScalars, factor: f64) -> Self {
        let number = |slot: Slot| f64::from(scalars.numbers.cpu::<f32>()[slot as usize]);
        let rate = number(Slot::Rate);
        Self {
            betas: settings.betas,
            epsilon: settings.epsilon,
            factor,
            shrink: 1.0 - rate * settings.decay,
            step_size: rate / number(Slot::FirstCorrection),
            root: 1.0 / number(Slot::SecondCorrection).sqrt(),
        }
    }
}

struct AdamPiece<'a, R> {
    p: &'a mut [R],
    m: &'a mut [R],
    v: &'a mut [R],
    g: &'a [R],
    rule: Rule,
    decays: bool,
}

impl<R: Real> Kernel<R> for AdamPiece<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let constant = |x: f64| V::splat(R::of(x));
        let Rule { betas: [b1, b2], epsilon, factor, shrink, step_size, root } = self.rule;
        let shrink = constant(if self.decays { shrink } else { 1.0 });
        for start in (0..self.p.len()).step_by(V::COUNT) {
            let at = start..(start + V::COUNT).min(self.p.len());
            let g = load_some::<V>(&self.g[at.clone()]).mul(constant(factor));
            let m = load_some::<V>(&self.m[at.clone()]).mul(constant(b1));
            let m = g.mul_add(constant(1.0 - b1), m);
            let v = load_some::<V>(&self.v[at.clone()]).mul(constant(b2));
            let v = g.mul(g).mul_add(constant(1.0 - b2), v);
            let slope = m.div(v.sqrt().mul_add(constant(root), constant(epsilon)));
            let p = load_some::<V>(&self.p[at.clone()]).mul(shrink);
            store_some(slope.mul_add(constant(-step_size), p), &mut self.p[at.clone()]);
            store_some(m, &mut self.m[at.clone()]);
            store_some(v, &mut self.v[at]);
        }
    }
}

/// average = momentum average + (1 - momentum) online.
pub(crate) fn update_ema(
    cpu: &Cpu,
    average: &mut Params,
    online: &Params,
    scalars: &StepScalars,
    guard: &Tensor,
) -> Result<(), EngineError> {
    if !guard.cpu::<f32>()[0].is_finite() {
        return Ok(());
    }
    let momentum = f64::from(scalars.numbers.cpu::<f32>()[Slot::Momentum as usize]);
    let online = online.flat().cpu::<f32>();
    cpu.for_pieces(average.cpu_mut::<f32>()?, PIECE, |piece, out| {
        let online = &online[piece * PIECE..][..out.len()];
        cpu.run(Follow { out, online, share: (1.0 - momentum) as f32 });
    });
    Ok(())
}

struct Follow<'a> {
    out: &'a mut [f32],
    online: &'a [f32],
    share: f32,
}

impl Kernel<f32> for Follow<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) {
        for (out, online) in self.out.chunks_mut(V::COUNT).zip(self.online.chunks(V::COUNT)) {
            let before = load_some::<V>(out);
            let step = load_some::<V>(online).sub(before);
            store_some(step.mul_add(V::splat(self.share), before), out);
        }
    }
}
