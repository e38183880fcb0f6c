//! What can go wrong with tensors.

use thiserror::Error;

use crate::dtype::Dtype;

/// An error of this crate.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum EngineError {
    /// A tensor does not have the shape an operation needs.
    #[error("{operation}: {what} has shape {got:?}, expected {expected}")]
    Shape {
        /// The operation.
        operation: &'static str,
        /// Which of its arguments.
        what: &'static str,
        /// What it needs.
        expected: String,
        /// What it got.
        got: Vec<usize>,
    },
    /// A tensor does not hold the kind of number an operation needs.
    #[error("{operation}: {what} holds {got}, expected {expected}")]
    Dtype {
        /// The operation.
        operation: &'static str,
        /// Which of its arguments.
        what: &'static str,
        /// What it needs.
        expected: Dtype,
        /// What it got.
        got: Dtype,
    },
    /// Local fits that cannot be computed.
    #[error("local fits: {0}")]
    LocalFit(String),
    /// Gradients were asked for in a precision that has none.
    #[error("gradients are computed in f32 or f64 on the CPU and in f32 or bf16 on a GPU, not in {0} here")]
    NoGradients(Dtype),
    /// A GPU cannot be used, because something is missing or too old.
    #[error("CUDA cannot be used: {what}; {advice}, or compute on the CPU")]
    Unavailable {
        /// What is missing.
        what: String,
        /// What to do about it, to have a GPU.
        advice: String,
    },
    /// The machine does not have as much memory as parameters need.
    #[error("the parameters need {} MiB, and the machine does not give as much memory", wanted.div_ceil(1 << 20))]
    Memory {
        /// Bytes asked for.
        wanted: usize,
    },
    /// A GPU has too little memory.
    #[error(
        "the GPU has {} MiB of {} MiB free, and {} MiB more are needed: use a smaller batch or model",
        free >> 20, total >> 20, wanted.div_ceil(1 << 20)
    )]
    GpuMemory {
        /// Bytes asked for.
        wanted: usize,
        /// Bytes free.
        free: usize,
        /// Bytes of the GPU.
        total: usize,
    },
    /// A call to CUDA failed.
    #[error("CUDA: {call} failed: {reason}")]
    Cuda {
        /// The name of the call.
        call: &'static str,
        /// What it said.
        reason: String,
    },
    /// Backward passes that looked like others and were not, so that gradients were reduced over devices at the wrong
    /// time.
    #[error(
        "the backward passes of this step are not those of an earlier step like it, and their gradients were not \
         reduced over all devices"
    )]
    Reduction,
    /// A gradient was asked of a tape that records nothing.
    #[error("this tape records nothing, so it has no gradients: make it with Tape::recording")]
    NotRecording,
    /// Two things that must share a parameter layout do not.
    #[error("gradients of another parameter layout: expected {expected} numbers, got {got}")]
    Layout {
        /// Numbers in the parameters.
        expected: usize,
        /// Numbers in the other buffer.
        got: usize,
    },
}

impl EngineError {
    /// A tensor whose shape an operation cannot take.
    pub(crate) fn shape(
        operation: &'static str,
        what: &'static str,
        expected: impl Into<String>,
        got: &[usize],
    ) -> Self {
        Self::Shape { operation, what, expected: expected.into(), got: got.to_vec() }
    }

    /// A tensor whose kind of number an operation cannot take.
    pub(crate) fn dtype(operation: &'static str, what: &'static str, expected: Dtype, got: Dtype) -> Self {
        Self::Dtype { operation, what, expected, got }
    }
}

/// Checks a shape.
pub(crate) fn require_shape(
    operation: &'static str,
    what: &'static str,
    got: &[usize],
    expected: &[usize],
) -> Result<(), EngineError> {
    if got == expected {
        return Ok(());
    }
    Err(EngineError::shape(operation, what, format!("{expected:?}"), got))
}
