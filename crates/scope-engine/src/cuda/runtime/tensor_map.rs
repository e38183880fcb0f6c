//! Tensor maps: matrices as Hopper's Tensor Memory Accelerator (TMA) wants them described. It copies boxes of them to
//! shared memory and back.

use std::ffi::c_void;

use cudarc::driver::sys::{self, CUtensorMap};

use super::failed;
use crate::error::EngineError;

/// The description of a matrix.
pub(crate) type TensorMap = CUtensorMap;

/// Columns of a box: 128 bytes of bf16, the width whose chunks can change places.
const COLUMNS: u32 = 64;

/// A matrix of bf16 \[rows, columns\] at an address, row after row, in boxes of 64 columns and some rows. Rows must be
/// whole chunks of 16 bytes.
pub(crate) fn boxes(
    address: u64,
    [rows, columns]: [usize; 2],
    box_rows: u32,
) -> Result<TensorMap, EngineError> {
    let mut map = CUtensorMap { opaque: [0; 16] };
    let sizes = [columns as u64, rows as u64];
    let strides = [2 * columns as u64];
    let lengths = [COLUMNS, box_rows];
    let steps = [1_u32, 1];
    // SAFETY: writes one map; the arrays are as long as the rank asks for. The address is not read.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            2,
            address as *mut c_void,
            sizes.as_ptr(),
            strides.as_ptr(),
            lengths.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    }
    .result()
    .map_err(failed("describing a matrix"))?;
    Ok(map)
}
