//! Activations that follow no linear layer.

use crate::{
    device::kernel,
    error::EngineError,
    ops::add,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// GELU, in its exact form: x (1 + erf(x / sqrt 2)) / 2.
    Gelu,
    /// x where it is positive, this much of x elsewhere.
    LeakyRelu(f64),
}

struct ActivateRecord {
    activation: Activation,
    x: Var,
}

impl Tape<'_> {
    /// y = f(x), number by number, in the precision of x.
    pub fn activate(&self, x: &Var, activation: Activation) -> Result<Var, EngineError> {
        let x = add::widened(self, x)?;
        let value = kernel!(self.device(), activation::forward(activation, x.value()))?;
        let tracked = x.node().is_some();
        Ok(self.push(value, tracked, || Box::new(ActivateRecord { activation, x })))
    }
}

/// dx = dy f'(x).
impl Record for ActivateRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dx =
            kernel!(gradient.device(), activation::backward(self.activation, self.x.value(), &gradient))?;
        flow.give(&self.x, dx)
    }
}
