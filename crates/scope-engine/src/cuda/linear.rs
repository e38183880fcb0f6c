//! Linear layers: the library's products, with biases, GELU and sums over rows by kernels of our own.

use super::{
    Cuda,
    gemm::{Kind, Operands, Shape},
    kernels::{GEMM, Grid, LINEAR},
    kind,
    layer_norm::bias_sums,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{Epilogue, Linear, LinearRecord, add},
    params::{ParamId, Params},
    tape::{Flow, Tape},
    tensor::Tensor,
};

/// A thread adds up at most about this many partial sums of a column.
const PIECES: usize = 64;
/// Rows of at most this many numbers have kernels of their own.
const NARROW: usize = 8;

/// The layer's value, and the product before bias and GELU if the tape wants it.
pub(crate) fn forward(
    cuda: &Cuda,
    tape: &Tape<'_>,
    layer: Linear,
    x: &Tensor,
    epilogue: Epilogue<'_>,
    shape: &[usize],
) -> Result<(Tensor, Option<Tensor>), EngineError> {
    let (params, compute) = (tape.params(), tape.compute());
    let product = |out: Dtype, bias: Option<ParamId>, residual: Option<&Tensor>| {
        let y = Tensor::on_cuda(cuda, shape, out)?;
        multiply(cuda, params, layer.weight, bias, residual, x, &y)?;
        Ok::<_, EngineError>(y)
    };
    Ok(match epilogue {
        Epilogue::Plain => (product(compute, Some(layer.bias), None)?, None),
        Epilogue::Wide => (product(Dtype::F32, Some(layer.bias), None)?, None),
        Epilogue::Add(value) => {
            let value = value.value();
            (product(value.dtype(), Some(layer.bias), Some(value))?, None)
        }
        Epilogue::AddRows(rows) => {
            let y = product(Dtype::F32, Some(layer.bias), None)?;
            let table = params.layout().param(rows).range.len();
            let added = (params.address(rows, Dtype::F32), table);
            finish(cuda, &y, None, Some(added), false, &y)?;
            (y, None)
        }
        Epilogue::Gelu => {
            let before = product(compute, None, None)?;
            // Where nobody asks for the product again, GELU takes its place, and the cache may still hold it.
            let y = if tape.is_recording() { Tensor::on_cuda(cuda, shape, compute)? } else { before.clone() };
            finish(cuda, &before, Some(params.address(layer.bias, Dtype::F32)), None, true, &y)?;
            (y, tape.is_recording().then_some(before))
        }
    })
}

/// Whether the library takes a matrix with rows of this length.
pub(super) fn aligned(length: usize, dtype: Dtype) -> bool {
    (length * dtype.size()).is_multiple_of(16)
}

/// y = x W^T (+ b) (+ residual).
fn multiply(
    cuda: &Cuda,
    params: &Params,
    weight: ParamId,
    bias: Option<ParamId>,
    residual: Option<&Tensor>,
    x: &Tensor,
    y: &Tensor,
) -> Result<(), EngineError> {
    let n = params.layout().param(weight).shape[0];
    let m = y.len() / n.max(1);
    let k = x.len() / m.max(1);
    let (input, out) = (x.dtype(), y.dtype());
    let right = params.address(weight, input);
    if aligned(k, input) && aligned(n, input) {
        let (bias_at, add) = (bias.map(|id| params.address(id, out)), residual.map(Tensor::address));
        let shape =
            Shape { kind: Kind::Forward, m, n, k, input, out, bias: bias.is_some(), add: add.is_some() };
        let (left, bias, add) = (x.address(), bias_at.unwrap_or(0), add.unwrap_or(0));
        return cuda.product(shape, Operands { left, right, bias, add, out: y.address() });
    }
    let bias = bias.map_or(0, |id| params.address(id, Dtype::F32));
    let residual = residual.map(|residual| add::convert(residual.clone(), Dtype::F32)).transpose()?;
    let added = residual.as_ref().map_or(0, Tensor::address);
    if k <= NARROW {
        let name = format!("narrow_product_{}_{}", kind(input), kind(out));
        let arguments =
            [x.into(), right.into(), bias.into(), added.into(), y.into(), y.len().into(), n.into(), k.into()];
        return cuda.launch(LINEAR, &name, Grid::over(y.len()), &arguments);
    }
    let (left, right) = ((x.address(), [k, 1]), (right, [k, 1]));
    any_product(cuda, [m, n, k], left, right, bias, (input, y.address(), out), false)?;
    match residual {
        Some(_) => finish(cuda, y, None, Some((added, 0)), false, y),
        None => Ok(()),
    }
}

