//! How cuDNN's backend interface is told of tensors, windows and operations.

use std::ffi::c_void;

use cudarc::cudnn::sys::{
    self, cudnnBackendAttributeName_t as Name, cudnnBackendAttributeType_t as Type, cudnnBackendDescriptor_t,
    cudnnBackendDescriptorType_t as Kind, cudnnDataType_t as Data,
};

use super::Pass;
use crate::{cuda::runtime::failed, error::EngineError};

/// One of the library's descriptors.
pub(super) struct Descriptor(pub(super) cudnnBackendDescriptor_t);

// SAFETY: used behind a lock.
unsafe impl Send for Descriptor {}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: made in `Descriptor::new`, not used again.
        unsafe { sys::cudnnBackendDestroyDescriptor(self.0) };
    }
}

impl Descriptor {
    pub(super) fn new(kind: Kind) -> Result<Self, EngineError> {
        let mut descriptor = std::ptr::null_mut();
        // SAFETY: writes one pointer.
        unsafe { sys::cudnnBackendCreateDescriptor(kind, &mut descriptor) }
            .result()
            .map_err(failed("describing a convolution"))?;
        Ok(Self(descriptor))
    }

    pub(super) fn with<V>(self, name: Name, kind: Type, values: &[V]) -> Result<Self, EngineError> {
        // SAFETY: the values are of the kind that the attribute takes, and copied.
        unsafe {
            sys::cudnnBackendSetAttribute(self.0, name, kind, values.len() as i64, values.as_ptr().cast())
        }
        .result()
        .map_err(failed("describing a convolution"))?;
        Ok(self)
    }

    pub(super) fn done(self) -> Result<Self, EngineError> {
        // SAFETY: all attributes it needs are set, or the library says which are not.
        unsafe { sys::cudnnBackendFinalize(self.0) }.result().map_err(failed("describing a convolution"))?;
        Ok(self)
    }

    /// Reads an attribute into `values`; gives back how many there are.
    pub(super) fn read<V>(&self, name: Name, kind: Type, values: &mut [V]) -> Result<usize, EngineError> {
        let mut count = 0_i64;
        // SAFETY: the values are of the kind that the attribute has, and at most so many are written.
        unsafe {
            sys::cudnnBackendGetAttribute(
                self.0,
                name,
                kind,
                values.len() as i64,
                &mut count,
                values.as_mut_ptr().cast::<c_void>(),
            )
        }
        .result()
        .map_err(failed("asking about convolutions"))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// A tensor of logical sizes \[n, c, h, w\] with channels last in memory.
    pub(super) fn tensor(id: i64, [n, c, h, w]: [usize; 4]) -> Result<Self, EngineError> {
        let sizes = [n as i64, c as i64, h as i64, w as i64];
        let strides = [(h * w * c) as i64, 1, (w * c) as i64, c as i64];
        Self::new(Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)?
            .with(
                Name::CUDNN_ATTR_TENSOR_DATA_TYPE,
                Type::CUDNN_TYPE_DATA_TYPE,
                &[Data::CUDNN_DATA_BFLOAT16],
            )?
            .with(Name::CUDNN_ATTR_TENSOR_DIMENSIONS, Type::CUDNN_TYPE_INT64, &sizes)?
            .with(Name::CUDNN_ATTR_TENSOR_STRIDES, Type::CUDNN_TYPE_INT64, &strides)?
            .with(Name::CUDNN_ATTR_TENSOR_UNIQUE_ID, Type::CUDNN_TYPE_INT64, &[id])?
            .with(Name::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Type::CUDNN_TYPE_INT64, &[16_i64])?
            .done()
    }

    /// A 3x3 window with a border of zeros, summed in f32.
    pub(super) fn window() -> Result<Self, EngineError> {
        let mode = sys::cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION;
        let mut window = Self::new(Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?
            .with(
                Name::CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                Type::CUDNN_TYPE_DATA_TYPE,
                &[Data::CUDNN_DATA_FLOAT],
            )?
            .with(Name::CUDNN_ATTR_CONVOLUTION_CONV_MODE, Type::CUDNN_TYPE_CONVOLUTION_MODE, &[mode])?
            .with(Name::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Type::CUDNN_TYPE_INT64, &[2_i64])?;
        for name in [
            Name::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
            Name::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
            Name::CUDNN_ATTR_CONVOLUTION_DILATIONS,
            Name::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        ] {
            window = window.with(name, Type::CUDNN_TYPE_INT64, &[1_i64, 1])?;
        }
        window.done()
    }
}

/// What the library calls an operation and its parts: x, w, y, window, and the two factors.
pub(super) fn names(pass: Pass) -> (Kind, [Name; 6]) {
    match pass {
        Pass::Forward => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
            ],
        ),
        Pass::Input => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
            ],
        ),
        Pass::Weight => (
            Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            [
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                Name::CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
            ],
        ),
    }
}
