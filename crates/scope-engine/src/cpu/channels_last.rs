//! Images with channels last, taken apart and put together.

use super::{Cpu, Real};
use crate::{dtype::Dtype, error::EngineError, tensor::Tensor};

/// Images \[batch, c, height, width\] as pixels with their coordinates.
pub(crate) fn pixels(cpu: &Cpu, sizes: [usize; 4], x: &Tensor, _: Dtype) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, pixels_in(cpu, sizes, x)))
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
                out[c] = place(row, height);
                out[c + 1] = place(column, width);
            }
        });
    })
}

/// Images cropped or padded, with zeros where they have no pixel.
pub(crate) fn crop_or_pad(cpu: &Cpu, x: &Tensor, shape: &[usize; 4]) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, crop_or_pad_in(cpu, x, shape)))
}

fn crop_or_pad_in<R: Real>(cpu: &Cpu, x: &Tensor, shape: &[usize; 4]) -> Tensor {
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

/// Rows of two matrices side by side.
pub(crate) fn concat(cpu: &Cpu, x: &Tensor, y: &Tensor, shape: &[usize]) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, concat_in(cpu, x, y, shape)))
}

fn concat_in<R: Real>(cpu: &Cpu, x: &Tensor, y: &Tensor, shape: &[usize]) -> Tensor {
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
pub(crate) fn split(cpu: &Cpu, z: &Tensor, shapes: [&[usize]; 2]) -> Result<[Tensor; 2], EngineError> {
    Ok(for_dtype!(z, split_in(cpu, z, shapes)))
}

fn split_in<R: Real>(cpu: &Cpu, z: &Tensor, shapes: [&[usize]; 2]) -> [Tensor; 2] {
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
