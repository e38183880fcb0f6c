//! Products in bf16 whose rows the library does not take as they are: they are padded with zeros first.

use super::{
    Cuda,
    gemm::{Kind, Operands, Shape},
    kernels::{Grid, UNALIGNED},
    linear::finish,
};
use crate::{dtype::Dtype, error::EngineError, tensor::Tensor};

/// The library takes rows of a multiple of so many numbers.
const NUMBERS: usize = 8;

/// The length of such rows.
pub(crate) fn padded(length: usize) -> usize {
    length.next_multiple_of(NUMBERS)
}

/// Numbers that are copied at once, given the shorter of two rows.
fn unit(length: usize) -> usize {
    1 << length.trailing_zeros().min(2)
}

/// Rows of `n` numbers of bf16 with zeros behind them, or the first `n` numbers of longer rows.
pub(super) fn with_last(cuda: &Cuda, x: &Tensor, n: usize) -> Result<Tensor, EngineError> {
    let before = x.shape().last().copied().unwrap_or(1);
    if before == n {
        return Ok(x.clone());
    }
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = n;
    }
    let out = Tensor::on_cuda(cuda, &shape, x.dtype())?;
    let (name, short, long) = if before < n { ("fill", before, n) } else { ("cut", n, before) };
    let unit = unit(short);
    let count = x.len() / before.max(1) * (long / NUMBERS);
    let arguments = [x.into(), (&out).into(), count.into(), (short / unit).into(), (long / unit).into()];
    cuda.launch(UNALIGNED, &format!("{name}_{unit}"), Grid::over(count), &arguments)?;
    Ok(out)
}

/// A matrix at an address, padded with zeros on both sides.
fn corner(cuda: &Cuda, at: u64, [rows, columns]: [usize; 2]) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, &[padded(rows), padded(columns)], Dtype::Bf16)?;
    let arguments =
        [at.into(), (&out).into(), rows.into(), columns.into(), padded(rows).into(), padded(columns).into()];
    cuda.launch(UNALIGNED, "corner", Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// Rows of `length` numbers padded, unless they are already.
fn rows(cuda: &Cuda, x: &Tensor, length: usize) -> Result<Tensor, EngineError> {
    if x.shape().last() == Some(&padded(length)) {
        return Ok(x.clone());
    }
    with_last(cuda, &x.reshape(&[x.len() / length.max(1), length])?, padded(length))
}

fn product(
    cuda: &Cuda,
    kind: Kind,
    [m, n, k]: [usize; 3],
    [left, right]: [&Tensor; 2],
    out: &Tensor,
) -> Result<(), EngineError> {
    let input = left.dtype();
    let dtype = out.dtype();
    let shape = Shape { kind, m, n, k, input, out: dtype, bias: false, add: false, period: 0 };
    let left = left.address();
    let right = right.address();
    cuda.product(shape, Operands { left, right, bias: 0, add: 0, out: out.address() })
}

/// y \[m, n\] = x \[m, k\] W \[n, k\]^T (+ b) (+ added), the last two of f32.
pub(super) fn forward(
    cuda: &Cuda,
    x: &Tensor,
    (weight, [n, k]): (u64, [usize; 2]),
    bias: Option<u64>,
    added: Option<&Tensor>,
    y: &Tensor,
) -> Result<(), EngineError> {
    let m = y.len() / n.max(1);
    let x = rows(cuda, x, k)?;
    let weight = corner(cuda, weight, [n, k])?;
    let whole = padded(n) == n;
    let u = if whole { y.reshape(&[m, n])? } else { Tensor::on_cuda(cuda, &[m, padded(n)], y.dtype())? };
    product(cuda, Kind::Forward, [m, padded(n), padded(k)], [&x, &weight], &u)?;
    if whole && bias.is_none() && added.is_none() {
        return Ok(());
    }
    finish(cuda, &u, bias, added.map(|added| (added.address(), 0)), None, &y.reshape(&[m, n])?)
}

/// dx \[m, n\] = h \[m, k\] W \[k, n\]; the rows of dx may be those padded.
pub(super) fn input(
    cuda: &Cuda,
    h: &Tensor,
    (weight, [k, n]): (u64, [usize; 2]),
    dx: &Tensor,
) -> Result<(), EngineError> {
    let h = rows(cuda, h, k)?;
    let weight = corner(cuda, weight, [k, n])?;
    let m = h.len() / padded(k);
    if dx.shape().last() == Some(&padded(n)) {
        return product(cuda, Kind::Input, [m, padded(n), padded(k)], [&h, &weight], dx);
    }
    let dx = dx.reshape(&[m, n])?;
    let wide = Tensor::on_cuda(cuda, &[m, padded(n)], dx.dtype())?;
    product(cuda, Kind::Input, [m, padded(n), padded(k)], [&h, &weight], &wide)?;
    finish(cuda, &wide, None, None, None, &dx)
}

/// dW \[n, k\] = h \[m, n\]^T x \[m, k\], added to what is there if asked.
pub(super) fn weight(
    cuda: &Cuda,
    h: &Tensor,
    x: &Tensor,
    [n, k]: [usize; 2],
    (into, accumulate): (u64, bool),
) -> Result<(), EngineError> {
    let h = rows(cuda, h, n)?;
    let x = rows(cuda, x, k)?;
    let m = h.len() / padded(n);
    let all = Tensor::on_cuda(cuda, &[padded(n), padded(k)], Dtype::F32)?;
    product(cuda, Kind::Weight, [padded(n), padded(k), m], [&h, &x], &all)?;
    let arguments =
        [(&all).into(), into.into(), n.into(), k.into(), padded(k).into(), usize::from(accumulate).into()];
    cuda.launch(UNALIGNED, "from_corner", Grid::over(n * k), &arguments)
}
