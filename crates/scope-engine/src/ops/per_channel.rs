//! A factor or an offset for each channel.

use super::rows_of;
use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    ops::add,
    params::ParamId,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct ScaleRecord {
    x: Var,
    gain: ParamId,
}

struct ShiftRecord {
    x: Var,
    offset: ParamId,
}

impl Tape<'_> {
    /// y = x g for each channel, in the precision of x.
    ///
    /// # Shapes
    /// x and y \[..., n\], g \[n\].
    pub fn scale_channels(&self, x: &Var, gain: ParamId) -> Result<Var, EngineError> {
        let x = self.with_channels(x, gain)?;
        let value = kernel!(self.device(), per_channel::scale(self.params(), gain, x.value()))?;
        Ok(self.push(value, true, || Box::new(ScaleRecord { x, gain })))
    }

    /// y = x + b for each channel, in the precision of x.
    ///
    /// # Shapes
    /// x and y \[..., n\], b \[n\].
    pub fn shift_channels(&self, x: &Var, offset: ParamId) -> Result<Var, EngineError> {
        let x = self.with_channels(x, offset)?;
        let value = kernel!(self.device(), per_channel::shift(self.params(), offset, x.value()))?;
        Ok(self.push(value, true, || Box::new(ShiftRecord { x, offset })))
    }

    /// A value that has a channel for each number of a parameter.
    fn with_channels(&self, x: &Var, id: ParamId) -> Result<Var, EngineError> {
        let (_, n) = rows_of(x.shape());
        require_shape("channels", "the parameter", &self.params().layout().param(id).shape, &[n])?;
        add::widened(self, x)
    }
}

/// dx = dy g, dg = sum over rows of dy x.
impl Record for ScaleRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let gradient = add::convert(gradient, self.x.value().dtype())?;
        let device = gradient.device().clone();
        kernel!(&device, per_channel::gain_gradient(self.gain, self.x.value(), &gradient, flow))?;
        if flow.wants(&self.x) {
            let dx = kernel!(&device, per_channel::scale(flow.params(), self.gain, &gradient))?;
            flow.give(&self.x, dx)?;
        }
        Ok(())
    }
}

/// dx = dy, db = sum over rows of dy.
impl Record for ShiftRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        kernel!(gradient.device(), per_channel::offset_gradient(self.offset, &gradient, flow))?;
        flow.give(&self.x, gradient)
    }
}
