//! Gradients of all parameters, in the parameters' own layout.

use std::{collections::HashMap, sync::Arc};

use super::{
    Layout, ParamId, Params,
    reduction::{Pass, Reduced, Reduction},
};
use crate::{
    device::Device,
    dtype::{Dtype, Element},
    error::EngineError,
    group::DeviceGroup,
    tape::Var,
    tensor::Tensor,
};

/// What backward passes leave: a flat buffer like the parameters', and the gradients of tracked inputs.
#[derive(Debug)]
pub struct Gradients {
    layout: Arc<Layout>,
    flat: Tensor,
    inputs: HashMap<usize, Tensor>,
    /// On a GPU, parameters whose gradients are to be replaced when they are next added to; empty if none are.
    stale: Vec<bool>,
    /// When they can be reduced over devices.
    reduction: Reduction,
}

impl Gradients {
    /// Room for the gradients of some parameters, all zero.
    pub fn zeros(params: &Params) -> Result<Self, EngineError> {
        let device = params.device();
        let layout = params.layout().clone();
        let shape = [layout.len()];
        let flat = Tensor::zeros(device, params.dtype(), &shape)?;
        Ok(Self { layout, flat, inputs: HashMap::new(), stale: Vec::new(), reduction: Reduction::default() })
    }

    /// Gradients that are known, in the parameters' own kind.
    pub fn from_flat<T: Element>(params: &Params, values: &[T]) -> Result<Self, EngineError> {
        if T::DTYPE != params.dtype() {
            return Err(EngineError::dtype("gradients", "the flat buffer", params.dtype(), T::DTYPE));
        }
        let layout = params.layout().clone();
        if values.len() != layout.len() {
            return Err(EngineError::Layout { expected: layout.len(), got: values.len() });
        }
        let mut gradients = Self::zeros(params)?;
        gradients.flat = Tensor::from_slice(params.device(), &[values.len()], values)?;
        Ok(gradients)
    }

    /// Names and places.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The flat buffer of all gradients, padding included.
    pub fn flat(&self) -> &Tensor {
        &self.flat
    }

    /// The gradient of a tracked input.
    pub fn input(&self, var: &Var) -> Option<&Tensor> {
        self.inputs.get(&var.node()?)
    }

    /// Replaces all of them.
    pub fn set_flat(&mut self, values: &[f32]) -> Result<(), EngineError> {
        self.flat.overwrite(values)
    }

    /// Forgets everything.
    pub fn clear(&mut self) -> Result<(), EngineError> {
        self.inputs.clear();
        self.stale.clear();
        self.reduction.restart();
        match (self.flat.device().clone(), self.flat.dtype()) {
            (Device::Cuda(cuda), _) => cuda.clear(self.flat.address(), self.flat.len() * size_of::<f32>())?,
            (Device::Cpu(_), Dtype::F64) => self.all_cpu_mut::<f64>()?.fill(0.0),
            (Device::Cpu(_), _) => self.all_cpu_mut::<f32>()?.fill(0.0),
        }
        Ok(())
    }

    /// The next backward pass replaces these gradients instead of adding to them, which saves a GPU from writing
    /// zeros first. They are not to be read before.
    pub fn restart(&mut self) -> Result<(), EngineError> {
        match self.flat.device() {
            Device::Cpu(_) => self.clear(),
            Device::Cuda(_) => {
                self.inputs.clear();
                self.reduction.restart();
                self.stale = vec![true; self.layout.params().len()];
                Ok(())
            }
        }
    }

    /// Zeros what a backward pass after a restart did not reach.
    pub(crate) fn settle(&mut self) -> Result<(), EngineError> {
        let stale = std::mem::take(&mut self.stale);
        let Device::Cuda(cuda) = self.flat.device() else { return Ok(()) };
        let ranges = self.layout.params().iter().zip(&stale).filter(|(_, stale)| **stale);
        let mut pending = 0..0_usize;
        for range in ranges.map(|(param, _)| param.range.clone()) {
            // Numbers between neighbours are padding, zero already.
            let follows = range.start == pending.end.next_multiple_of(super::layout::ALIGNMENT);
            if !follows || pending.is_empty() {
                self.zero(cuda, pending)?;
                pending = range;
            } else {
                pending.end = range.end;
            }
        }
        self.zero(cuda, pending)
    }

    fn zero(&self, cuda: &crate::cuda::Cuda, range: std::ops::Range<usize>) -> Result<(), EngineError> {
        let number = size_of::<f32>();
        if range.is_empty() {
            return Ok(());
        }
        cuda.clear(self.flat.address() + (range.start * number) as u64, range.len() * number)
    }

    pub(crate) fn set_input(&mut self, node: usize, gradient: Tensor) {
        self.inputs.insert(node, gradient);
    }

    /// Where one parameter's gradient begins on the GPU, and whether the caller must add to what is there.
    pub(crate) fn address(&mut self, id: ParamId) -> (u64, bool) {
        let address = self.flat.address() + (self.layout.param(id).range.start * size_of::<f32>()) as u64;
        let stale = self.stale.get_mut(id.0).is_some_and(std::mem::take);
        self.reduction.write(id, self.layout.param(id).range.start);
        (address, !stale)
    }

    /// A backward pass begins; if it `reduces`, it is the last of a step, whose gradients are then reduced over
    /// devices.
    pub(crate) fn begin_pass(&mut self, pass: Pass, reduces: bool) {
        self.reduction.begin(&self.layout, pass, reduces);
    }

    /// An operation of that pass goes back from now on.
    pub(crate) fn enter(&mut self, node: usize) {
        self.reduction.enter(node);
    }

    /// Reduces what is final, now that the operation has gone back.
    pub(crate) fn reduce_ready(&mut self, group: &dyn DeviceGroup) -> Result<(), EngineError> {
        while let Some(range) = self.reduction.ready() {
            group.mean_of_range(&mut self.flat, range)?;
        }
        Ok(())
    }

    /// The pass that reduces is over: reduces all at once if its buckets were not known.
    pub(crate) fn end_reduction(&mut self, group: &dyn DeviceGroup) -> Result<(), EngineError> {
        // What is left was final before the pass began, which may have had no operation at all.
        self.enter(0);
        self.reduce_ready(group)?;
        match self.reduction.end(&self.layout) {
            Reduced::All => Ok(()),
            Reduced::Nothing => group.mean_of_range(&mut self.flat, 0..self.layout.len()),
            Reduced::Wrong => Err(EngineError::Reduction),
        }
    }

    /// One parameter's gradient in main memory, to be added to.
    pub(crate) fn cpu_mut<T: Element>(&mut self, id: ParamId) -> Result<&mut [T], EngineError> {
        let range = self.layout.param(id).range.clone();
        self.reduction.write(id, range.start);
        Ok(&mut self.all_cpu_mut()?[range])
    }

    /// All gradients in main memory.
    pub(crate) fn all_cpu_mut<T: Element>(&mut self) -> Result<&mut [T], EngineError> {
        self.flat.own_cpu_mut()
    }
}
