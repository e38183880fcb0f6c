//! Contiguous arrays on a device.

use std::{ops::Range, sync::Arc};

use crate::{
    cpu::Cpu,
    cuda::{self, Cuda},
    device::{Buffer, Device},
    dtype::{Dtype, Element},
    error::{EngineError, require_shape},
};

/// A contiguous, row-major array on one device. Cloning shares the memory, which is never written again once
/// the tensor exists. A change of layout is an operation with a name, never a stride.
#[derive(Clone, Debug)]
pub struct Tensor {
    buffer: Arc<Buffer>,
    shape: Vec<usize>,
    dtype: Dtype,
    device: Device,
}

/// The bytes of so many elements; what no number can say is the largest, which no memory has.
fn bytes_of(shape: &[usize], element: usize) -> usize {
    shape.iter().fold(element, |bytes, length| bytes.saturating_mul(*length))
}

impl Tensor {
    /// Copies numbers to a device.
    pub fn from_slice<T: Element>(
        device: &Device,
        shape: &[usize],
        values: &[T],
    ) -> Result<Self, EngineError> {
        if shape.iter().product::<usize>() != values.len() {
            return Err(EngineError::shape(
                "a tensor from values",
                "the tensor",
                format!("as many elements as the {} values given", values.len()),
                shape,
            ));
        }
        match device {
            Device::Cpu(cpu) => Ok(Self::compute(cpu, shape, |out| out.copy_from_slice(values))),
            Device::Cuda(cuda) => {
                if T::DTYPE == Dtype::F64 {
                    return Err(EngineError::dtype("a tensor on a GPU", "it", Dtype::F32, T::DTYPE));
                }
                let buffer = Arc::new(Buffer::Cuda(cuda.upload(values)?));
                Ok(Self { buffer, shape: shape.to_vec(), dtype: T::DTYPE, device: device.clone() })
            }
        }
    }

    /// A tensor of zeros.
    pub fn zeros(device: &Device, dtype: Dtype, shape: &[usize]) -> Result<Self, EngineError> {
        match device {
            Device::Cuda(_) => Self::from_slice(device, shape, &vec![0.0_f32; shape.iter().product()]),
            Device::Cpu(cpu) => {
                let buffer = Arc::new(Buffer::Cpu(cpu.zeros(bytes_of(shape, dtype.size()))));
                Ok(Self { buffer, shape: shape.to_vec(), dtype, device: device.clone() })
            }
        }
    }

    /// A tensor whose elements are all one value.
    pub fn full(device: &Device, dtype: Dtype, shape: &[usize], value: f64) -> Result<Self, EngineError> {
        let count = shape.iter().product();
        match (device, dtype) {
            (Device::Cuda(cuda), _) => cuda::elementwise::full(cuda, shape, value as f32),
            (Device::Cpu(_), Dtype::F64) => Self::from_slice(device, shape, &vec![value; count]),
            (Device::Cpu(_), _) => Self::from_slice(device, shape, &vec![value as f32; count]),
        }
    }

    /// A tensor on a GPU, of arbitrary content: the next kernel must write every element.
    pub(crate) fn on_cuda(cuda: &Cuda, shape: &[usize], dtype: Dtype) -> Result<Self, EngineError> {
        let memory = cuda.memory(bytes_of(shape, dtype.size()))?;
        let buffer = Arc::new(Buffer::Cuda(memory));
        let shape = shape.to_vec();
        Ok(Self { buffer, shape, dtype, device: Device::Cuda(cuda.clone()) })
    }

    /// Where it lies on its GPU, for kernels that know it is on one.
    pub(crate) fn address(&self) -> u64 {
        match &*self.buffer {
            Buffer::Cuda(memory) => memory.address(),
            Buffer::Cpu(_) => unreachable!("a kernel must be given tensors of its own device"),
        }
    }

