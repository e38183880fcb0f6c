//! Linear layers: the library's products, with biases, GELU and sums over rows by kernels of our own.

use super::{
    Cuda,
    column_sums::{Summand, add_up, block_sums, column_sums},
    fused_product::{Fused, FusedWith},
    gemm::{Kind, Operands, Shape},
    kernels::{GEMM, Grid, LINEAR},
    kind,
    layer_norm::bias_sums,
    unaligned,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{Epilogue, Linear, LinearRecord, add},
    params::{ParamId, Params},
    tape::{Flow, Tape, Var},
    tensor::Tensor,
};

/// Rows of at most this many numbers have kernels of their own.
const NARROW: usize = 8;
/// Their weight gradients are summed by at most so many blocks, of which the last adds up what all leave.
const SHARES: usize = 128;
/// From so many rows on, the library is faster even for those.
const MANY: usize = 1 << 18;

/// The layer's value, and the slope of GELU if the tape wants it.
pub(crate) fn forward(
    cuda: &Cuda,
    tape: &Tape<'_>,
    layer: Linear,
    x: &Var,
    epilogue: Epilogue<'_>,
    shape: &[usize],
) -> Result<(Tensor, Option<Tensor>), EngineError> {
    let x = x.value();
    let params = tape.params();
    let compute = tape.compute();
    let product = |out: Dtype, bias: Option<ParamId>, residual: Option<&Tensor>| {
        let y = Tensor::on_cuda(cuda, shape, out)?;
        Product { params, weight: layer.weight, bias, residual }.write(cuda, x, &y)?;
        Ok::<_, EngineError>(y)
    };
    Ok(match epilogue {
        Epilogue::Plain => (product(compute, Some(layer.bias), None)?, None),
        Epilogue::Wide => (product(Dtype::F32, Some(layer.bias), None)?, None),
        Epilogue::Add(value) => {
            let value = value.value();
            (product(value.dtype(), Some(layer.bias), Some(value))?, None)
        }
        Epilogue::AddRows(rows) => (add_rows(cuda, params, layer, x, rows, shape)?, None),
        Epilogue::Gelu => gelu(cuda, tape, layer, x, shape)?,
    })
}

/// A layer plus a table of rows again and again: in the product where that is faster.
fn add_rows(
    cuda: &Cuda,
    params: &Params,
    layer: Linear,
    x: &Tensor,
    rows: ParamId,
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    let y = Tensor::on_cuda(cuda, shape, Dtype::F32)?;
    let n = shape.last().copied().unwrap_or(1);
    let m = y.len() / n.max(1);
    let k = x.len() / m.max(1);
    let input = x.dtype();
    let out = Dtype::F32;
    let table = params.address(rows, out);
    let numbers = params.layout().param(rows).range.len();
    let period = numbers / n.max(1);
    let together = || {
        let shape = Shape { kind: Kind::Forward, m, n, k, input, out, bias: true, add: true, period };
        let left = x.address();
        let right = params.address(layer.weight, input);
        let bias = params.address(layer.bias, out);
        cuda.product(shape, Operands { left, right, bias, add: table, out: y.address() })
    };
    let apart = || {
        Product { params, weight: layer.weight, bias: Some(layer.bias), residual: None }
            .write(cuda, x, &y)?;
        finish(cuda, &y, None, Some((table, numbers)), None, &y)
    };
    let possible = aligned(k, input) && aligned(n, input) && m.is_multiple_of(period.max(1));
    if possible && cuda.faster(&format!("AddRows {m} {n} {k} {input} every {period}"), together, apart)? {
        together()?;
    } else {
        apart()?;
    }
    Ok(y)
}

