//! Batches gathered from a table of images.

use super::Cpu;
use crate::{
    error::EngineError,
    noise::RowNoise,
    table::{Gathered, NOISE_WORDS, Selection},
    tensor::Tensor,
};

/// The batch that a selection names.
pub(crate) fn gather(cpu: &Cpu, images: &Tensor, selection: &Selection) -> Result<Gathered, EngineError> {
    let Selection { batch, channels, pixels, .. } = *selection;
    let words = selection.words.cpu::<f32>();
    let (indices, rest) = words.split_at(batch);
    let (weights, rest) = rest.split_at(batch * channels);
    let (noise, rest) = rest.split_at(batch * channels * NOISE_WORDS);
    let (bits, exact) = rest.split_at(batch * channels * pixels / 32);
    let table = images.cpu::<f32>();
    let image = |row: usize| {
        let index = indices[row / channels].to_bits() as usize;
        &table[(index * channels + row % channels) * pixels..][..pixels]
    };
    let is_set = |bits: &[f32], row: usize, pixel: usize| {
        bits[row * pixels / 32 + pixel / 32].to_bits() >> (pixel % 32) & 1 == 1
    };
    let shape = |channels: usize| [batch, channels, images.shape()[2], images.shape()[3]];
    let rows = |channels, fill: &(dyn Fn(usize, &mut [f32]) + Sync), each: usize| {
        Tensor::compute::<f32>(cpu, &shape(channels), |out| cpu.for_pieces(out, each, fill))
    };
    Ok(Gathered {
        images: rows(channels, &|row, out| out.copy_from_slice(image(row)), pixels),
        seen: rows(
            2 * channels,
            &|row, out| {
                let noise = RowNoise::from_words(&noise[row * NOISE_WORDS..][..NOISE_WORDS]);
                let (values, mask) = out.split_at_mut(pixels);
                for (pixel, (value, mask)) in values.iter_mut().zip(mask).enumerate() {
                    let noise = if is_set(exact, row / channels, pixel) { RowNoise::NONE } else { noise };
                    let whole = image(row)[pixel];
                    [*value, *mask] = if is_set(bits, row, pixel) {
                        noise.reading(pixel, whole)
                    } else {
                        // A zero has the same sign on a GPU.
                        [0.0 * whole, 0.0]
                    };
                }
            },
            2 * pixels,
        ),
        complete: rows(
            2 * channels,
            &|row, out| {
                let (values, mask) = out.split_at_mut(pixels);
                values.copy_from_slice(image(row));
                mask.fill(1.0);
            },
            2 * pixels,
        ),
        weights: Tensor::compute::<f32>(cpu, &[batch, channels], |out| out.copy_from_slice(weights)),
    })
}
