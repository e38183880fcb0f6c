//! Linear layers as products of packed panels.

use crate::bfloat16::bf16;

use super::{
    Cpu, Shared,
    activation::gelu_slope,
    gemm::{Finish, Left, Order, Out, Pair, PanelView, Panels, Unit, multiply, units},
    integer_linear,
    lanes::{Kernel, Lanes, Real, load_some, store_some},
    produce::produce,
};
use crate::{
    dtype::{Dtype, Element},
    error::EngineError,
    ops::{Epilogue, Linear, LinearRecord},
    params::{Packing, ParamId, Params},
    tape::{Flow, Tape, Var},
    tensor::Tensor,
};

/// The layer's value, and the value before GELU if the tape wants it.
pub(crate) fn forward(
    cpu: &Cpu,
    tape: &Tape<'_>,
    layer: Linear,
    x: &Var,
    epilogue: Epilogue<'_>,
    shape: &[usize],
) -> Result<(Tensor, Option<Tensor>), EngineError> {
    let integers = tape.params().integers(layer.weight).filter(|_| !tape.is_recording());
    Ok(match tape.compute() {
        Dtype::F32 if let Some(weight) = integers => {
            integer_linear::forward(cpu, tape, layer, weight, x, epilogue, shape)
        }
        Dtype::F32 => forward_in::<f32>(cpu, tape, layer, x, epilogue, shape),
        Dtype::Bf16 => forward_in::<Pair>(cpu, tape, layer, x, epilogue, shape),
        Dtype::F64 => forward_in::<f64>(cpu, tape, layer, x, epilogue, shape),
    })
}

fn forward_in<U: Unit>(
    cpu: &Cpu,
    tape: &Tape<'_>,
    layer: Linear,
    x: &Var,
    epilogue: Epilogue<'_>,
    shape: &[usize],
) -> (Tensor, Option<Tensor>)
where
    U::Element: Element,
{
    let n = shape.last().copied().unwrap_or(1);
    let m = shape.iter().product::<usize>() / n.max(1);
    let panels = forward_panels::<U>(cpu, tape.params(), layer.weight);
    let finish = finish_of::<U::Real>(tape, layer, epilogue, n);
    produce::<U>(cpu, tape, shape, epilogue, finish, |finish| {
        multiply_left::<U>(cpu, m, x.value(), panels.view(), finish);
    })
}

/// What happens to a layer's sums, \[m, n\]: its bias, and what its epilogue adds.
pub(super) fn finish_of<R: Real>(
    tape: &Tape<'_>,
    layer: Linear,
    epilogue: Epilogue<'_>,
    n: usize,
) -> Finish<R> {
    let mut finish = Finish::plain(Out::Real(std::ptr::null_mut()), n);
    finish.bias = tape.params().cpu::<R>(layer.bias).as_ptr();
    match epilogue {
        Epilogue::Add(value) => finish.residual = value.value().cpu::<R>().as_ptr(),
        Epilogue::AddRows(rows) => {
            let table = tape.params().cpu::<R>(rows);
            finish.residual = table.as_ptr();
            finish.period = table.len() / n;
        }
        Epilogue::Plain | Epilogue::Wide | Epilogue::Gelu => {}
    }
    finish
}

