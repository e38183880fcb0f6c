//! A fixed linear map along one axis: transforms, resizes, borders.

use std::{ops::Range, sync::Arc};

use crate::{
    constant::Constant,
    device::kernel,
    error::EngineError,
    ops::add,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

/// A fixed matrix A \[m, n\], with its transpose for the backward pass.
#[derive(Clone, Debug)]
pub struct AxisMap {
    pub(crate) there: Matrix,
    pub(crate) back: Matrix,
}

/// A fixed matrix, and where its rows are not zero.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    /// \[m, n\].
    pub(crate) entries: Constant,
    /// For each row, the columns from the first to the last entry that is not zero.
    pub(crate) bands: Arc<[Range<usize>]>,
    /// For GPUs: \[n, m\], with m padded with zeros to a multiple of eight.
    pub(crate) columns: Constant,
    /// For GPUs, if most entries are not zero: \[m, n\] with n padded with zeros to a multiple of eight, or the
    /// columns.
    pub(crate) dense: Option<Constant>,
    /// For GPUs: of each eight rows, where the bands together begin and end.
    pub(crate) eights: Constant,
}

impl Matrix {
    fn new(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let band = |row: usize| {
            let nonzero = |column: &usize| entry(row, *column) != 0.0;
            let first = (0..columns).find(nonzero).unwrap_or(0);
            first..(0..columns).rev().find(nonzero).map_or(first, |last| last + 1)
        };
        let bands: Arc<[Range<usize>]> = (0..rows).map(band).collect();
        let by_columns = {
            let filled = rows.next_multiple_of(8);
            let at = |row: usize, column| if row < rows { entry(row, column) } else { 0.0 };
            Constant::from_fn(&[columns, filled], |k| at(k % filled, k / filled))
        };
        Self {
            entries: Constant::from_fn(&[rows, columns], |k| entry(k / columns, k % columns)),
            dense: (2 * bands.iter().map(ExactSizeIterator::len).sum::<usize>() > rows * columns).then(
                || {
                    if turned([rows, columns]) {
                        return by_columns.clone();
                    }
                    let filled = columns.next_multiple_of(8);
                    let at = |row, column: usize| if column < columns { entry(row, column) } else { 0.0 };
                    Constant::from_fn(&[rows, filled], |k| at(k / filled, k % filled))
                },
            ),
            columns: by_columns,
            eights: {
                let of = |group: &[Range<usize>]| {
                    let nonzero = || group.iter().filter(|band| !band.is_empty());
                    let first = nonzero().map(|band| band.start).min().unwrap_or(0);
                    [first, nonzero().map(|band| band.end).max().unwrap_or(first)]
                };
                let ends: Vec<usize> = bands.chunks(8).flat_map(of).collect();
                Constant::from_fn(&[ends.len()], |k| ends[k] as f64)
            },
            bands,
        }
    }

    /// Whether the dense matrix lies transposed.
    pub(crate) fn turned(&self) -> bool {
        turned(self.sizes())
    }

    /// \[m, n\].
    pub(crate) fn sizes(&self) -> [usize; 2] {
        [self.entries.shape()[0], self.entries.shape()[1]]
    }
}

/// Of a matrix and its transpose, the library multiplies faster with the one whose rows are multiples of more numbers.
fn turned([m, n]: [usize; 2]) -> bool {
    let power = |length: usize| length.trailing_zeros().min(3);
    power(m) > power(n)
}

impl AxisMap {
    /// The map with these entries, from `columns` to `rows` numbers.
    pub fn new(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        Self {
            there: Matrix::new(rows, columns, &entry),
            back: Matrix::new(columns, rows, |row, column| entry(column, row)),
        }
    }

    /// Its matrix \[m, n\].
    pub fn matrix(&self) -> &Constant {
        &self.there.entries
    }
}

struct MapRecord {
    map: AxisMap,
    axis: usize,
    x: Var,
}

impl Tape<'_> {
    /// y\[p, i, q\] = sum over j of A\[i, j\] x\[p, j, q\], where p runs over the axes before `axis` and q over those
    /// after it; sums are kept at full width, and y has the precision of x.
    ///
    /// # Shapes
    /// x \[..., n, ...\], y \[..., m, ...\].
    pub fn map_axis(&self, x: &Var, axis: usize, map: &AxisMap) -> Result<Var, EngineError> {
        let x = add::widened(self, x)?;
        let value = apply(x.value(), axis, &map.there)?;
        let tracked = x.node().is_some();
        Ok(self.push(value, tracked, || Box::new(MapRecord { map: map.clone(), axis, x })))
    }
}

/// dx = A^T dy along the same axis.
impl Record for MapRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        flow.give(&self.x, apply(&gradient, self.axis, &self.map.back)?)
    }
}

fn with_axis(shape: &[usize], axis: usize, length: usize) -> Vec<usize> {
    shape.iter().enumerate().map(|(k, old)| if k == axis { length } else { *old }).collect()
}

fn apply(x: &Tensor, axis: usize, matrix: &Matrix) -> Result<Tensor, EngineError> {
    let [m, n] = matrix.sizes();
    if x.shape().get(axis) != Some(&n) {
        return Err(EngineError::shape(
            "a map along an axis",
            "its input",
            format!("{n} on axis {axis}"),
            x.shape(),
        ));
    }
    let shape = with_axis(x.shape(), axis, m);
    let outer = shape[..axis].iter().product();
    kernel!(x.device(), map_axis::apply(matrix, outer, x, &shape))
}
