//! Products of two values, and of a value and a weight without a bias.

use super::{
    Cpu,
    gemm::{Finish, Left, Order, Out, Panels, Unit, multiply},
    lanes::Real,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// How the right matrix of a product lies: \[n, k\], so that it is transposed, or \[k, n\].
type Right<'a, R> = (&'a [R], Order);

/// out \[m, n\] = x \[m, k\] times the right matrix.
fn product<R>(cpu: &Cpu, x: &[R], (right, order): Right<'_, R>, [m, k, n]: [usize; 3], out: &mut [R])
where
    R: Real + Unit<Element = R, Real = R>,
{
    let stride = if matches!(order, Order::ByColumn) { k } else { n };
    let panels = Panels::pack::<R>(cpu, right, order, [k, n], stride);
    let finish = Finish::plain(Out::Real(out.as_mut_ptr()), n);
    // SAFETY: x is [m, k], the panels [k, n], and the result [m, n].
    unsafe { multiply(cpu, m, Left::rows(x.as_ptr(), k, k), panels.view(), finish) };
}

/// out \[m, n\] (+)= h \[k, m\]^T x \[k, n\].
fn outer<R>(cpu: &Cpu, h: &[R], x: &[R], [m, k, n]: [usize; 3], out: &mut [R], accumulate: bool)
where
    R: Real + Unit<Element = R, Real = R>,
{
    let left = Panels::pack_left::<R>(cpu, h, [k, m]);
    let right = Panels::pack::<R>(cpu, x, Order::ByRow, [k, n], n);
    let finish = Finish { accumulate, ..Finish::plain(Out::Real(out.as_mut_ptr()), n) };
    // SAFETY: the packed transpose has m rows of k, the panels are [k, n], and the result is [m, n].
    unsafe { multiply(cpu, m, Left::packed(&left.view::<R>()), right.view(), finish) };
}

/// Coefficients \[batch, fields, k\] times a basis \[points, k\], plus an offset a field.
pub(crate) fn forward(
    cpu: &Cpu,
    x: &Tensor,
    t: &Tensor,
    params: &Params,
    offset: ParamId,
    shape: &[usize; 3],
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, forward_in(cpu, x, t, params, offset, shape)))
}

fn forward_in<R>(
    cpu: &Cpu,
    x: &Tensor,
    t: &Tensor,
    params: &Params,
    offset: ParamId,
    shape: &[usize; 3],
) -> Tensor
where
    R: Real + Unit<Element = R, Real = R>,
{
    let [batch, fields, points] = *shape;
    let offsets = params.cpu::<R>(offset);
    let k = t.shape()[1];
    Tensor::compute::<R>(cpu, shape, |out| {
        product(cpu, x.cpu::<R>(), (t.cpu::<R>(), Order::ByColumn), [batch * fields, k, points], out);
        cpu.for_pieces(out, points, |row, out| {
            out.iter_mut().for_each(|out| *out += offsets[row % fields]);
        });
    })
}

/// Gradients of the coefficients and of the basis; the offset gets its sum.
pub(crate) fn backward(
    cpu: &Cpu,
    x: &Tensor,
    t: &Tensor,
    dy: &Tensor,
    offset: ParamId,
    flow: &mut Flow<'_>,
) -> Result<[Tensor; 2], EngineError> {
    for_dtype!(dy, backward_in(cpu, x, t, dy, offset, flow))
}

fn backward_in<R>(
    cpu: &Cpu,
    x: &Tensor,
    t: &Tensor,
    dy: &Tensor,
    offset: ParamId,
    flow: &mut Flow<'_>,
) -> Result<[Tensor; 2], EngineError>
where
    R: Real + Unit<Element = R, Real = R>,
{
    let fields = x.shape()[1];
    let points = t.shape()[0];
    let k = t.shape()[1];
    let rows = x.len() / k;
    let dy = dy.cpu::<R>();
    let sums = flow.into().cpu_mut::<R>(offset)?;
    for (row, dy) in dy.chunks(points).enumerate() {
        sums[row % fields] += R::of(dy.iter().map(|dy| dy.wide()).sum());
    }
    let dx = Tensor::compute::<R>(cpu, x.shape(), |out| {
        product(cpu, dy, (t.cpu::<R>(), Order::ByRow), [rows, points, k], out);
    });
    let dt = Tensor::compute::<R>(cpu, t.shape(), |out| {
        outer(cpu, dy, x.cpu::<R>(), [points, rows, k], out, false);
    });
    Ok([dx, dt])
}

/// Computes x W^T without a bias.
pub(crate) fn project(
    cpu: &Cpu,
    params: &Params,
    weight: ParamId,
    x: &Tensor,
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, project_in(cpu, params, weight, x, shape)))
}

fn project_in<R>(cpu: &Cpu, params: &Params, weight: ParamId, x: &Tensor, shape: &[usize]) -> Tensor
where
    R: Real + Unit<Element = R, Real = R>,
{
    let sizes = &params.layout().param(weight).shape;
    let n = sizes[0];
    let k = sizes[1];
    let right = (params.cpu::<R>(weight), Order::ByColumn);
    Tensor::compute::<R>(cpu, shape, |out| product(cpu, x.cpu::<R>(), right, [out.len() / n, k, n], out))
}

/// dx = dy W; the weight gets dy^T x.
pub(crate) fn project_back(
    cpu: &Cpu,
    weight: ParamId,
    x: &Tensor,
    dy: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    for_dtype!(dy, project_back_in(cpu, weight, x, dy, flow))
}

fn project_back_in<R>(
    cpu: &Cpu,
    weight: ParamId,
    x: &Tensor,
    dy: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError>
where
    R: Real + Unit<Element = R, Real = R>,
{
    let params = flow.params();
    let n = params.layout().param(weight).shape[0];
    let dy = dy.cpu::<R>();
    let k = x.shape().last().copied().unwrap_or(1);
    let rows = dy.len() / n;
    outer(cpu, dy, x.cpu::<R>(), [n, rows, k], flow.into().cpu_mut::<R>(weight)?, true);
    Ok(Tensor::compute::<R>(cpu, x.shape(), |out| {
        product(cpu, dy, (params.cpu::<R>(weight), Order::ByRow), [rows, n, k], out);
    }))
}