/// A product of any sizes; each factor with the strides of its row and of the summed index.
pub(super) fn any_product(
    cuda: &Cuda,
    [m, n, k]: [usize; 3],
    (left, [left_row, left_step]): (u64, [usize; 2]),
    (right, [right_row, right_step]): (u64, [usize; 2]),
    bias: u64,
    (input, out, out_kind): (Dtype, u64, Dtype),
    accumulate: bool,
) -> Result<(), EngineError> {
    let name = format!("product_{}_{}", kind(input), kind(out_kind));
    let arguments = [
        left.into(),
        right.into(),
        bias.into(),
        out.into(),
        m.into(),
        n.into(),
        k.into(),
        left_row.into(),
        left_step.into(),
        right_row.into(),
        right_step.into(),
        usize::from(accumulate).into(),
    ];
    let blocks = [n.div_ceil(16), m.div_ceil(16)];
    cuda.launch(GEMM, &name, Grid { blocks, ..Grid::of(1, 256) }, &arguments)
}

/// out = f(u + bias) + added, f being nothing or GELU. `u` may have longer rows than `out`; what is added has the
/// shape of `out`, or repeats after a number of elements that is not zero. `out` may be `u`.
pub(super) fn finish(
    cuda: &Cuda,
    u: &Tensor,
    bias: Option<u64>,
    added: Option<(u64, usize)>,
    gelu: bool,
    out: &Tensor,
) -> Result<(), EngineError> {
    let last = |tensor: &Tensor| tensor.shape().last().copied().unwrap_or(1);
    let (n, stride) = (last(out), last(u));
    let width = if n.is_multiple_of(8) && stride.is_multiple_of(8) { 8 } else { 1 };
    let name = if gelu { "gelu" } else { "bias" };
    let name = format!("{name}_{}_{}_{width}", kind(u.dtype()), kind(out.dtype()));
    let (added, period) = added.unwrap_or((0, 0));
    let arguments = [
        u.into(),
        bias.unwrap_or(0).into(),
        added.into(),
        out.into(),
        out.len().into(),
        n.into(),
        stride.into(),
        period.into(),
    ];
    cuda.launch(LINEAR, &name, Grid::over(out.len() / width), &arguments)
}

/// db += column sums of h, where h = g or g gelu'(before + b); gives back h, in the precision of the products.
pub(crate) fn bias_gradient(
    cuda: &Cuda,
    record: &LinearRecord,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    through_gelu(cuda, record.layer, record.before.as_ref(), gradient, record.x.value().dtype(), flow)
}

/// As `bias_gradient`, for linear layers and convolutions.
pub(super) fn through_gelu(
    cuda: &Cuda,
    layer: Linear,
    before: Option<&Tensor>,
    gradient: &Tensor,
    compute: Dtype,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let g = add::convert(gradient.clone(), compute)?;
    let sums = flow.into().address(layer.bias);
    let n = g.shape().last().copied().unwrap_or(1);
    let Some(before) = before else {
        match flow.sums_of(&g) {
            Some(partial) => bias_sums(cuda, &partial, sums)?,
            None => cuda.aside(&[&g], || column_sums(cuda, &g, n, None, sums))?,
        }
        return Ok(g);
    };
    let h = Tensor::on_cuda(cuda, g.shape(), compute)?;
    let gelu = (before, flow.params().address(layer.bias, Dtype::F32), &h);
    column_sums(cuda, &g, n, Some(gelu), sums)?;
    Ok(h)
}