/// GELU of a layer, and its slope if the tape wants it: in the product's epilogue where that is faster.
fn gelu(
    cuda: &Cuda,
    tape: &Tape<'_>,
    layer: Linear,
    x: &Tensor,
    shape: &[usize],
) -> Result<(Tensor, Option<Tensor>), EngineError> {
    let params = tape.params();
    let compute = tape.compute();
    let y = Tensor::on_cuda(cuda, shape, compute)?;
    let slope = tape.is_recording().then(|| Tensor::on_cuda(cuda, shape, compute)).transpose()?;
    let bias = params.address(layer.bias, Dtype::F32);
    let n = shape.last().copied().unwrap_or(1);
    let m = y.len() / n.max(1);
    let with = if slope.is_some() { FusedWith::GeluAndSlope } else { FusedWith::Gelu };
    let fused = Fused { m, n, k: row(params, layer.weight), with };
    let together = || {
        let factors = [x.address(), params.address(layer.weight, compute), bias];
        fused.gelu(cuda, factors, &y, slope.as_ref())
    };
    let apart = || {
        // The product stands where the slope will, or GELU itself.
        let before = slope.as_ref().unwrap_or(&y);
        Product { params, weight: layer.weight, bias: None, residual: None }.write(cuda, x, before)?;
        finish(cuda, before, Some(bias), None, Some(slope.as_ref()), &y)
    };
    if fused.possible(cuda, compute) && fused.wanted(cuda, together, apart)? {
        together()?;
    } else {
        apart()?;
    }
    Ok((y, slope))
}

/// Numbers in a row of a weight. Rows of what it is multiplied with may have been padded with zeros beyond them.
fn row(params: &Params, weight: ParamId) -> usize {
    let param = params.layout().param(weight);
    param.range.len() / param.shape[0].max(1)
}

/// Whether the library takes a matrix with rows of this length.
pub(super) fn aligned(length: usize, dtype: Dtype) -> bool {
    (length * dtype.size()).is_multiple_of(16)
}

/// The product of a layer: x W^T, with a bias and a residual if there are.
struct Product<'a> {
    params: &'a Params,
    weight: ParamId,
    bias: Option<ParamId>,
    residual: Option<&'a Tensor>,
}

impl Product<'_> {
    /// y = x W^T (+ b) (+ residual).
    fn write(&self, cuda: &Cuda, x: &Tensor, y: &Tensor) -> Result<(), EngineError> {
        let Self { params, weight, bias, residual } = *self;
        let n = params.layout().param(weight).shape[0];
        let m = y.len() / n.max(1);
        let k = row(params, weight);
        let input = x.dtype();
        let out = y.dtype();
        let right = params.address(weight, input);
        if aligned(k, input) && aligned(n, input) {
            let bias_at = bias.map(|id| params.address(id, out));
            let add = residual.map(Tensor::address);
            let shape = Shape {
                kind: Kind::Forward,
                m,
                n,
                k,
                input,
                out,
                bias: bias.is_some(),
                add: add.is_some(),
                period: 0,
            };
            let left = x.address();
            let bias = bias_at.unwrap_or(0);
            let add = add.unwrap_or(0);
            return cuda.product(shape, Operands { left, right, bias, add, out: y.address() });
        }
        let residual = residual.map(|residual| add::convert(residual.clone(), Dtype::F32)).transpose()?;
        if input == Dtype::Bf16 && (k > NARROW || m >= MANY || x.len() > m * k) {
            let bias = bias.map(|id| params.address(id, Dtype::F32));
            return unaligned::forward(cuda, x, (right, [n, k]), bias, residual.as_ref(), y);
        }
        let bias = bias.map_or(0, |id| params.address(id, Dtype::F32));
        let added = residual.as_ref().map_or(0, Tensor::address);
        if k <= NARROW {
            let name = format!("narrow_product_{}_{}", kind(input), kind(out));
            let arguments = [
                x.into(),
                right.into(),
                bias.into(),
                added.into(),
                y.into(),
                y.len().into(),
                n.into(),
                k.into(),
            ];
            return cuda.launch(LINEAR, &name, Grid::over(y.len()), &arguments);
        }
        let shape =
            Shape { kind: Kind::Forward, m, n, k, input, out, bias: bias != 0, add: false, period: 0 };
        let operands = Operands { left: x.address(), right, bias, add: 0, out: y.address() };
        any_product(cuda, shape, operands)?;
        match residual {
            Some(_) => finish(cuda, y, None, Some((added, 0)), None, y),
            None => Ok(()),
        }
    }
}

