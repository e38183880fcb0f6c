//! Numbers that never change: coordinates, transforms, resizing matrices.

use std::sync::{Arc, OnceLock};

use crate::bfloat16::bf16;

use crate::{
    device::Device,
    dtype::{Dtype, Element},
    error::EngineError,
    tape::{Tape, Var},
    tensor::Tensor,
};

/// An array of fixed numbers, known before any device; a GPU gets its copy when it first asks for it, and keeps it.
#[derive(Clone, Debug)]
pub struct Constant(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shape: Vec<usize>,
    double: Vec<f64>,
    single: Vec<f32>,
    gpu: OnceLock<Tensor>,
    rounded: OnceLock<Tensor>,
}

impl Constant {
    /// Calls `value` for each element, counted row by row.
    pub fn from_fn(shape: &[usize], value: impl FnMut(usize) -> f64) -> Self {
        let double: Vec<f64> = (0..shape.iter().product()).map(value).collect();
        Self(Arc::new(Inner {
            shape: shape.to_vec(),
            single: double.iter().map(|x| *x as f32).collect(),
            double,
            gpu: OnceLock::new(),
            rounded: OnceLock::new(),
        }))
    }

    /// The lengths of its axes.
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// Its numbers in single precision.
    pub fn single(&self) -> &[f32] {
        &self.0.single
    }

    /// Its numbers in main memory.
    pub(crate) fn cpu<R: Element>(&self) -> &[R] {
        match R::DTYPE {
            Dtype::F64 => bytemuck::cast_slice(&self.0.double),
            _ => bytemuck::cast_slice(&self.0.single),
        }
    }

    /// Its numbers on a device, in f32 or f64.
    pub(crate) fn tensor(&self, device: &Device, dtype: Dtype) -> Result<Tensor, EngineError> {
        match device {
            Device::Cpu(_) if dtype == Dtype::F64 => {
                Tensor::from_slice(device, &self.0.shape, &self.0.double)
            }
            Device::Cpu(_) => Tensor::from_slice(device, &self.0.shape, &self.0.single),
            Device::Cuda(_) => {
                if let Some(kept) = self.0.gpu.get() {
                    return Ok(kept.clone());
                }
                let tensor = Tensor::from_slice(device, &self.0.shape, &self.0.single)?;
                Ok(self.0.gpu.get_or_init(|| tensor).clone())
            }
        }
    }

    /// Its numbers on a GPU, in bf16.
    pub(crate) fn rounded(&self, gpu: &Device) -> Result<Tensor, EngineError> {
        if let Some(kept) = self.0.rounded.get() {
            return Ok(kept.clone());
        }
        let halves: Vec<bf16> = self.0.double.iter().map(|x| bf16::from_f64(*x)).collect();
        let tensor = Tensor::from_slice(gpu, &self.0.shape, &halves)?;
        Ok(self.0.rounded.get_or_init(|| tensor).clone())
    }
}

impl Tape<'_> {
    /// A constant as a value that nothing flows back to.
    pub fn constant(&self, constant: &Constant) -> Result<Var, EngineError> {
        Ok(self.input(constant.tensor(self.device(), self.compute().wide())?))
    }
}