/// x times packed panels.
fn multiply_left<U: Unit>(cpu: &Cpu, m: usize, x: &Tensor, right: PanelView<'_, U>, finish: Finish<U::Real>)
where
    U::Element: Element,
{
    let x = x.cpu::<U::Element>();
    let k = x.len() / m.max(1);
    if k.is_multiple_of(U::ELEMENTS) {
        let left = Left::rows(x.as_ptr().cast::<U>(), units::<U>(k), units::<U>(k));
        // SAFETY: x is [m, k], and the caller's matrices are [m, n].
        return unsafe { multiply(cpu, m, left, right, finish) };
    }
    // Rows of an odd length share units: give each row whole ones.
    let mut padded = cpu.memory(m * right.k * size_of::<U>());
    for (row, out) in x.chunks(k).zip(padded.slice_mut::<U>().chunks_mut(right.k)) {
        for (pair, unit) in row.chunks(U::ELEMENTS).zip(out) {
            *unit = U::join(pair[0], pair.get(1).copied());
        }
    }
    let left = Left::rows(padded.slice::<U>().as_ptr(), right.k, right.k);
    // SAFETY: as above.
    unsafe { multiply(cpu, m, left, right, finish) }
}

/// The weight [n, k], packed for x W^T.
fn forward_panels<U: Unit>(cpu: &Cpu, params: &Params, weight: ParamId) -> std::sync::Arc<Panels>
where
    U::Element: Element,
{
    let packing = Packing::Forward(<U::Element as Element>::DTYPE);
    params.packed(weight, packing, || {
        let values = params.cpu::<U::Real>(weight);
        let n = params.layout().param(weight).shape[0];
        let k = values.len() / n;
        if U::ELEMENTS == 1 {
            return Panels::pack::<U>(cpu, bytemuck::cast_slice(values), Order::ByColumn, [k, n], k);
        }
        let halves: Vec<bf16> = values.iter().map(|x| bf16::from_f64(x.wide())).collect();
        Panels::pack::<U>(cpu, bytemuck::cast_slice(&halves), Order::ByColumn, [k, n], k)
    })
}

/// db += column sums of h, where h = g or g gelu'(before); gives back h.
pub(crate) fn bias_gradient(
    cpu: &Cpu,
    record: &LinearRecord,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let bias = record.layer.bias;
    for_dtype!(gradient, through_gelu(cpu, record.before.as_ref(), gradient, flow, bias))
}

/// h = g gelu'(before) (or g), with db += column sums of h in the same pass over memory.
pub(crate) fn through_gelu<R: Real>(
    cpu: &Cpu,
    before: Option<&Tensor>,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
    bias: ParamId,
) -> Result<Tensor, EngineError> {
    let sums = flow.into().cpu_mut::<R>(bias)?;
    let g = gradient.cpu::<R>();
    let n = sums.len();
    let Some(before) = before else {
        column_sums(cpu, g, None, sums);
        return Ok(gradient.clone());
    };
    Ok(Tensor::compute::<R>(cpu, gradient.shape(), |h| {
        let out = Shared(h.as_mut_ptr());
        column_sums(cpu, g, Some((before.cpu::<R>(), out, n)), sums);
    }))
}

/// Columns of one task: whole cache lines, and enough of them to stream well.
const COLUMNS: usize = 128;

/// sums += column sums of g, or of g gelu'(before), which is then also written out.
fn column_sums<R: Real>(cpu: &Cpu, g: &[R], gelu: Option<(&[R], Shared<R>, usize)>, sums: &mut [R]) {
    let n = sums.len();
    cpu.for_pieces(sums, COLUMNS, |piece, sums| {
        cpu.run(ColumnSums { g, gelu, first: piece * COLUMNS, n, sums });
    });
}

struct ColumnSums<'a, R: Real> {
    g: &'a [R],
    gelu: Option<(&'a [R], Shared<R>, usize)>,
    first: usize,
    n: usize,
    sums: &'a mut [R],
}

impl<R: Real> Kernel<R> for ColumnSums<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = R>>(self) {
        let width = self.sums.len();
        let mut total = [R::default(); COLUMNS];
        for row in 0..self.g.len() / self.n {
            let at = row * self.n + self.first;
            let g = &self.g[at..at + width];
            for start in (0..width).step_by(V::COUNT) {
                let end = (start + V::COUNT).min(width);
                let mut h = load_some::<V>(&g[start..end]);
                if let Some((before, out, _)) = self.gelu {
                    h = h.mul(gelu_slope(load_some::<V>(&before[at + start..at + end])));
                    // SAFETY: these columns belong to this task alone.
                    let out =
                        unsafe { std::slice::from_raw_parts_mut(out.get().add(at + start), end - start) };
                    store_some(h, out);
                }
                let sum = load_some::<V>(&total[start..end]);
                store_some(sum.add(h), &mut total[start..end]);
            }
        }
        for (sum, total) in self.sums.iter_mut().zip(total) {
            *sum += total;
        }
    }
}

/// The table of positions gets the sum over the batch.
pub(crate) fn position_gradient(
    cpu: &Cpu,
    positions: ParamId,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    match gradient.dtype() {
        Dtype::F64 => column_sums(cpu, gradient.cpu::<f64>(), None, flow.into().cpu_mut(positions)?),
        _ => column_sums(cpu, gradient.cpu::<f32>(), None, flow.into().cpu_mut(positions)?),
    }
    Ok(())
}

/// dW += h^T x.
pub(crate) fn weight_gradient(
    cpu: &Cpu,
    record: &LinearRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    for_dtype!(h, weight_gradient_in(cpu, record, h, flow))
}

fn weight_gradient_in<R>(
    cpu: &Cpu,
    record: &LinearRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError>
where
    R: Real + Unit<Element = R, Real = R>,
{
    let into = flow.into().cpu_mut::<R>(record.layer.weight)?;
    let h = h.cpu::<R>();
    let x = record.x.value().cpu::<R>();
    let k = record.x.shape().last().copied().unwrap_or(1);
    let m = x.len() / k;
    let n = into.len() / k;
    let left = Panels::pack_left::<R>(cpu, h, [m, n]);
    let right = Panels::pack::<R>(cpu, x, Order::ByRow, [m, k], k);
    let finish = Finish { accumulate: true, ..Finish::plain(Out::Real(into.as_mut_ptr()), k) };
    // SAFETY: the packed transpose has n rows of m, and `into` is [n, k].
    unsafe { multiply(cpu, n, Left::packed(&left.view::<R>()), right.view(), finish) };
    Ok(())
}

/// dx = h W.
pub(crate) fn input_gradient(
    cpu: &Cpu,
    record: &LinearRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let dx = for_dtype!(h, input_gradient_in(cpu, record, h, flow.params()));
    flow.give(&record.x, dx)
}

fn input_gradient_in<R>(cpu: &Cpu, record: &LinearRecord, h: &Tensor, params: &Params) -> Tensor
where
    R: Real + Unit<Element = R, Real = R>,
{
    let weight = record.layer.weight;
    let shape = record.x.shape();
    let k = shape.last().copied().unwrap_or(1);
    let panels = params.packed(weight, Packing::Backward(R::DTYPE), || {
        let values = params.cpu::<R>(weight);
        Panels::pack::<R>(cpu, values, Order::ByRow, [values.len() / k, k], k)
    });
    Tensor::compute::<R>(cpu, shape, |out| {
        let m = out.len() / k;
        multiply_left::<R>(cpu, m, h, panels.view(), Finish::plain(Out::Real(out.as_mut_ptr()), k));
    })
}
