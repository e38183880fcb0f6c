//! Passes over flat buffers of parameters.

use std::ops::Range;

use super::{
    Cpu, Shared,
    elementwise::PIECE,
    lanes::{Kernel, Lanes, Real, load_some, store_some},
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    optimiser::{Moments, Step},
    params::{Gradients, Params},
    tensor::Tensor,
};

/// The Euclidean norm of a range, summed in double precision over fixed pieces.
pub(crate) fn norm(cpu: &Cpu, flat: &Tensor, range: Range<usize>) -> f64 {
    fn typed<R: Real>(cpu: &Cpu, values: &[R]) -> f64 {
        let mut sums = vec![0.0_f64; values.len().div_ceil(PIECE)];
        cpu.for_pieces(&mut sums, 1, |piece, sum| {
            let values = &values[piece * PIECE..((piece + 1) * PIECE).min(values.len())];
            sum[0] = values.iter().map(|x| x.wide() * x.wide()).sum();
        });
        sums.iter().sum::<f64>().sqrt()
    }
    match flat.dtype() {
        Dtype::F64 => typed::<f64>(cpu, &flat.cpu()[range]),
        _ => typed::<f32>(cpu, &flat.cpu()[range]),
    }
}

/// One step of AdamW on f32 parameters.
pub(crate) fn adamw(
    cpu: &Cpu,
    params: &mut Params,
    gradients: &Gradients,
    moments: &mut Moments,
    step: Step,
) -> Result<(), EngineError> {
    let layout = params.layout().clone();
    let missing = || EngineError::Layout { expected: layout.len(), got: 0 };
    if params.dtype() != Dtype::F32 {
        let (operation, what) = ("AdamW", "the parameters");
        return Err(EngineError::Kind { operation, what, expected: Dtype::F32, got: params.dtype() });
    }
    let m = Shared(moments.first.cpu_mut::<f32>().ok_or_else(missing)?.as_mut_ptr());
    let v = Shared(moments.second.cpu_mut::<f32>().ok_or_else(missing)?.as_mut_ptr());
    let g = gradients.flat().cpu::<f32>();
    let p = Shared(params.cpu_mut::<f32>().ok_or_else(missing)?.as_mut_ptr());
    let pieces: Vec<(Range<usize>, bool)> = layout
        .params()
        .iter()
        .flat_map(|param| {
            let Range { start, end } = param.range;
            (start..end).step_by(PIECE).map(move |at| (at..(at + PIECE).min(end), param.decay))
        })
        .collect();
    cpu.for_each(pieces.len(), |task| {
        let (range, decay) = pieces[task].clone();
        // SAFETY: pieces are disjoint ranges of buffers of one length.
        let cut = |buffer: Shared<f32>| unsafe {
            std::slice::from_raw_parts_mut(buffer.get().add(range.start), range.len())
        };
        cpu.run(AdamPiece { p: cut(p), m: cut(m), v: cut(v), g: &g[range.clone()], step, decay });
    });
    Ok(())
}

struct AdamPiece<'a> {
    p: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
    g: &'a [f32],
    step: Step,
    decay: bool,
}

impl Kernel<f32> for AdamPiece<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = f32>>(self) {
        let Step { settings, rate, factor, number } = self.step;
        let [b1, b2] = settings.betas;
        let corrected = |beta: f64| 1.0 - beta.powi(number.min(1 << 30) as i32);
        let constant = |x: f64| V::splat(x as f32);
        let shrink = constant(if self.decay { 1.0 - rate * settings.decay } else { 1.0 });
        let pace = constant(-rate / corrected(b1));
        let root = constant(1.0 / corrected(b2).sqrt());
        for start in (0..self.p.len()).step_by(V::COUNT) {
            let at = start..(start + V::COUNT).min(self.p.len());
            let g = load_some::<V>(&self.g[at.clone()]).mul(constant(factor));
            let m = load_some::<V>(&self.m[at.clone()]).mul(constant(b1)).add(g.mul(constant(1.0 - b1)));
            let v = load_some::<V>(&self.v[at.clone()]).mul(constant(b2));
            let v = g.mul(g).mul_add(constant(1.0 - b2), v);
            let slope = m.div(v.sqrt().mul_add(root, constant(settings.epsilon)));
            let p = load_some::<V>(&self.p[at.clone()]).mul(shrink);
            store_some(slope.mul_add(pace, p), &mut self.p[at.clone()]);
            store_some(m, &mut self.m[at.clone()]);
            store_some(v, &mut self.v[at]);
        }
    }
}
