//! Images with channels last: pixels, cropping and padding, concatenation.

use super::{
    Cuda,
    kernels::{Grid, OPERATORS},
    kind,
};
use crate::{dtype::Dtype, error::EngineError, ops::add, tensor::Tensor};

/// Images as pixels with their coordinates, rounded to what products take.
pub(crate) fn pixels(
    cuda: &Cuda,
    [batch, c, height, width]: [usize; 4],
    x: &Tensor,
    compute: Dtype,
) -> Result<Tensor, EngineError> {
    let x = add::convert(x.clone(), Dtype::F32)?;
    let out = Tensor::on_cuda(cuda, &[batch, height, width, c + 2], compute)?;
    let count = batch * height * width;
    let arguments = [(&x).into(), (&out).into(), count.into(), c.into(), height.into(), width.into()];
    cuda.launch(OPERATORS, &format!("pixels_{}", kind(compute)), Grid::over(count), &arguments)?;
    Ok(out)
}

/// The most bytes, of these, that rows of all these lengths are whole multiples of.
pub(super) fn unit(lengths: &[usize], dtype: Dtype, sizes: &[usize]) -> usize {
    let fits = |size: &&usize| lengths.iter().all(|length| (length * dtype.size()).is_multiple_of(**size));
    sizes.iter().find(fits).copied().unwrap_or(dtype.size())
}

/// Images cropped or padded.
pub(crate) fn crop_or_pad(cuda: &Cuda, x: &Tensor, shape: &[usize; 4]) -> Result<Tensor, EngineError> {
    let [_, height, width, c] = *shape;
    let bytes = unit(&[c], x.dtype(), &[16, 4]);
    let numbers = bytes / x.dtype().size();
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    let count = out.len() / numbers;
    let arguments = [
        x.into(),
        (&out).into(),
        count.into(),
        x.shape()[1].into(),
        x.shape()[2].into(),
        height.into(),
        width.into(),
        (c / numbers).into(),
    ];
    cuda.launch(OPERATORS, &format!("frame_{bytes}"), Grid::over(count), &arguments)?;
    Ok(out)
}

/// Rows of two matrices side by side, in the precision of the first.
pub(crate) fn concat(cuda: &Cuda, x: &Tensor, y: &Tensor, shape: &[usize]) -> Result<Tensor, EngineError> {
    let y = add::convert(y.clone(), x.dtype())?;
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    side_by_side(cuda, [x, &y], &out, false)?;
    Ok(out)
}

/// Rows cut in two.
pub(crate) fn split(cuda: &Cuda, z: &Tensor, shapes: [&[usize]; 2]) -> Result<[Tensor; 2], EngineError> {
    let [first, second] = shapes.map(|shape| Tensor::on_cuda(cuda, shape, z.dtype()));
    let first = first?;
    let second = second?;
    side_by_side(cuda, [&first, &second], z, true)?;
    Ok([first, second])
}

fn side_by_side(cuda: &Cuda, parts: [&Tensor; 2], whole: &Tensor, back: bool) -> Result<(), EngineError> {
    let [m, n] = parts.map(|part| part.shape().last().copied().unwrap_or(1));
    let bytes = unit(&[m, n], whole.dtype(), &[16, 8, 4]);
    let numbers = bytes / whole.dtype().size();
    let count = whole.len() / numbers;
    let arguments = [
        parts[0].into(),
        parts[1].into(),
        whole.into(),
        count.into(),
        (m / numbers).into(),
        (n / numbers).into(),
        usize::from(back).into(),
    ];
    cuda.launch(OPERATORS, &format!("join_{bytes}"), Grid::over(count), &arguments)
}
