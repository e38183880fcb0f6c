//! Images with channels last: activations, pixels, windows, joins. A thread a number.

use super::{
    Cuda,
    kernels::{Grid, OPERATORS},
    kind,
};
use crate::{
    dtype::Dtype,
    error::EngineError,
    ops::{Activation, Windows, add},
    tensor::Tensor,
};

/// f(x), number by number.
pub(crate) fn activate(cuda: &Cuda, activation: Activation, x: &Tensor) -> Result<Tensor, EngineError> {
    apply(cuda, activation, x, None)
}

/// dy f'(x), in the precision of x.
pub(crate) fn activate_back(
    cuda: &Cuda,
    activation: Activation,
    x: &Tensor,
    gradient: &Tensor,
) -> Result<Tensor, EngineError> {
    let gradient = add::convert(gradient.clone(), x.dtype())?;
    apply(cuda, activation, x, Some(&gradient))
}

fn apply(
    cuda: &Cuda,
    activation: Activation,
    x: &Tensor,
    gradient: Option<&Tensor>,
) -> Result<Tensor, EngineError> {
    let out = Tensor::on_cuda(cuda, x.shape(), x.dtype())?;
    let (leaky, slope) = match activation {
        Activation::Gelu => (0_usize, 0.0),
        Activation::LeakyRelu(slope) => (1, slope),
    };
    let dy = gradient.map_or(0, Tensor::address);
    let arguments =
        [x.into(), dy.into(), (&out).into(), out.len().into(), leaky.into(), (slope as f32).into()];
    let name = format!("activate_{}", kind(x.dtype()));
    cuda.launch(OPERATORS, &name, Grid::over(out.len().div_ceil(8)), &arguments)?;
    Ok(out)
}

/// Contexts as pixels with their coordinates, rounded to what products take.
pub(crate) fn pixels(
    cuda: &Cuda,
    [batch, c, height, width]: [usize; 4],
    x: &Tensor,
    compute: Dtype,
) -> Result<Tensor, EngineError> {
    let x = add::convert(x.clone(), Dtype::F32)?;
    let out = Tensor::on_cuda(cuda, &[batch, height, width, c + 2], compute)?;
    let arguments = [(&x).into(), (&out).into(), out.len().into(), c.into(), height.into(), width.into()];
    cuda.launch(OPERATORS, &format!("pixels_{}", kind(compute)), Grid::over(out.len()), &arguments)?;
    Ok(out)
}

/// The most bytes, of these, that rows of all these lengths are whole multiples of.
fn unit(lengths: &[usize], dtype: Dtype, sizes: &[usize]) -> usize {
    let fits = |size: &&usize| lengths.iter().all(|length| (length * dtype.size()).is_multiple_of(**size));
    sizes.iter().find(fits).copied().unwrap_or(dtype.size())
}

/// What each window sees.
pub(crate) fn windows(cuda: &Cuda, windows: Windows, x: &Tensor) -> Result<Tensor, EngineError> {
    let bytes = unit(&[windows.channels], x.dtype(), &[16, 4]);
    let numbers = bytes / x.dtype().size();
    let out = Tensor::on_cuda(cuda, &windows.shape(), x.dtype())?;
    let grid = Grid::over(out.len() / numbers);
    see(cuda, &format!("windows_{bytes}"), grid, windows, numbers, x, out)
}

/// Sums over the windows that saw a pixel.
pub(crate) fn windows_back(cuda: &Cuda, windows: Windows, dy: &Tensor) -> Result<Tensor, EngineError> {
    let Windows { batch, height, width, channels, .. } = windows;
    let vector = if channels.is_multiple_of(8) { 8 } else { 1 };
    let name = format!("windows_back_{}_{vector}", kind(dy.dtype()));
    let out = Tensor::on_cuda(cuda, &[batch, height, width, channels], dy.dtype())?;
    see(cuda, &name, Grid::over(out.len() / vector), windows, 1, dy, out)
}

/// Launches a kernel of windows with channels in units of so many numbers.
fn see(
    cuda: &Cuda,
    name: &str,
    grid: Grid,
    windows: Windows,
    unit: usize,
    x: &Tensor,
    out: Tensor,
) -> Result<Tensor, EngineError> {
    let Windows { height, width, channels, side, stride, .. } = windows;
    let arguments = [
        x.into(),
        (&out).into(),
        (out.len() / unit).into(),
        height.into(),
        width.into(),
        (channels / unit).into(),
        side.into(),
        stride.into(),
    ];
    cuda.launch(OPERATORS, name, grid, &arguments)?;
    Ok(out)
}

/// Rows of two matrices side by side, in the precision of the first.
pub(crate) fn join(cuda: &Cuda, x: &Tensor, y: &Tensor, shape: &[usize]) -> Result<Tensor, EngineError> {
    let y = add::convert(y.clone(), x.dtype())?;
    let out = Tensor::on_cuda(cuda, shape, x.dtype())?;
    side_by_side(cuda, [x, &y], &out, false)?;
    Ok(out)
}

/// Rows cut in two.
pub(crate) fn part(cuda: &Cuda, z: &Tensor, shapes: [&[usize]; 2]) -> Result<[Tensor; 2], EngineError> {
    let [first, second] = shapes.map(|shape| Tensor::on_cuda(cuda, shape, z.dtype()));
    let (first, second) = (first?, second?);
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
