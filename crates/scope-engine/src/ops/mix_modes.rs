//! Channels mixed mode by mode, with complex weights.

use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    ops::add,
    params::ParamId,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// The sizes of a mixing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixing {
    pub(crate) batch: usize,
    pub(crate) modes: usize,
    /// Channels in.
    pub(crate) c: usize,
    /// Channels out.
    pub(crate) o: usize,
}

struct MixRecord {
    mixing: Mixing,
    weight: ParamId,
    x: Var,
}

impl Tape<'_> {
    /// y\[b, k, o\] = sum over c of x\[b, k, c\] W\[k, c, o\], all complex: a number is its real part in the first half
    /// of the channels' axis and its imaginary part in the second, and the weight holds both parts of each mode in
    /// turn. y has the precision of x.
    ///
    /// # Shapes
    /// x \[batch, modes, 2 c\], W \[modes, 2, c, o\] (the modes may be several axes), y \[batch, modes, 2 o\].
    pub fn mix_modes(&self, x: &Var, weight: ParamId) -> Result<Var, EngineError> {
        let shape = &self.params().layout().param(weight).shape;
        let (&[batch, modes, features], [kept @ .., 2, c, o]) = (x.shape(), &shape[..]) else {
            return Err(EngineError::shape(
                "mixing modes",
                "its input",
                "[batch, modes, 2 channels], and a weight [modes, 2, c, o]",
                x.shape(),
            ));
        };
        let expected = [kept.iter().product(), 2 * c];
        require_shape("mixing modes", "its input", &[modes, features], &expected)?;
        let mixing = Mixing { batch, modes, c: *c, o: *o };
        let x = add::widened(self, x)?;
        let value = kernel!(self.device(), mix_modes::forward(mixing, self.params(), weight, x.value()))?;
        Ok(self.push(value, true, || Box::new(MixRecord { mixing, weight, x })))
    }
}

/// dx\[b, k, c\] = sum over o of dy\[b, k, o\] conj W\[k, c, o\], dW\[k, c, o\] = sum over b of conj x\[b, k, c\]
/// dy\[b, k, o\].
impl Record for MixRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let Self { mixing, weight, x } = self;
        let gradient = add::convert(gradient, x.value().dtype())?;
        let device = gradient.device();
        kernel!(device, mix_modes::weight_gradient(*mixing, *weight, x.value(), &gradient, flow))?;
        if flow.wants(x) {
            let dx = kernel!(device, mix_modes::input_gradient(*mixing, flow.params(), *weight, &gradient))?;
            flow.give(x, dx)?;
        }
        Ok(())
    }
}
