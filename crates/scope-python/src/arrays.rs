//! Arrays of the library as arrays of numpy, without copies.

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ndarray::ArrayView2};
use pyo3::{PyClass, prelude::*};
use scope::pde::GridShape;

use crate::error::invalid;

/// A field \[rows, columns\] of an object as an array that keeps the object alive and cannot be written to.
pub(crate) fn field_of<'py, T: PyClass>(
    owner: &Bound<'py, T>,
    values: &[f32],
    grid: GridShape,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let view = ArrayView2::from_shape((grid.rows, grid.columns), values)
        .map_err(|error| invalid(error.to_string()))?;
    // SAFETY: the values belong to `owner`, which never changes them (its class is frozen) and lives as long as the
    // array.
    #[allow(unsafe_code)]
    let array = unsafe { PyArray2::borrow_from_array(&view, owner.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// The numbers of an array, whatever its strides are.
pub(crate) fn numbers(array: &PyReadonlyArray1<'_, f64>) -> Vec<f64> {
    array.as_array().iter().copied().collect()
}

/// The points of an array \[n, 2\].
pub(crate) fn points(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<[f64; 2]>> {
    let array = array.as_array();
    if array.ncols() != 2 {
        return Err(invalid(format!("points have the shape {:?}: expected (n, 2), x and y", array.shape())));
    }
    Ok(array.rows().into_iter().map(|row| [row[0], row[1]]).collect())
}
