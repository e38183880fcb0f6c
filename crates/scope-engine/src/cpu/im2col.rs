//! What windows see of images, as rows of a matrix, and back.

use super::{Cpu, Real};
use crate::{dtype::Dtype, error::EngineError, ops::Windows, tensor::Tensor};

/// What each window sees.
pub(crate) fn im2col(cpu: &Cpu, windows: Windows, x: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, im2col_in(cpu, windows, x)))
}

fn im2col_in<R: Real>(cpu: &Cpu, windows: Windows, x: &Tensor) -> Tensor {
    let shape = windows.shape();
    let x = x.cpu::<R>();
    let c = windows.channels;
    Tensor::compute::<R>(cpu, &shape, |out| {
        cpu.for_pieces(out, shape[2] * shape[3], |line, out| {
            for (column, out) in out.chunks_mut(shape[3]).enumerate() {
                for (tap, out) in out.chunks_mut(c).enumerate() {
                    match windows.pixel(line, column, tap) {
                        Some(at) => out.copy_from_slice(&x[at * c..][..c]),
                        None => out.fill(R::default()),
                    }
                }
            }
        });
    })
}

impl Windows {
    /// The pixel that tap (row, column) of a window sees; `line` counts rows of windows over all samples.
    fn pixel(&self, line: usize, column: usize, tap: usize) -> Option<usize> {
        let lines = self.height / self.stride;
        let sample = line / lines;
        let row = line % lines;
        let reach = self.side / 2;
        let row = (row * self.stride + tap / self.side).checked_sub(reach).filter(|k| *k < self.height)?;
        let column =
            (column * self.stride + tap % self.side).checked_sub(reach).filter(|k| *k < self.width)?;
        Some((sample * self.height + row) * self.width + column)
    }
}

/// Sums over the windows that saw a pixel.
pub(crate) fn col2im(cpu: &Cpu, windows: Windows, dy: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(dy, col2im_in(cpu, windows, dy)))
}

fn col2im_in<R: Real>(cpu: &Cpu, windows: Windows, dy: &Tensor) -> Tensor {
    let Windows { batch, height, width, channels: c, .. } = windows;
    let [_, lines, columns, features] = windows.shape();
    let dy = dy.cpu::<R>();
    Tensor::compute::<R>(cpu, &[batch, height, width, c], |out| {
        cpu.for_pieces(out, height * width * c, |sample, out| {
            out.fill(R::default());
            let seen = &dy[sample * lines * columns * features..][..lines * columns * features];
            for (place, window) in seen.chunks(features).enumerate() {
                for (tap, part) in window.chunks(c).enumerate() {
                    if let Some(at) = windows.pixel(place / columns, place % columns, tap) {
                        out[at * c..][..c].iter_mut().zip(part).for_each(|(out, part)| *out += *part);
                    }
                }
            }
        });
    })
}
