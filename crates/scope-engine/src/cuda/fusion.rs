//! What CUDA kernels of a backward pass leave for each other, so that the next one need not compute it again.

use super::linear::times_slope;
use crate::{device::Device, error::EngineError, ops::add, tensor::Tensor};

/// By-products of the kernels of one backward pass. A gradient is known by its address: it lives as long as it is
/// noted.
#[derive(Debug, Default)]
pub(crate) struct Fusion {
    /// The latest gradient whose column sums a kernel has left, and what it left.
    column_sums: Option<(Tensor, Tensor)>,
    /// Gradients that are multiplied with the slope of an activation already.
    sloped: Vec<Sloped>,
}

/// A gradient that the kernel which computed it has multiplied with the slope of the activation it belongs to.
#[derive(Debug)]
pub(crate) struct Sloped {
    gradient: Tensor,
    /// Sums of its columns over blocks of rows \[blocks, n\], if they are known.
    pub(crate) column_sums: Option<Tensor>,
}

impl Fusion {
    /// Notes that the column sums of a gradient are among `sums`.
    pub(crate) fn note_column_sums(&mut self, gradient: Tensor, sums: Tensor) {
        self.column_sums = Some((gradient, sums));
    }

    /// What was noted with a gradient, if it is the latest.
    pub(crate) fn column_sums_of(&self, gradient: &Tensor) -> Option<Tensor> {
        let (noted, sums) = self.column_sums.as_ref()?;
        (noted.address() == gradient.address()).then(|| sums.clone())
    }

    /// Notes that a gradient is multiplied with its slope, and sums of its columns if they are known.
    pub(crate) fn note_sloped(&mut self, gradient: Tensor, column_sums: Option<Tensor>) {
        self.sloped.push(Sloped { gradient, column_sums });
    }

    /// What was noted of a gradient that is multiplied with its slope, if it is.
    pub(crate) fn take_sloped(&mut self, gradient: &Tensor) -> Option<Sloped> {
        let same = |sloped: &Sloped| sloped.gradient.address() == gradient.address();
        let place = self.sloped.iter().position(same)?;
        Some(self.sloped.swap_remove(place))
    }

    /// Adds a gradient to one that arrived before it at a value whose gradient is to be multiplied with `slope`. If the
    /// first is multiplied already, so is the second.
    pub(crate) fn add(
        &mut self,
        before: Tensor,
        gradient: &Tensor,
        slope: Option<&Tensor>,
    ) -> Result<Tensor, EngineError> {
        match (gradient.device().clone(), slope) {
            (Device::Cuda(cuda), Some(slope)) if self.take_sloped(&before).is_some() => {
                let gradient = add::convert(gradient.clone(), slope.dtype())?;
                let (gradient, _) = times_slope(&cuda, &gradient, slope)?;
                let sum = add::sum(before, &gradient)?;
                self.note_sloped(sum.clone(), None);
                Ok(sum)
            }
            _ => add::sum(before, gradient),
        }
    }
}
