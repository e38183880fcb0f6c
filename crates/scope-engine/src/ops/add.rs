//! Sums, and changes of precision.

use crate::{
    device::{Device, kernel},
    dtype::Dtype,
    error::{EngineError, require_shape},
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct AddRecord {
    first: Var,
    second: Var,
}

impl Tape<'_> {
    /// z = x + y, of equal shapes, in the wider precision.
    pub fn add(&self, x: &Var, y: &Var) -> Result<Var, EngineError> {
        require_shape("add", "the second term", y.shape(), x.shape())?;
        let wide = x.value().dtype().wide();
        let value = sum(convert(x.value().clone(), wide)?, y.value())?;
        let record = AddRecord { first: x.clone(), second: y.clone() };
        Ok(self.push(value, x.node().or(y.node()).is_some(), || Box::new(record)))
    }

    /// The same value in the precision of the products: what several operations would each round for themselves.
    pub fn rounded(&self, x: &Var) -> Result<Var, EngineError> {
        match self.device() {
            Device::Cpu(_) => Ok(x.clone()),
            Device::Cuda(_) => converted(self, x),
        }
    }
}

/// dx = dy = dz.
impl Record for AddRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        flow.give(&self.first, gradient.clone())?;
        flow.give(&self.second, gradient)
    }
}

/// x + y of equally many numbers, in bf16 if both are, else in the wider precision; in place where nobody else
/// holds x.
pub(crate) fn sum(x: Tensor, y: &Tensor) -> Result<Tensor, EngineError> {
    require_shape("add", "the number of elements", &[y.len()], &[x.len()])?;
    let dtype = if x.dtype() == y.dtype() { x.dtype() } else { x.dtype().wide() };
    let x = convert(x, dtype)?;
    let y = convert(y.clone(), dtype)?;
    kernel!(&x.device().clone(), elementwise::add(x, &y))
}

struct ConvertRecord {
    x: Var,
}

/// A gradient may come back in either precision.
impl Record for ConvertRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        flow.give(&self.x, gradient)
    }
}

/// A value in the precision of a tape's products.
pub(super) fn converted(tape: &Tape<'_>, x: &Var) -> Result<Var, EngineError> {
    if x.value().dtype() == tape.compute() {
        return Ok(x.clone());
    }
    if tape.is_recording() && matches!(tape.device(), Device::Cpu(_)) {
        // On the CPU a recording tape has one precision.
        return Err(EngineError::dtype(
            "a recorded operation",
            "its input",
            tape.compute(),
            x.value().dtype(),
        ));
    }
    let value = convert(x.value().clone(), tape.compute())?;
    Ok(tape.push(value, x.node().is_some(), || Box::new(ConvertRecord { x: x.clone() })))
}

/// A value as the CPU's kernels take it, at full width; a GPU's take either precision.
pub(super) fn widened(tape: &Tape<'_>, x: &Var) -> Result<Var, EngineError> {
    let dtype = x.value().dtype();
    if dtype != Dtype::Bf16 || !matches!(tape.device(), Device::Cpu(_)) {
        return Ok(x.clone());
    }
    let value = convert(x.value().clone(), dtype.wide())?;
    Ok(tape.push(value, x.node().is_some(), || Box::new(ConvertRecord { x: x.clone() })))
}

/// A value as products without an epilogue take it: at full width on the CPU, in the tape's precision on a GPU.
pub(super) fn for_product(tape: &Tape<'_>, x: &Var) -> Result<Var, EngineError> {
    match tape.device() {
        Device::Cpu(_) => widened(tape, x),
        Device::Cuda(_) => converted(tape, x),
    }
}

/// A tensor in another precision.
pub(crate) fn convert(x: Tensor, dtype: Dtype) -> Result<Tensor, EngineError> {
    if x.dtype() == dtype {
        return Ok(x);
    }
    kernel!(x.device(), elementwise::convert(&x, dtype))
}