/// A product of any sizes by a plain kernel. What is added to it, if anything, is what stands where it goes.
pub(super) fn any_product(cuda: &Cuda, shape: Shape, operands: Operands) -> Result<(), EngineError> {
    let Shape { kind: which, m, n, k, input, out, add: accumulate, .. } = shape;
    let [[left_row, left_step], [right_row, right_step]] = which.strides([m, n, k]);
    let name = format!("product_{}_{}", kind(input), kind(out));
    let arguments = [
        operands.left.into(),
        operands.right.into(),
        operands.bias.into(),
        operands.out.into(),
        m.into(),
        n.into(),
        k.into(),
        left_row.into(),
        left_step.into(),
        right_row.into(),
        right_step.into(),
        usize::from(accumulate).into(),
    ];
    let blocks = [m.div_ceil(16), n.div_ceil(16)];
    cuda.launch(GEMM, &name, Grid { blocks, ..Grid::of(1, 256) }, &arguments)
}

/// out = f(u + bias) + added, f being nothing or GELU, whose slope is written too if there is a tensor for it. `u` may
/// have longer rows than `out`; what is added has the shape of `out`, or repeats after a number of elements that is not
/// zero. `out` or the slope may be `u`.
pub(super) fn finish(
    cuda: &Cuda,
    u: &Tensor,
    bias: Option<u64>,
    added: Option<(u64, usize)>,
    gelu: Option<Option<&Tensor>>,
    out: &Tensor,
) -> Result<(), EngineError> {
    let last = |tensor: &Tensor| tensor.shape().last().copied().unwrap_or(1);
    let n = last(out);
    let stride = last(u);
    let whole = |width: &usize| n.is_multiple_of(*width) && stride.is_multiple_of(*width);
    let width = [8, 2].into_iter().find(whole).unwrap_or(1);
    let name = if gelu.is_some() { "gelu" } else { "bias" };
    let name = format!("{name}_{}_{}_{width}", kind(u.dtype()), kind(out.dtype()));
    let (added, period) = added.unwrap_or((0, 0));
    let arguments = [
        u.into(),
        bias.unwrap_or(0).into(),
        added.into(),
        out.into(),
        gelu.flatten().map_or(0, Tensor::address).into(),
        out.len().into(),
        n.into(),
        stride.into(),
        period.into(),
    ];
    cuda.launch(LINEAR, &name, Grid::over(out.len() / width), &arguments)
}

/// db += column sums of h, where h = g or g gelu'(W x + b); gives back h, in the precision of the products.
pub(crate) fn bias_gradient(
    cuda: &Cuda,
    record: &LinearRecord,
    gradient: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<Tensor, EngineError> {
    let compute = record.x.value().dtype();
    let Some(slope) = &record.before else {
        return through_gelu(cuda, record.layer, None, gradient, compute, flow);
    };
    let g = add::convert(gradient.clone(), compute)?;
    let sums = flow.into().address(record.layer.bias);
    let (h, partial) = match flow.fusion().take_sloped(&g) {
        Some(sloped) => (g, sloped.column_sums),
        None => times_slope(cuda, &g, slope).map(|(h, partial)| (h, Some(partial)))?,
    };
    match partial {
        Some(partial) => add_up(cuda, &partial, sums)?,
        None => cuda.on_side_stream(&[&h], || column_sums(cuda, &h, Summand::Gradient, sums))?,
    }
    Ok(h)
}

/// h = g slope, and sums of its columns over blocks of rows.
pub(super) fn times_slope(cuda: &Cuda, g: &Tensor, slope: &Tensor) -> Result<(Tensor, Tensor), EngineError> {
    let h = Tensor::on_cuda(cuda, g.shape(), g.dtype())?;
    let n = g.shape().last().copied().unwrap_or(1);
    let partial = block_sums(cuda, g, n, Summand::Slope(slope, &h))?;
    Ok((h, partial))
}

/// As `bias_gradient`, for layers that remember their value before GELU.
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
    let Some(before) = before else {
        match flow.fusion().column_sums_of(&g) {
            Some(partial) if partial.shape().len() == 3 => bias_sums(cuda, &partial, sums)?,
            Some(partial) => add_up(cuda, &partial, sums)?,
            None => cuda.on_side_stream(&[&g], || column_sums(cuda, &g, Summand::Gradient, sums))?,
        }
        return Ok(g);
    };
    let h = Tensor::on_cuda(cuda, g.shape(), compute)?;
    let bias = flow.params().address(layer.bias, Dtype::F32);
    column_sums(cuda, &g, Summand::Gelu(before, bias, &h), sums)?;
    Ok(h)
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
    cuda.on_side_stream(&[gradient], || {
        let partial = block_sums(cuda, gradient, numbers, Summand::Gradient)?;
        add_up(cuda, &partial, sums)
    })
}

