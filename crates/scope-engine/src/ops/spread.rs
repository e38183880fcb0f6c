//! A floor under the spread of every coordinate over the batch.

use crate::{
    device::kernel,
    error::EngineError,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct SpreadRecord {
    z: Var,
    floor: f64,
    /// Mean and standard deviation of each coordinate \[2, coordinates\].
    moments: Tensor,
}

/// The floor's loss over a whole batch, whose rows are latents of several tapes.
#[derive(Clone, Debug)]
pub struct SpreadOfAll {
    floor: f64,
    /// L \[1\].
    loss: Tensor,
    /// Mean and standard deviation of each coordinate over the whole batch \[2, coordinates\].
    moments: Tensor,
}

impl SpreadOfAll {
    /// Measures the latents of a whole batch, \[batch, ...\].
    pub fn measure(z: &Tensor, floor: f64) -> Result<Self, EngineError> {
        let (loss, moments) = kernel!(z.device(), losses::spread(z, floor))?;
        Ok(Self { floor, loss, moments })
    }

    /// The loss, \[1\].
    pub fn loss(&self) -> &Tensor {
        &self.loss
    }
}

impl Tape<'_> {
    /// The loss of [`Tape::spread_floor`] over a whole batch of which `z` are some rows. Its value is the whole
    /// batch's, and so is its gradient times batch / rows: the mean over parts, weighed by their rows, is the gradient
    /// of the whole.
    pub fn spread_floor_of_all(&self, z: &Var, all: &SpreadOfAll) -> Var {
        let record = SpreadRecord { z: z.clone(), floor: all.floor, moments: all.moments.clone() };
        self.push(all.loss.clone(), z.node().is_some(), || Box::new(record))
    }

    /// L = mean over coordinates j of max(0, floor - s_j)^2, where s_j is the standard deviation of coordinate
    /// j over the batch (divided by the batch, not by one less).
    ///
    /// # Shapes
    /// z \[batch, ...\], L \[1\].
    pub fn spread_floor(&self, z: &Var, floor: f64) -> Result<Var, EngineError> {
        let (value, moments) = kernel!(self.device(), losses::spread(z.value(), floor))?;
        let record = SpreadRecord { z: z.clone(), floor, moments };
        Ok(self.push(value, z.node().is_some(), || Box::new(record)))
    }

    /// The mean over coordinates of s_j, \[1\]: how much latents differ from sample to sample. Nothing flows back.
    pub fn mean_spread(&self, z: &Var) -> Result<Tensor, EngineError> {
        kernel!(self.device(), losses::mean_spread(z.value()))
    }
}

/// dz\[b, j\] = -2 g max(0, floor - s_j) (z\[b, j\] - mean_j) / (coordinates batch s_j), and 0 where s_j = 0.
impl Record for SpreadRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let dz = kernel!(
            gradient.device(),
            losses::spread_back(self.z.value(), &self.moments, self.floor, &gradient)
        )?;
        flow.give(&self.z, dz)
    }
}
