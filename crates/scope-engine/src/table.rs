//! Images that stay on a device, and batches gathered from them.

use crate::{
    device::{Device, kernel},
    dtype::Dtype,
    error::{EngineError, require_shape},
    noise::RowNoise,
    tensor::Tensor,
};

/// A table of images on one device: \[images, channels, height, width\].
#[derive(Clone, Debug)]
pub struct ImageTable {
    images: Tensor,
}

/// Which images a batch has, what is seen of them, and a weight for each of their channels; one tensor, so that one
/// small copy brings a device its next batch.
///
/// Words: \[batch\] indices of images, \[batch, channels\] weights, \[batch, channels, 4\] noise, \[batch, channels,
/// pixels / 32\] masks, a bit a pixel, lowest first, and \[batch, pixels / 32\] the pixels that are exact in noisy rows
/// too.
#[derive(Clone, Debug)]
pub struct Selection {
    pub(crate) words: Tensor,
    pub(crate) batch: usize,
    pub(crate) channels: usize,
    pub(crate) pixels: usize,
}

/// The batch that a selection is changed to.
#[derive(Clone, Copy, Debug)]
pub struct SelectedBatch<'a> {
    /// \[batch\]: their indices in the table.
    pub indices: &'a [usize],
    /// \[batch, channels\]: a weight for each of their channels.
    pub weights: &'a [f32],
    /// \[batch, channels, pixels / 64\]: what is seen of them.
    pub masks: &'a [u64],
    /// How readings are off; none are without it.
    pub noise: Option<SelectedNoise<'a>>,
}

/// The noise of a batch.
#[derive(Clone, Copy, Debug)]
pub struct SelectedNoise<'a> {
    /// \[batch, channels\]: of each row.
    pub rows: &'a [RowNoise],
    /// \[batch, pixels / 64\]: the pixels that are exact all the same.
    pub exact: &'a [u64],
}

/// A batch gathered from the table.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// \[batch, channels, height, width\].
    pub images: Tensor,
    /// \[batch, 2 channels, height, width\]: what is seen of each channel, zero elsewhere, and its mask; of noisy
    /// readings both are times the row's weight, as in [`RowNoise::reading`].
    pub seen: Tensor,
    /// The same contexts with everything seen.
    pub complete: Tensor,
    /// \[batch, channels\].
    pub weights: Tensor,
}

impl Selection {
    /// Room for batches of a table, the first image with nothing seen in every place.
    pub fn new(table: &ImageTable, batch: usize) -> Result<Self, EngineError> {
        let channels = table.images.shape()[1];
        let pixels = table.pixels();
        let count = batch * (1 + channels * (1 + NOISE_WORDS) + (channels + 1) * pixels / 32);
        let words = Tensor::from_slice(table.images.device(), &[count], &vec![0.0_f32; count])?;
        Ok(Self { words, batch, channels, pixels })
    }

    /// Selects another batch in the same memory.
    pub fn change(&mut self, choice: &SelectedBatch) -> Result<(), EngineError> {
        let SelectedBatch { indices, weights, masks, noise } = *choice;
        let columns = self.batch * self.channels;
        let pixels = self.pixels / 64;
        let got = [indices.len(), weights.len(), masks.len()];
        require_shape("a selection", "its batch", &got, &[self.batch, columns, columns * pixels])?;
        let mut rows = vec![RowNoise::NONE; columns];
        let mut exact = vec![0; self.batch * pixels];
        if let Some(noise) = noise {
            let got = [noise.rows.len(), noise.exact.len()];
            require_shape("a selection", "its noise", &got, &[rows.len(), exact.len()])?;
            rows.copy_from_slice(noise.rows);
            exact.copy_from_slice(noise.exact);
        }
        let numbers = indices.iter().map(|index| *index as u32);
        let bits = masks.iter().chain(&exact).flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        let words: Vec<f32> = numbers
            .map(f32::from_bits)
            .chain(weights.iter().copied())
            .chain(rows.iter().flat_map(RowNoise::words))
            .chain(bits.map(f32::from_bits))
            .collect();
        self.words.overwrite(&words)
    }
}

/// Words of a row's noise.
pub(crate) const NOISE_WORDS: usize = 4;
/// About so many numbers are brought to a GPU together.
const PIECE: usize = 8 << 20;

impl ImageTable {
    /// Copies images to a device; the pixels of each must be a multiple of 64. `read` gives them piece by piece, told
    /// the first image of each: to a GPU they come through main memory without ever being there together.
    pub fn new<E: From<EngineError>>(
        device: &Device,
        shape: [usize; 4],
        mut read: impl FnMut(usize, &mut [f32]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let [count, channels, height, width] = shape;
        if !(height * width).is_multiple_of(64) {
            return Err(EngineError::shape("a table", "its images", "a multiple of 64 pixels", &shape).into());
        }
        let each = channels * height * width;
        match device {
            Device::Cpu(_) => {
                let mut images = vec![0.0; count * each];
                read(0, &mut images)?;
                Ok(Self { images: Tensor::from_slice(device, &shape, &images)? })
            }
            Device::Cuda(cuda) => {
                let images = Tensor::on_cuda(cuda, &shape, Dtype::F32)?;
                let together = (PIECE / each.max(1)).max(1);
                let mut piece = Vec::new();
                for first in (0..count).step_by(together) {
                    piece.resize(together.min(count - first) * each, 0.0);
                    read(first, &mut piece)?;
                    images.write_on_cuda(cuda, first * each, &piece)?;
                }
                Ok(Self { images })
            }
        }
    }

    /// Gathers a batch.
    pub fn gather(&self, selection: &Selection) -> Result<Gathered, EngineError> {
        let shape = self.images.shape();
        let expected = [shape[1], self.pixels()];
        require_shape("gather", "the selection", &[selection.channels, selection.pixels], &expected)?;
        kernel!(self.images.device(), table::gather(&self.images, selection))
    }

    fn pixels(&self) -> usize {
        self.images.shape()[2..].iter().product()
    }
}
