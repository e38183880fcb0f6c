//! Numbers moved from one layout to another. Layouts change at full width only: what is rounded is rounded by the
//! products that follow.

use super::{Cpu, Real};
use crate::{
    dtype::{Dtype, Element},
    error::EngineError,
    ops::Patches,
    tensor::Tensor,
};

/// Images \[batch, channels, height, width\] to tokens \[batch, tokens, (channel, row, column)\].
pub(crate) fn patchify(cpu: &Cpu, sizes: Patches, image: &Tensor, _: Dtype) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(image, patchify_in(cpu, sizes, image)))
}

fn patchify_in<R: Real>(cpu: &Cpu, sizes: Patches, image: &Tensor) -> Tensor {
    let features = sizes.channels * sizes.area();
    Tensor::compute::<R>(cpu, &[sizes.batch, sizes.tokens(), features], |out| {
        cpu.for_pieces(out, features, |token, out| {
            for (index, row) in out.chunks_mut(sizes.patch).enumerate() {
                let from = pixel(sizes, token, index);
                row.copy_from_slice(&image.cpu::<R>()[from..from + sizes.patch]);
            }
        });
    })
}

/// Where row `index` = (channel, row) of a token's patch begins in an image with channels first.
fn pixel(sizes: Patches, token: usize, index: usize) -> usize {
    let across = sizes.width / sizes.patch;
    let sample = token / sizes.tokens();
    let place = token % sizes.tokens();
    let channel = index / sizes.patch;
    let row = index % sizes.patch;
    let line = (sample * sizes.channels + channel) * sizes.height + place / across * sizes.patch + row;
    line * sizes.width + place % across * sizes.patch
}

/// Tokens back to an image with channels first.
pub(crate) fn patchify_back(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, patchify_back_in(cpu, sizes, x)))
}

fn patchify_back_in<R: Real>(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Tensor {
    let features = sizes.channels * sizes.area();
    Tensor::compute::<R>(cpu, &[sizes.batch, sizes.channels, sizes.height, sizes.width], |out| {
        for (token, values) in x.cpu::<R>().chunks(features).enumerate() {
            for (index, row) in values.chunks(sizes.patch).enumerate() {
                let to = pixel(sizes, token, index);
                out[to..to + sizes.patch].copy_from_slice(row);
            }
        }
    })
}

/// Tokens \[batch, tokens, (channel, row, column)\] to an image \[batch, height, width, channels\].
pub(crate) fn unpatchify(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, unpatchify_in(cpu, sizes, x)))
}

fn unpatchify_in<R: Real>(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Tensor {
    let Patches { batch, channels, height, width, .. } = sizes;
    let x = x.cpu::<R>();
    Tensor::compute::<R>(cpu, &[batch, height, width, channels], |out| {
        cpu.for_pieces(out, width * channels, |line, out| {
            for (at, value) in out.iter_mut().enumerate() {
                *value = x[feature(sizes, line, at / channels, at % channels)];
            }
        });
    })
}

/// Where a pixel's channel lies among the tokens; `line` counts rows of all samples.
fn feature(sizes: Patches, line: usize, column: usize, channel: usize) -> usize {
    let Patches { channels, height, width, patch, .. } = sizes;
    let sample = line / height;
    let row = line % height;
    let token = sample * sizes.tokens() + row / patch * (width / patch) + column / patch;
    (token * channels + channel) * sizes.area() + row % patch * patch + column % patch
}

/// An image with channels last back to tokens.
pub(crate) fn unpatchify_back(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, unpatchify_back_in(cpu, sizes, x)))
}

fn unpatchify_back_in<R: Real>(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Tensor {
    let Patches { batch, channels, width, .. } = sizes;
    let features = channels * sizes.area();
    Tensor::compute::<R>(cpu, &[batch, sizes.tokens(), features], |out| {
        for (line, pixels) in x.cpu::<R>().chunks(width * channels).enumerate() {
            for (at, value) in pixels.iter().enumerate() {
                out[feature(sizes, line, at / channels, at % channels)] = *value;
            }
        }
    })
}

/// The mean of every second channel over each patch.
pub(crate) fn pool_odd_channels(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Result<Tensor, EngineError> {
    Ok(for_dtype!(x, pool_odd_channels_in(cpu, sizes, x)))
}

fn pool_odd_channels_in<R: Real>(cpu: &Cpu, sizes: Patches, x: &Tensor) -> Tensor {
    let masks = sizes.channels / 2;
    let x = x.cpu::<R>();
    Tensor::compute::<R>(cpu, &[sizes.batch, sizes.tokens(), masks], |out| {
        cpu.for_pieces(out, masks, |token, out| {
            for (mask, mean) in out.iter_mut().enumerate() {
                let mut sum = R::default();
                for row in 0..sizes.patch {
                    let from = pixel(sizes, token, (2 * mask + 1) * sizes.patch + row);
                    sum = x[from..from + sizes.patch].iter().fold(sum, |sum, x| sum + *x);
                }
                *mean = sum / R::of(sizes.area() as f64);
            }
        });
    })
}

/// Each of a batch of matrices \[rows, columns\] transposed.
pub(crate) fn transpose(
    cpu: &Cpu,
    x: &Tensor,
    [rows, columns]: [usize; 2],
    shape: &[usize],
) -> Result<Tensor, EngineError> {
    fn typed<R: Element>(cpu: &Cpu, x: &[R], [rows, columns]: [usize; 2], shape: &[usize]) -> Tensor {
        Tensor::compute::<R>(cpu, shape, |out| {
            cpu.for_pieces(out, rows, |line, out| {
                let matrix = line / columns;
                let column = line % columns;
                let from = &x[matrix * rows * columns..][..rows * columns];
                for (row, out) in out.iter_mut().enumerate() {
                    *out = from[row * columns + column];
                }
            });
        })
    }
    Ok(for_dtype!(x, typed(cpu, x.cpu(), [rows, columns], shape)))
}
