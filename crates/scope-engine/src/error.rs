//! What can go wrong with tensors.

use thiserror::Error;

use crate::dtype::Dtype;

/// An error of this crate.
#[derive(Clone, Debug, Error, PartialEq)]
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
    Kind {
        /// The operation.
        operation: &'static str,
        /// Which of its arguments.
        what: &'static str,
        /// What it needs.
        expected: Dtype,
        /// What it got.
        got: Dtype,
    },
    /// Gradients were asked for in a precision that has none.
    #[error("gradients on the CPU are computed in f32 or f64, not in {0}: record in one of those")]
    NoGradients(Dtype),
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
    Err(EngineError::Shape { operation, what, expected: format!("{expected:?}"), got: got.to_vec() })
}