/// dW += h^T x, on the side stream.
pub(crate) fn weight_gradient(
    cuda: &Cuda,
    record: &LinearRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let x = record.x.value();
    let k = row(flow.params(), record.layer.weight);
    let into = flow.into().address(record.layer.weight);
    cuda.on_side_stream(&[h, x], || outer_product(cuda, h, (x, k), into))
}

fn outer_product(
    cuda: &Cuda,
    h: &Tensor,
    (x, k): (&Tensor, usize),
    (out, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let n = h.shape().last().copied().unwrap_or(1);
    let input = h.dtype();
    let rows = h.len() / n.max(1);
    let shape = Shape {
        kind: Kind::Weight,
        m: n,
        n: k,
        k: rows,
        input,
        out: Dtype::F32,
        bias: false,
        add: accumulate,
        period: 0,
    };
    let operands = Operands { left: h.address(), right: x.address(), bias: 0, add: out, out };
    if aligned(n, input) && aligned(k, input) {
        return cuda.product(shape, operands);
    }
    if input == Dtype::Bf16 && (k > NARROW || rows >= MANY || x.len() > rows * k) {
        return unaligned::weight(cuda, h, x, [n, k], (out, accumulate));
    }
    if k <= NARROW {
        return narrow_gradient(cuda, h, x, (out, accumulate), [rows, n, k]);
    }
    any_product(cuda, shape, operands)
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
    let pieces = (4 * cuda.multiprocessors() / groups).clamp(1, SHARES).min(m);
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

/// dx = h W, for what x came from. If that was GELU, the product takes its slope along where that is faster.
pub(crate) fn input_gradient(
    cuda: &Cuda,
    record: &LinearRecord,
    h: &Tensor,
    flow: &mut Flow<'_>,
) -> Result<(), EngineError> {
    let x = &record.x;
    let compute = h.dtype();
    let k = h.shape().last().copied().unwrap_or(1);
    let m = h.len() / k.max(1);
    let dx = Tensor::on_cuda(cuda, x.shape(), compute)?;
    let n = row(flow.params(), record.layer.weight);
    let right = flow.params().address(record.layer.weight, compute);
    let fused = Fused { m, n, k, with: FusedWith::TimesSlope };
    let slope = flow.awaiting_slope(x).filter(|slope| slope.shape() == x.shape());
    if let Some(slope) = slope.filter(|_| fused.possible(cuda, compute)) {
        let partial = Tensor::on_cuda(cuda, &[fused.pieces(), n], Dtype::F32)?;
        let together = || fused.times_slope(cuda, [h.address(), right], &slope, &dx, &partial);
        let apart = || {
            product_with(cuda, [m, n, k], h, right, &dx)?;
            times_slope(cuda, &dx, &slope).map(drop)
        };
        if fused.wanted(cuda, together, apart)? {
            together()?;
            flow.fusion().note_sloped(dx.clone(), Some(partial));
            return flow.give(x, dx);
        }
    }
    product_with(cuda, [m, n, k], h, right, &dx)?;
    flow.give(x, dx)
}

/// dx \[m, n\] = h \[m, k\] W \[k, n\].
fn product_with(
    cuda: &Cuda,
    [m, n, k]: [usize; 3],
    h: &Tensor,
    right: u64,
    dx: &Tensor,
) -> Result<(), EngineError> {
    let input = h.dtype();
    let shape = Shape { kind: Kind::Input, m, n, k, input, out: input, bias: false, add: false, period: 0 };
    let operands = Operands { left: h.address(), right, bias: 0, add: 0, out: dx.address() };
    if aligned(k, input) && aligned(n, input) {
        return cuda.product(shape, operands);
    }
    if input == Dtype::Bf16 {
        return unaligned::input(cuda, h, (right, [k, n]), dx);
    }
    any_product(cuda, shape, operands)
}