    /// Puts other numbers in the place of these: how a recorded step gets its next inputs. On a GPU the memory stays
    /// the same, and clones see the new numbers; on the CPU clones keep the old ones.
    pub fn overwrite<T: Element>(&mut self, values: &[T]) -> Result<(), EngineError> {
        require_shape("overwrite", "the new values", &[values.len()], &[self.len()])?;
        if T::DTYPE != self.dtype {
            return Err(EngineError::dtype("overwriting a tensor", "the new values", self.dtype, T::DTYPE));
        }
        if let (Buffer::Cuda(memory), Device::Cuda(cuda)) = (&*self.buffer, &self.device) {
            return cuda.write(memory, values);
        }
        *self = Self::from_slice(&self.device, &self.shape, values)?;
        Ok(())
    }

    /// Writes some elements of a tensor on a GPU, from number `first` on; clones see them.
    pub(crate) fn write_on_cuda(&self, cuda: &Cuda, first: usize, values: &[f32]) -> Result<(), EngineError> {
        match &*self.buffer {
            Buffer::Cuda(memory) => cuda.write_at(memory, first * size_of::<f32>(), values),
            Buffer::Cpu(_) => unreachable!("a tensor on a GPU"),
        }
    }

    /// Copies some of the numbers of a tensor on a GPU back.
    pub(crate) fn read_on_cuda(&self, cuda: &Cuda, part: Range<usize>) -> Result<Vec<f32>, EngineError> {
        match &*self.buffer {
            Buffer::Cuda(memory) => cuda.download_part(memory, part),
            Buffer::Cpu(_) => unreachable!("a tensor on a GPU"),
        }
    }

    /// A tensor in main memory, filled by `fill`, which must write every element.
    pub(crate) fn compute<T: Element>(cpu: &Cpu, shape: &[usize], fill: impl FnOnce(&mut [T])) -> Self {
        let mut memory = cpu.memory(bytes_of(shape, size_of::<T>()));
        fill(memory.slice_mut());
        Self {
            buffer: Arc::new(Buffer::Cpu(memory)),
            shape: shape.to_vec(),
            dtype: T::DTYPE,
            device: Device::Cpu(cpu.clone()),
        }
    }

    /// Copies the numbers back.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, EngineError> {
        if T::DTYPE != self.dtype {
            return Err(EngineError::dtype("reading a tensor", "it", T::DTYPE, self.dtype));
        }
        match &*self.buffer {
            Buffer::Cpu(memory) => Ok(memory.slice().to_vec()),
            Buffer::Cuda(memory) => match &self.device {
                Device::Cuda(cuda) => cuda.download(memory),
                Device::Cpu(_) => Ok(Vec::new()),
            },
        }
    }

    /// The lengths of its axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The kind of its elements.
    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Where it lives.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same memory under another shape.
    pub(crate) fn reshape(&self, shape: &[usize]) -> Result<Self, EngineError> {
        require_shape("reshape", "the element count", &[self.len()], &[shape.iter().product()])?;
        Ok(Self { shape: shape.to_vec(), ..self.clone() })
    }

    /// Its numbers in main memory, for kernels that know where and what it is.
    pub(crate) fn cpu<T: Element>(&self) -> &[T] {
        assert_eq!(T::DTYPE, self.dtype, "a kernel must ask for the kind a tensor holds");
        match &*self.buffer {
            Buffer::Cpu(memory) => memory.slice(),
            Buffer::Cuda(_) => &[],
        }
    }

    /// Its numbers, to be overwritten, if nobody else holds this memory.
    pub(crate) fn cpu_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        assert_eq!(T::DTYPE, self.dtype, "a kernel must ask for the kind a tensor holds");
        match Arc::get_mut(&mut self.buffer)? {
            Buffer::Cpu(memory) => Some(memory.slice_mut()),
            Buffer::Cuda(_) => None,
        }
    }

    /// Its numbers, to be changed. Whoever holds a clone keeps the numbers as they were.
    pub(crate) fn own_cpu_mut<T: Element>(&mut self) -> Result<&mut [T], EngineError> {
        if self.cpu_mut::<T>().is_none() {
            *self = Self::from_slice(&self.device, &self.shape, self.cpu::<T>())?;
        }
        let shared = || EngineError::shape("a change in place", "the tensor", "its own memory", &[]);
        self.cpu_mut().ok_or_else(shared)
    }
}
