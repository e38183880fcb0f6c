//! The pixels that a convolution with a stride sees, one window a row.

#[cfg(not(target_arch = "wasm32"))]
use crate::cuda;
use crate::{
    cpu,
    device::Device,
    error::EngineError,
    ops::add,
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
    /// From one window to the next.
    pub(crate) stride: usize,
}

impl Windows {
    /// The shape of what all windows see.
    pub(crate) fn shape(&self) -> [usize; 4] {
        let features = self.side * self.side * self.channels;
        [self.batch, self.height / self.stride, self.width / self.stride, features]
    }
}

struct WindowsRecord {
    windows: Windows,
    x: Var,
}

impl Tape<'_> {
    /// y\[b, i, j, (k, l, c)\] = x\[b, s i + k - p, s j + l - p, c\] with p = (side - 1) / 2, zero beyond the edge: a linear
    /// layer on it, with its weight as \[o, side, side, c\], is a convolution with stride s.
    ///
    /// # Shapes
    /// x \[batch, height, width, c\], y \[batch, height / s, width / s, side side c\].
    pub fn windows(&self, x: &Var, side: usize, stride: usize) -> Result<Var, EngineError> {
        let windows = match *x.shape() {
            [batch, height, width, channels]
                if side % 2 == 1
                    && stride > 0
                    && height.is_multiple_of(stride)
                    && width.is_multiple_of(stride) =>
            {
                Windows { batch, height, width, channels, side, stride }
            }
            _ => {
                let expected = format!("[batch, height, width, channels] with sides a multiple of {stride}");
                let (operation, what, got) = ("windows of an odd side", "the image", x.shape().to_vec());
                return Err(EngineError::Shape { operation, what, expected, got });
            }
        };
        let x = add::widened(self, x)?;
        let value = match self.device() {
            Device::Cpu(cpu) => cpu::channels_last::windows(cpu, windows, x.value()),
            #[cfg(not(target_arch = "wasm32"))]
            Device::Cuda(cuda) => cuda::operators::windows(cuda, windows, x.value())?,
        };
        let tracked = x.node().is_some();
        Ok(self.push(value, tracked, || Box::new(WindowsRecord { windows, x })))
    }
}

/// Every pixel gets the sum over the windows that saw it.
impl Record for WindowsRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx = match gradient.device().clone() {
            Device::Cpu(cpu) => cpu::channels_last::windows_back(&cpu, self.windows, &gradient),
            #[cfg(not(target_arch = "wasm32"))]
            Device::Cuda(cuda) => cuda::operators::windows_back(&cuda, self.windows, &gradient)?,
        };
        flow.give(&self.x, dx)
    }
}
