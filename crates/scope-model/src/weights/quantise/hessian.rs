//! The Hessians of linear layers, from calibration inputs: what error-compensated rounding needs to know of them.

use std::{cell::RefCell, collections::HashMap};

use rayon::prelude::*;
use scope_engine::{Dtype, EngineError, ParamId, Tape, Tensor};
use scope_pde::linear::{
    cholesky::Cholesky,
    matrix::{View, ViewMut, add_product},
};

use crate::{error::ModelError, field_model::FieldModel};

/// Contexts that go through the network together.
const BATCH: usize = 8;
/// Rows of a product that a thread computes: few enough for all threads, whatever their number, which then changes no
/// bit.
const STRIP: usize = 64;
/// The damping of the Hessian: the share of its mean diagonal that is added to every element of the diagonal.
const DAMPING: f64 = 0.01;

/// For each linear layer the Hessian of its squared output error with respect to a row of its weights, up to a factor:
/// the sum of x x^T \[k, k\] over the inputs x that the layer was given.
#[derive(Debug, Default)]
pub struct LayerHessians(HashMap<ParamId, Vec<f64>>);

impl LayerHessians {
    /// Sums over the inputs of all layers while a model recovers calibration contexts \[n, 4, S, S\], in stored
    /// coordinates. `progress` hears how many are done.
    pub fn calibrate(
        model: &FieldModel,
        contexts: &[f32],
        progress: &mut dyn FnMut(usize),
    ) -> Result<Self, ModelError> {
        let grid = model.architecture.resolution();
        let channels = model.architecture.context_channels();
        let each = channels * grid.points();
        if !contexts.len().is_multiple_of(each) {
            return Err(ModelError::Context { got: contexts.len(), channels, grid });
        }
        let hessians = RefCell::new(Self::default());
        let failure = RefCell::new(None);
        let watch = |weight: ParamId, x: &Tensor| {
            hessians.borrow_mut().add(weight, x).unwrap_or_else(|error| *failure.borrow_mut() = Some(error));
        };
        for (k, batch) in contexts.chunks(BATCH * each).enumerate() {
            let shape = [batch.len() / each, channels, grid.rows, grid.columns];
            let tape = Tape::with_forward_hook(&model.params, Dtype::F32, &watch);
            let context = Tensor::from_slice(model.params.device(), &shape, batch)?;
            model.network.forward(&tape, &tape.input(context))?;
            progress(k * BATCH + shape[0]);
        }
        match failure.into_inner() {
            Some(error) => Err(error.into()),
            None => Ok(hessians.into_inner()),
        }
    }

    fn add(&mut self, weight: ParamId, x: &Tensor) -> Result<(), EngineError> {
        let width = x.shape().last().copied().unwrap_or(1);
        let rows: Vec<f64> = x.to_vec::<f32>()?.into_iter().map(f64::from).collect();
        let x = View::new(&rows, rows.len() / width, width);
        let sums = self.0.entry(weight).or_insert_with(|| vec![0.0; width * width]);
        sums.par_chunks_mut(STRIP * width).enumerate().for_each(|(k, strip)| {
            let columns = strip.len() / width;
            let some = View { data: &rows[k * STRIP..], columns, ..x };
            add_product(some.transposed(), x, ViewMut { data: strip, row_stride: width });
        });
        Ok(())
    }

    /// The Cholesky factor L \[k, k\] of the damped Hessian, L L^T = H + damping; none if the layer was given nothing.
    pub(in crate::weights) fn factor(&self, weight: ParamId) -> Option<Cholesky> {
        let mut sums = self.0.get(&weight)?.clone();
        let width = sums.len().isqrt();
        let mean = (0..width).map(|i| sums[i * width + i]).sum::<f64>() / width as f64;
        (0..width).for_each(|i| sums[i * width + i] += DAMPING * mean);
        Cholesky::new(sums, width).ok()
    }
}
