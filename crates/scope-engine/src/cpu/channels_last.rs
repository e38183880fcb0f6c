//! Images with channels last, taken apart and put together.

use super::{Cpu, Real};
use crate::{dtype::Dtype, ops::Windows, tensor::Tensor};

/// Images \[batch, c, height, width\] as pixels with their coordinates.
pub(crate) fn pixels(cpu: &Cpu, sizes: [usize; 4], x: &Tensor) -> Tensor {
    for_kind!(x, pixels_in(cpu, sizes, x))
}

fn pixels_in<R: Real>(cpu: &Cpu, [batch, c, height, width]: [usize; 4], x: &Tensor) -> Tensor {
    let x = x.cpu::<R>();
    let place = |k: usize, length: usize| R::of(k as f64 / (length - 1) as f64);
    Tensor::compute::<R>(cpu, &[batch, height, width, c + 2], |out| {
        cpu.for_pieces(out, width * (c + 2), |line, out| {
            let sample = line / height;
            let row = line % height;
            for (column, out) in out.chunks_mut(c + 2).enumerate() {
                for (channel, out) in out[..c].iter_mut().enumerate() {
                    *out = x[((sample * c + channel) * height + row) * width + column];
                }
                (out[c], out[c + 1]) = (place(row, height), place(column, width));
            }
        });
    })
}

/// Images in another frame, with zeros where they have no pixel.
pub(crate) fn crop_or_pad(cpu: &Cpu, x: &Tensor, shape: &[usize; 4]) -> Tensor {
    for_kind!(x, frame_in(cpu, x, shape))
}

fn frame_in<R: Real>(cpu: &Cpu, x: &Tensor, shape: &[usize; 4]) -> Tensor {
    let [_, height, width, c] = *shape;
    let high = x.shape()[1];
    let wide = x.shape()[2];
    let x = x.cpu::<R>();
    Tensor::compute::<R>(cpu, shape, |out| {
        cpu.for_pieces(out, width * c, |line, out| {
            let sample = line / height;
            let row = line % height;
            out.fill(R::default());
            if row < high {
                let common = wide.min(width) * c;
                out[..common].copy_from_slice(&x[(sample * high + row) * wide * c..][..common]);
            }
        });
    })
}

/// What each window sees.
pub(crate) fn im2col(cpu: &Cpu, windows: Windows, x: &Tensor) -> Tensor {
    for_kind!(x, windows_in(cpu, windows, x))
}

fn windows_in<R: Real>(cpu: &Cpu, windows: Windows, x: &Tensor) -> Tensor {
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
pub(crate) fn col2im(cpu: &Cpu, windows: Windows, dy: &Tensor) -> Tensor {
    for_kind!(dy, windows_back_in(cpu, windows, dy))
}

fn windows_back_in<R: Real>(cpu: &Cpu, windows: Windows, dy: &Tensor) -> Tensor {
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

/// Rows of two matrices side by side.
pub(crate) fn concat(cpu: &Cpu, x: &Tensor, y: &Tensor, shape: &[usize]) -> Tensor {
    for_kind!(x, join_in(cpu, x, y, shape))
}

fn join_in<R: Real>(cpu: &Cpu, x: &Tensor, y: &Tensor, shape: &[usize]) -> Tensor {
    let last = |shape: &[usize]| shape.last().copied().unwrap_or(1);
    let m = last(x.shape());
    let n = last(y.shape());
    let x = x.cpu::<R>();
    let y = y.cpu::<R>();
    Tensor::compute::<R>(cpu, shape, |out| {
        cpu.for_pieces(out, m + n, |row, out| {
            out[..m].copy_from_slice(&x[row * m..][..m]);
            out[m..].copy_from_slice(&y[row * n..][..n]);
        });
    })
}

/// Rows cut in two.
pub(crate) fn split(cpu: &Cpu, z: &Tensor, shapes: [&[usize]; 2]) -> [Tensor; 2] {
    for_kind!(z, part_in(cpu, z, shapes))
}

fn part_in<R: Real>(cpu: &Cpu, z: &Tensor, shapes: [&[usize]; 2]) -> [Tensor; 2] {
    let widths = shapes.map(|shape| shape.last().copied().unwrap_or(1));
    let z = z.cpu::<R>();
    let from = |which: usize| {
        let start = which * widths[0];
        let width = widths[which];
        Tensor::compute::<R>(cpu, shapes[which], |out| {
            cpu.for_pieces(out, width, |row, out| {
                out.copy_from_slice(&z[row * (widths[0] + widths[1]) + start..][..width]);
            });
        })
    };
    [from(0), from(1)]
}
