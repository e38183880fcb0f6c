//! Sums, and changes of precision.

use crate::{
    cpu,
    device::Device,
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
        let value = sum(x.value().clone(), y.value())?;
        let record = AddRecord { first: x.clone(), second: y.clone() };
        Ok(self.push(value, x.node().or(y.node()).is_some(), || Box::new(record)))
    }
}

/// dx = dy = dz.
impl Record for AddRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        flow.give(&self.first, gradient.clone())?;
        flow.give(&self.second, gradient)
    }
}

/// x + y of equally many numbers, in place where nobody else holds x.
pub(crate) fn sum(x: Tensor, y: &Tensor) -> Result<Tensor, EngineError> {
    require_shape("add", "the number of elements", &[y.len()], &[x.len()])?;
    let wide = x.dtype().wide();
    let (x, y) = (convert(x, wide), convert(y.clone(), wide));
    Ok(match x.device().clone() {
        Device::Cpu(cpu) => cpu::elementwise::add(&cpu, x, &y),
    })
}

/// A value in the precision of a tape's products. Only inference changes precision, so nothing is recorded.
pub(super) fn converted(tape: &Tape<'_>, x: &Var) -> Result<Var, EngineError> {
    if x.value().dtype() == tape.compute() {
        return Ok(x.clone());
    }
    if tape.is_recording() {
        let (operation, what) = ("a recorded operation", "its input");
        let (expected, got) = (tape.compute(), x.value().dtype());
        return Err(EngineError::Kind { operation, what, expected, got });
    }
    Ok(tape.input(convert(x.value().clone(), tape.compute())))
}

/// A tensor in another precision.
pub(crate) fn convert(x: Tensor, dtype: Dtype) -> Tensor {
    if x.dtype() == dtype {
        return x;
    }
    match x.device().clone() {
        Device::Cpu(cpu) => cpu::elementwise::convert(&cpu, &x, dtype),
    }
}
