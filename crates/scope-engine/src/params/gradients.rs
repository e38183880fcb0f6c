//! Gradients of all parameters, in the parameters' own layout.

use std::{collections::HashMap, sync::Arc};

use super::{Layout, ParamId, Params};
use crate::{
    device::Device,
    dtype::{Dtype, Element},
    error::EngineError,
    tape::Var,
    tensor::Tensor,
};

/// What one backward pass leaves: a flat buffer like the parameters', and the gradients of tracked inputs.
#[derive(Debug)]
pub struct Gradients {
    layout: Arc<Layout>,
    flat: Tensor,
    inputs: HashMap<usize, Tensor>,
}

impl Gradients {
    /// Room for the gradients of some parameters, all zero.
    pub fn zeros(params: &Params) -> Result<Self, EngineError> {
        let (device, layout) = (params.device(), params.layout().clone());
        let shape = [layout.len()];
        let flat = match params.dtype() {
            Dtype::F64 => Tensor::from_slice(device, &shape, &vec![0.0_f64; layout.len()])?,
            _ => Tensor::from_slice(device, &shape, &vec![0.0_f32; layout.len()])?,
        };
        Ok(Self { layout, flat, inputs: HashMap::new() })
    }

    /// Names and places.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// All of them, padding included.
    pub fn flat(&self) -> &Tensor {
        &self.flat
    }

    /// The gradient of a tracked input.
    pub fn input(&self, var: &Var) -> Option<&Tensor> {
        self.inputs.get(&var.node()?)
    }

    /// Replaces all of them.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn set_flat(&mut self, values: &[f32]) -> Result<(), EngineError> {
        self.flat.overwrite(values)
    }

    /// Forgets everything.
    pub fn clear(&mut self) -> Result<(), EngineError> {
        self.inputs.clear();
        match (self.flat.device().clone(), self.flat.dtype()) {
            #[cfg(not(target_arch = "wasm32"))]
            (Device::Cuda(cuda), _) => cuda.clear(self.flat.address(), self.flat.len() * size_of::<f32>())?,
            (Device::Cpu(_), Dtype::F64) => self.all_cpu_mut::<f64>()?.fill(0.0),
            (Device::Cpu(_), _) => self.all_cpu_mut::<f32>()?.fill(0.0),
        }
        Ok(())
    }

    pub(crate) fn set_input(&mut self, node: usize, gradient: Tensor) {
        self.inputs.insert(node, gradient);
    }

    /// Where one parameter's gradient begins on the card, to be added to.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn address(&mut self, id: ParamId) -> u64 {
        self.flat.address() + (self.layout.param(id).range.start * size_of::<f32>()) as u64
    }

    /// One parameter's gradient in main memory, to be added to.
    pub(crate) fn cpu_mut<T: Element>(&mut self, id: ParamId) -> Result<&mut [T], EngineError> {
        let range = self.layout.param(id).range.clone();
        Ok(&mut self.all_cpu_mut()?[range])
    }

    /// All gradients in main memory.
    pub(crate) fn all_cpu_mut<T: Element>(&mut self) -> Result<&mut [T], EngineError> {
        self.flat.own_cpu_mut()
    }
}
