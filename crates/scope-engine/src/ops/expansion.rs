//! Fields as combinations of basis functions.

use crate::{
    device::kernel,
    error::{EngineError, require_shape},
    ops::add,
    params::ParamId,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct ExpansionRecord {
    coefficients: Var,
    basis: Var,
    offset: ParamId,
}

impl Tape<'_> {
    /// y\[b, f, p\] = sum over k of x\[b, f, k\] t\[p, k\] + offset\[f\], at full width.
    ///
    /// # Shapes
    /// coefficients x \[batch, fields, k\], basis t \[points, k\], offset \[fields\], y \[batch, fields, points\].
    pub fn expansion(&self, coefficients: &Var, basis: &Var, offset: ParamId) -> Result<Var, EngineError> {
        let (&[batch, fields, k], &[points, _]) = (coefficients.shape(), basis.shape()) else {
            return Err(EngineError::shape(
                "an expansion",
                "its coefficients",
                "[batch, fields, k], and a basis [points, k]",
                coefficients.shape(),
            ));
        };
        require_shape("an expansion", "its basis", basis.shape(), &[points, k])?;
        let offsets = &self.params().layout().param(offset).shape;
        require_shape("an expansion", "its offset", offsets, &[fields])?;
        let coefficients = add::for_product(self, coefficients)?;
        let basis = add::for_product(self, basis)?;
        let x = coefficients.value();
        let t = basis.value();
        let shape = [batch, fields, points];
        let value = kernel!(self.device(), expansion::forward(x, t, self.params(), offset, &shape))?;
        Ok(self.push(value, true, || Box::new(ExpansionRecord { coefficients, basis, offset })))
    }
}

/// dx = dy t, dt = dy^T x over batch and fields, d offset = the sum of dy over batch and points.
impl Record for ExpansionRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let x = self.coefficients.value();
        let t = self.basis.value();
        let [dx, dt] = kernel!(gradient.device(), expansion::backward(x, t, &gradient, self.offset, flow))?;
        flow.give(&self.coefficients, dx)?;
        flow.give(&self.basis, dt)
    }
}
