//! Products of two values, and of a value and a weight without a bias.

use super::{
    Cuda,
    gemm::{Kind, Operands, Shape},
    kernels::{Grid, HEADS},
    linear::{aligned, any_product},
    unaligned,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::add,
    params::{ParamId, Params},
    tape::Flow,
    tensor::Tensor,
};

/// A product as [`Kind`] says, of factors of one precision: the library's, or a plain one where rows are not aligned.
pub(super) fn product(
    cuda: &Cuda,
    which: Kind,
    [m, n, k]: [usize; 3],
    (left, right, input): (u64, u64, Dtype),
    bias: u64,
    (out, dtype, accumulate): (u64, Dtype, bool),
) -> Result<(), EngineError> {
    let rows = if which == Kind::Weight { m } else { k };
    let bias_too = bias != 0;
    let shape = Shape { kind: which, m, n, k, input, out: dtype, bias: bias_too, add: accumulate, period: 0 };
    let operands = Operands { left, right, bias, add: out, out };
    if aligned(rows, input) && aligned(n, input) && aligned(n, dtype) {
        return cuda.product(shape, operands);
    }
    any_product(cuda, shape, operands)
}

/// Coefficients \[batch, fields, k\] times a basis \[points, k\], plus an offset a field.
pub(crate) fn forward(
    cuda: &Cuda,
    x: &Tensor,
    t: &Tensor,
    params: &Params,
    offset: ParamId,
    shape: &[usize; 3],
) -> Result<Tensor, EngineError> {
    let [batch, fields, points] = *shape;
    let out = Tensor::on_cuda(cuda, shape, Dtype::F32)?;
    let sizes = [batch * fields, points, t.shape()[1]];
    let factors = (x.address(), t.address(), x.dtype());
    product(cuda, Kind::Forward, sizes, factors, 0, (out.address(), Dtype::F32, false))?;
    let offset = params.address(offset, Dtype::F32);
    let arguments = [(&out).into(), offset.into(), out.len().into(), points.into(), fields.into()];
    cuda.launch(HEADS, "add_offset", Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// Gradients of the coefficients and of the basis; the offset gets its sum.
pub(crate) fn backward(
    cuda: &Cuda,
    x: &Tensor,
    t: &Tensor,
    dy: &Tensor,
    offset: ParamId,
    flow: &mut Flow<'_>,
) -> Result<[Tensor; 2], EngineError> {
    let batch = x.shape()[0];
    let fields = x.shape()[1];
    let points = t.shape()[0];
    let k = t.shape()[1];
    let rows = batch * fields;
    let wide = add::convert(dy.clone(), Dtype::F32)?;
    let sums = flow.into().address(offset);
    cuda.on_side_stream(&[&wide], || offset_back(cuda, &wide, [rows, points, fields], sums))?;
    let dy = add::convert(dy.clone(), x.dtype())?;
    let dx = Tensor::on_cuda(cuda, x.shape(), Dtype::F32)?;
    let factors = (dy.address(), t.address(), x.dtype());
    product(cuda, Kind::Input, [rows, k, points], factors, 0, (dx.address(), Dtype::F32, false))?;
    let dt = Tensor::on_cuda(cuda, t.shape(), Dtype::F32)?;
    let factors = (dy.address(), x.address(), x.dtype());
    product(cuda, Kind::Weight, [points, k, rows], factors, 0, (dt.address(), Dtype::F32, false))?;
    Ok([dx, dt])
}

/// The offset of each field gets the sum of its rows.
fn offset_back(
    cuda: &Cuda,
    dy: &Tensor,
    [rows, points, fields]: [usize; 3],
    (into, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let partial = cuda.memory(rows * size_of::<f64>())?;
    let arguments = [
        dy.into(),
        into.into(),
        (&partial).into(),
        cuda.counters(1)?.into(),
        points.into(),
        fields.into(),
        usize::from(accumulate).into(),
    ];
    cuda.launch(HEADS, "offset_back", Grid::of(rows, 256), &arguments)
}

/// Whether the library wants the rows of a matrix of bf16 padded.
fn unaligned(sizes: [usize; 2], dtype: Dtype) -> bool {
    dtype == Dtype::Bf16 && sizes.into_iter().any(|length| !aligned(length, dtype))
}

/// Computes x W^T without a bias.
pub(crate) fn project(
    cuda: &Cuda,
    params: &Params,
    weight: ParamId,
    x: &Tensor,
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    let sizes = &params.layout().param(weight).shape;
    let n = sizes[0];
    let k = sizes[1];
    let at = params.address(weight, x.dtype());
    if unaligned([n, k], x.dtype()) {
        unaligned::forward(cuda, x, (at, [n, k]), None, None, &out)?;
        return Ok(out);
    }
    let factors = (x.address(), at, x.dtype());
    product(cuda, Kind::Forward, [out.len() / n, n, k], factors, 0, (out.address(), x.dtype(), false))?;
    Ok(out)
}

/// dx = dy W; the weight gets dy^T x.
pub(crate) fn project_back(
    cuda: &Cuda,
    weight: ParamId,
    x: &Tensor,
    dy: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let input = x.dtype();
    let dy = add::convert(dy.clone(), input)?;
    let sizes = &flow.params().layout().param(weight).shape;
    let n = sizes[0];
    let k = sizes[1];
    let rows = dy.len() / n;
    let (into, accumulate) = flow.into().address(weight);
    let at = flow.params().address(weight, input);
    let dx = Tensor::on_cuda(cuda, x.shape(), input)?;
    if unaligned([n, k], input) {
        unaligned::weight(cuda, &dy, x, [n, k], (into, accumulate))?;
        unaligned::input(cuda, &dy, (at, [n, k]), &dx)?;
        return Ok(dx);
    }
    let factors = (dy.address(), x.address(), input);
    product(cuda, Kind::Weight, [n, k, rows], factors, 0, (into, Dtype::F32, accumulate))?;
    let factors = (dy.address(), at, input);
    product(cuda, Kind::Input, [rows, k, n], factors, 0, (dx.address(), input, false))?;
    Ok(dx)
}
