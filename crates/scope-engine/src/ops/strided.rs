//! Convolutions with a stride: linear layers on what windows see.

use crate::{
    cuda,
    device::{Device, kernel},
    dtype::Dtype,
    error::{EngineError, require_shape},
    ops::{Epilogue, Linear, add},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// The sizes of windows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) batch: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    /// The side of a window, odd.
    pub(crate) side: usize,
    /// The distance from one window to the next.
    pub(crate) stride: usize,
    /// Numbers in the row of a window: side side c, and zeros behind them where a GPU's library wants longer rows.
    pub(crate) row: usize,
}

impl Windows {
    /// The shape of what all windows see.
    pub(crate) fn shape(&self) -> [usize; 4] {
        [self.batch, self.height / self.stride, self.width / self.stride, self.row]
    }
}

struct Im2colRecord {
    windows: Windows,
    x: Var,
}

impl Tape<'_> {
    /// y\[b, i, j, o\] = bias\[o\] + sum over k, l, c of W\[o, k, l, c\] x\[b, s i + k - p, s j + l - p, c\] with a
    /// stride s and p = (side - 1) / 2, x being zero beyond the edge; then the epilogue.
    ///
    /// # Shapes
    /// x \[batch, height, width, c\], W \[o, side, side, c\], y \[batch, height / s, width / s, o\].
    pub fn strided_conv(
        &self,
        x: &Var,
        layer: Linear,
        stride: usize,
        epilogue: Epilogue<'_>,
    ) -> Result<Var, EngineError> {
        let weight = &self.params().layout().param(layer.weight).shape;
        let (&[batch, height, width, channels], &[o, side, ..]) = (x.shape(), &weight[..]) else {
            return Err(misshapen(x, stride));
        };
        require_shape("a convolution with a stride", "the weight", weight, &[o, side, side, channels])?;
        let whole = |length: usize| length.is_multiple_of(stride);
        if side % 2 == 0 || stride == 0 || !whole(height) || !whole(width) {
            return Err(misshapen(x, stride));
        }
        let x = add::for_product(self, x)?;
        let row = row_length(x.value(), side * side * channels);
        let seen = self.im2col(x, Windows { batch, height, width, channels, side, stride, row })?;
        self.linear_on_rows(&seen, layer, epilogue)
    }

    fn im2col(&self, x: Var, windows: Windows) -> Result<Var, EngineError> {
        let value = kernel!(self.device(), im2col::im2col(windows, x.value()))?;
        let tracked = x.node().is_some();
        Ok(self.push(value, tracked, || Box::new(Im2colRecord { windows, x })))
    }
}

/// How long the rows are that a device makes of so many numbers.
fn row_length(x: &Tensor, features: usize) -> usize {
    match x.device() {
        Device::Cpu(_) => features,
        Device::Cuda(_) if x.dtype() == Dtype::Bf16 => cuda::unaligned::padded(features),
        Device::Cuda(_) => features,
    }
}

fn misshapen(x: &Var, stride: usize) -> EngineError {
    EngineError::shape(
        "a convolution with a stride",
        "the image",
        format!("[batch, height, width, channels] with sides a multiple of {stride}, and an odd window"),
        x.shape(),
    )
}

/// Every pixel gets the sum over the windows that saw it.
impl Record for Im2colRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx = kernel!(gradient.device(), im2col::col2im(self.windows, &gradient))?;
        flow.give(&self.x, dx)
    }
}
