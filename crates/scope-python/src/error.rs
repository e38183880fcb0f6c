//! Errors of the library as exceptions of Python.

use std::{error::Error, io};

use pyo3::{
    exceptions::{PyFileNotFoundError, PyOSError, PyValueError},
    prelude::*,
};

/// What the system refused is an `OSError`, and everything else that was given and cannot be used a `ValueError`; the
/// sentence is the library's.
pub(crate) fn refused<E: Error + 'static>(error: E) -> PyErr {
    let message = error.to_string();
    let mut next: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(at) = next {
        if let Some(system) = at.downcast_ref::<io::Error>() {
            return match system.kind() {
                io::ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
                _ => PyOSError::new_err(message),
            };
        }
        next = at.source();
    }
    PyValueError::new_err(message)
}

/// Something that cannot be used, in words.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}

/// A value as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(refused)
}