/// Column sums of g \[m, n\], or of h = g gelu'(before + bias), which is then written, at an address or added to what
/// is there.
fn column_sums(
    cuda: &Cuda,
    g: &Tensor,
    n: usize,
    gelu: Option<(&Tensor, u64, &Tensor)>,
    (sums, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let m = g.len() / n.max(1);
    let stride = gelu.map_or(n, |(before, ..)| before.shape().last().copied().unwrap_or(n));
    let width = if n.is_multiple_of(8) && stride.is_multiple_of(8) { 8 } else { 1 };
    let lanes = n.div_ceil(width).next_power_of_two().min(32);
    let groups = n.div_ceil(lanes * width);
    let (most, rows) = (PIECES * 256 / (lanes * width), 256 / lanes);
    let pieces = (4 * cuda.processors() / groups).clamp(1, most).min(m.div_ceil(rows));
    let partial = Tensor::on_cuda(cuda, &[pieces, n], Dtype::F32)?;
    let name = if gelu.is_some() { "gelu_sums" } else { "sums" };
    let name = format!("{name}_{}_{width}", kind(g.dtype()));
    let (before, bias, h) = gelu.map_or((0, 0, 0), |(u, bias, h)| (u.address(), bias, h.address()));
    let arguments = [
        g.into(),
        before.into(),
        bias.into(),
        h.into(),
        (&partial).into(),
        m.into(),
        n.into(),
        stride.into(),
        lanes.into(),
    ];
    cuda.launch(LINEAR, &name, Grid { blocks: [groups, pieces], ..Grid::of(1, 256) }, &arguments)?;
    let arguments = [(&partial).into(), sums.into(), n.into(), pieces.into(), usize::from(accumulate).into()];
    let grid = Grid::of(n.div_ceil(32), 32 * pieces.min(32));
    cuda.aside(&[&partial], || cuda.launch(LINEAR, "finish_sums", grid, &arguments))
}

/// The table of positions gets the sum over the batch.
pub(crate) fn position_gradient(
    cuda: &Cuda,
    positions: ParamId,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let numbers = flow.params().layout().param(positions).range.len();
    let sums = flow.into().address(positions);
    cuda.aside(&[gradient], || column_sums(cuda, gradient, numbers, None, sums))
}

/// dW += h^T x, beside the main stream.
pub(crate) fn weight_gradient(
    cuda: &Cuda,
    record: &LinearRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let (x, into) = (record.x.value(), flow.into().address(record.layer.weight));
    cuda.aside(&[h, x], || outer_product(cuda, h, x, into))
}

fn outer_product(
    cuda: &Cuda,
    h: &Tensor,
    x: &Tensor,
    (out, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let (n, input) = (h.shape().last().copied().unwrap_or(1), h.dtype());
    let rows = h.len() / n.max(1);
    let k = x.len() / rows.max(1);
    if aligned(n, input) && aligned(k, input) {
        let (m, n, k) = (n, k, rows);
        let shape =
            Shape { kind: Kind::Weight, m, n, k, input, out: Dtype::F32, bias: false, add: accumulate };
        let operands = Operands { left: h.address(), right: x.address(), bias: 0, add: out, out };
        return cuda.product(shape, operands);
    }
    if k <= NARROW {
        return narrow_gradient(cuda, h, x, (out, accumulate), [rows, n, k]);
    }
    let (left, right) = ((h.address(), [1, n]), (x.address(), [1, k]));
    any_product(cuda, [n, k, rows], left, right, 0, (input, out, Dtype::F32), accumulate)
}

/// dW += h^T x for rows of x that are a few numbers long.
fn narrow_gradient(
    cuda: &Cuda,
    h: &Tensor,
    x: &Tensor,
    (into, accumulate): (u64, bool),
    [m, n, k]: [usize; 3],
) -> Result<(), EngineError> {
    let groups = n.div_ceil(128);
    let pieces = (4 * cuda.processors() / groups).clamp(1, 2 * PIECES).min(m);
    let partial = cuda.memory(pieces * n * k * size_of::<f32>())?;
    let arguments = [
        h.into(),
        x.into(),
        into.into(),
        (&partial).into(),
        cuda.counters(groups)?.into(),
        m.into(),
        n.into(),
        k.into(),
        usize::from(accumulate).into(),
    ];
    let grid = Grid { blocks: [groups, pieces], ..Grid::of(1, 128) };
    cuda.launch(LINEAR, &format!("narrow_gradient_{}", kind(h.dtype())), grid, &arguments)
}

/// dx = h W.
pub(crate) fn input_gradient(
    cuda: &Cuda,
    record: &LinearRecord,
    h: &Tensor,
    params: &Params,
) -> Result<Tensor, EngineError> {
    let (n, input) = (h.shape().last().copied().unwrap_or(1), h.dtype());
    let m = h.len() / n.max(1);
    let dx = Tensor::on_cuda(cuda, record.x.shape(), input)?;
    let k = dx.len() / m.max(1);
    let right = params.address(record.layer.weight, input);
    if aligned(n, input) && aligned(k, input) {
        let shape = Shape { kind: Kind::Input, m, n: k, k: n, input, out: input, bias: false, add: false };
        cuda.product(shape, Operands { left: h.address(), right, bias: 0, add: 0, out: dx.address() })?;
    } else {
        any_product(
            cuda,
            [m, k, n],
            (h.address(), [n, 1]),
            (right, [1, k]),
            0,
            (input, dx.address(), input),
            false,
        )?;
    }
    Ok(dx)
}
