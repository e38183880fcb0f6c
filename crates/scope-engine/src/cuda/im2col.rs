//! What windows see of images with channels last.

use super::{
    Cuda,
    channels_last::unit,
    kernels::{Arg, Grid, IM2COL},
    kind,
};
use crate::{error::EngineError, ops::Windows, tensor::Tensor};

/// What each window sees, a row each.
pub(crate) fn im2col(cuda: &Cuda, windows: Windows, x: &Tensor) -> Result<Tensor, EngineError> {
    let Windows { channels, side, row, .. } = windows;
    let out = Tensor::on_cuda(cuda, &windows.shape(), x.dtype())?;
    let filled = row > side * side * channels;
    let bytes = unit(&[channels], x.dtype(), if filled { &[4] } else { &[16, 4] });
    let numbers = bytes / x.dtype().size();
    // Rows that are padded are written 16 bytes at a time, whatever is read.
    let written = if filled { 16 / x.dtype().size() } else { numbers };
    let count = out.len() / written;
    let mut arguments = arguments(windows, numbers, x, &out, count);
    if filled {
        arguments.push((row / written).into());
    }
    let name = if filled { format!("filled_windows_{bytes}") } else { format!("windows_{bytes}") };
    cuda.launch(IM2COL, &name, Grid::over(count), &arguments)?;
    Ok(out)
}

/// Sums over the windows that saw a pixel.
pub(crate) fn col2im(cuda: &Cuda, windows: Windows, dy: &Tensor) -> Result<Tensor, EngineError> {
    let Windows { batch, height, width, channels, row, .. } = windows;
    let vector = if channels.is_multiple_of(8) { 8 } else { 1 };
    let out = Tensor::on_cuda(cuda, &[batch, height, width, channels], dy.dtype())?;
    let mut arguments = arguments(windows, 1, dy, &out, out.len());
    arguments.push(row.into());
    let name = format!("windows_back_{}_{vector}", kind(dy.dtype()));
    cuda.launch(IM2COL, &name, Grid::over(out.len() / vector), &arguments)?;
    Ok(out)
}

/// What all kernels of windows are told, with channels in units of so many numbers.
fn arguments(windows: Windows, unit: usize, from: &Tensor, to: &Tensor, count: usize) -> Vec<Arg> {
    let Windows { height, width, channels, side, stride, .. } = windows;
    let sizes = [count, height, width, channels / unit, side, stride];
    [from.into(), to.into()].into_iter().chain(sizes.map(Arg::from)).collect()
}
