//! Records that stay on a device, and batches gathered from them.

use crate::{
    cpu,
    device::Device,
    error::{EngineError, require_shape},
    tensor::Tensor,
};
#[cfg(not(target_arch = "wasm32"))]
use crate::{cuda, dtype::Dtype};

/// A table of images on one device: \[records, channels, height, width\].
#[derive(Clone, Debug)]
pub struct Table {
    images: Tensor,
}

/// Which records a batch has, what is seen of them, and a weight for each of their channels; one tensor, so that one
/// small copy brings a device its next batch.
///
/// Words: \[batch\] record numbers, \[batch, channels\] weights, \[batch, channels, pixels / 32\] masks, a bit a
/// pixel, lowest first.
#[derive(Clone, Debug)]
pub struct Selection {
    pub(crate) words: Tensor,
    pub(crate) batch: usize,
    pub(crate) channels: usize,
    pub(crate) pixels: usize,
}

/// A batch.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// \[batch, channels, height, width\].
    pub images: Tensor,
    /// \[batch, 2 channels, height, width\]: what is seen of each channel, zero elsewhere, and its mask.
    pub seen: Tensor,
    /// The same with everything seen.
    pub complete: Tensor,
    /// \[batch, channels\].
    pub weights: Tensor,
}

impl Selection {
    /// Room for batches of a table, the first record of nothing seen in every place.
    pub fn new(table: &Table, batch: usize) -> Result<Self, EngineError> {
        let (channels, pixels) = (table.images.shape()[1], table.pixels());
        let count = batch * (1 + channels + channels * pixels / 32);
        let words = Tensor::from_slice(table.images.device(), &[count], &vec![0.0_f32; count])?;
        Ok(Self { words, batch, channels, pixels })
    }

    /// Another batch: records, weights \[batch, channels\] and masks \[batch, channels, pixels / 64\].
    pub fn change(&mut self, records: &[usize], weights: &[f32], masks: &[u64]) -> Result<(), EngineError> {
        let got = [records.len(), weights.len(), masks.len()];
        let columns = self.batch * self.channels;
        require_shape("a selection", "its batch", &got, &[self.batch, columns, columns * self.pixels / 64])?;
        let numbers = records.iter().map(|record| *record as u32);
        let bits = masks.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        let words: Vec<f32> = numbers
            .map(f32::from_bits)
            .chain(weights.iter().copied())
            .chain(bits.map(f32::from_bits))
            .collect();
        self.words.overwrite(&words)
    }
}

/// About so many numbers are brought to a card together.
const PIECE: usize = 8 << 20;

impl Table {
    /// Copies images to a device; the pixels of each must be a multiple of 64. `read` gives them piece by piece, told the first
    /// record of each: to a card they come through main memory without ever being there together.
    pub fn new<E: From<EngineError>>(
        device: &Device,
        shape: [usize; 4],
        mut read: impl FnMut(usize, &mut [f32]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let [records, channels, height, width] = shape;
        if !(height * width).is_multiple_of(64) {
            let (operation, what) = ("a table", "its images");
            let expected = "a multiple of 64 pixels".to_owned();
            return Err(EngineError::Shape { operation, what, expected, got: shape.to_vec() }.into());
        }
        let each = channels * height * width;
        match device {
            Device::Cpu(_) => {
                let mut images = vec![0.0; records * each];
                read(0, &mut images)?;
                Ok(Self { images: Tensor::from_slice(device, &shape, &images)? })
            }
            #[cfg(not(target_arch = "wasm32"))]
            Device::Cuda(cuda) => {
                let images = Tensor::on_cuda(cuda, &shape, Dtype::F32)?;
                let together = (PIECE / each.max(1)).max(1);
                let mut piece = Vec::new();
                for first in (0..records).step_by(together) {
                    piece.resize(together.min(records - first) * each, 0.0);
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
        match self.images.device() {
            Device::Cpu(cpu) => Ok(cpu::table::gather(cpu, &self.images, selection)),
            #[cfg(not(target_arch = "wasm32"))]
            Device::Cuda(cuda) => cuda::table::gather(cuda, &self.images, selection),
        }
    }

    fn pixels(&self) -> usize {
        self.images.shape()[2..].iter().product()
    }
}
