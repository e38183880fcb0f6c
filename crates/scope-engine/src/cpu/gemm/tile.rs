//! The inner loops: a few rows of the left matrix against two vectors of columns of the right one.

use super::{finish::Finish, panels::PanelView, unit::Unit};
use crate::cpu::lanes::Lanes;

/// Vectors of columns per tile.
pub(crate) const TILE_VECTORS: usize = 2;

/// The left matrix of a product, in units: element (row, k) of segment s lies at
/// `base + (row / group) * group_jump + (row % group) * row_step + s * jump + k * step`.
///
/// A plain matrix is one group and one segment. Transposed rows come in packed groups with `row_step == 1`. A
/// convolution has a segment for each row of its window.
#[derive(Clone, Copy)]
pub(crate) struct Left<U> {
    /// The first element.
    pub base: *const U,
    /// Rows per group.
    pub group: usize,
    /// The distance from a group to the next.
    pub group_jump: usize,
    /// The distance from a row to the next within a group.
    pub row_step: usize,
    /// The distance from one unit of the inner dimension to the next.
    pub step: usize,
    /// Units per segment.
    pub run: usize,
    /// Segments of the inner dimension.
    pub segments: usize,
    /// The distance from a segment to the next.
    pub jump: usize,
}

// SAFETY: only read, by tasks that end before the matrix does.
unsafe impl<U: Sync> Send for Left<U> {}
// SAFETY: as above.
unsafe impl<U: Sync> Sync for Left<U> {}

impl<U> Left<U> {
    /// A row-major matrix with `k` units in a row and `stride` from row to row.
    pub(crate) fn rows(base: *const U, k: usize, stride: usize) -> Self {
        Self {
            base,
            group: usize::MAX,
            group_jump: 0,
            row_step: stride,
            step: 1,
            run: k,
            segments: 1,
            jump: 0,
        }
    }

    /// The rows of a packed transpose: panels \[row / width\]\[k\]\[width\].
    pub(crate) fn packed(panels: &PanelView<'_, U>) -> Self {
        let k = panels.k;
        let width = panels.width;
        Self {
            base: panels.units.as_ptr(),
            group: width,
            group_jump: k * width,
            row_step: 1,
            step: width,
            run: k,
            segments: 1,
            jump: 0,
        }
    }

    /// Where a row begins, counted from the base.
    #[inline(always)]
    fn offset(&self, row: usize) -> usize {
        (row / self.group) * self.group_jump + (row % self.group) * self.row_step
    }

    /// The same matrix from another first element.
    pub(crate) fn at(self, base: *const U) -> Self {
        Self { base, ..self }
    }
}

/// Rows `rows` of a product with the columns of some panels, on one thread.
///
/// # Safety
/// `left` and `finish` must have these rows, `finish` the panels' columns.
#[inline(always)]
pub(crate) unsafe fn multiply_rows<V, U>(
    left: &Left<U>,
    right: PanelView<'_, U>,
    rows: std::ops::Range<usize>,
    finish: &Finish<U::Real>,
) where
    U: Unit,
    V: Lanes<Real = U::Real>,
{
    for panel in right.panels.clone() {
        let columns = right.columns_of(panel);
        let mut row = rows.start;
        while row < rows.end {
            let count = (rows.end - row).min(V::TILE_ROWS);
            // SAFETY: rows and columns are inside by the loop bounds and the caller's promise.
            row += unsafe {
                let left = left.at(left.base.add(left.offset(row)));
                let right = right.pointer(panel);
                match count {
                    8.. => tile::<V, U, 8>(&left, right, finish, row, columns.clone()),
                    6..8 => tile::<V, U, 6>(&left, right, finish, row, columns.clone()),
                    4..6 => tile::<V, U, 4>(&left, right, finish, row, columns.clone()),
                    2..4 => tile::<V, U, 2>(&left, right, finish, row, columns.clone()),
                    _ => tile::<V, U, 1>(&left, right, finish, row, columns.clone()),
                }
            };
        }
    }
}

/// One tile of `ROWS` rows; gives back how many rows it did.
#[inline(always)]
unsafe fn tile<V, U, const ROWS: usize>(
    left: &Left<U>,
    mut right: *const U,
    finish: &Finish<U::Real>,
    row: usize,
    columns: std::ops::Range<usize>,
) -> usize
where
    U: Unit,
    V: Lanes<Real = U::Real>,
{
    let mut sums = [[V::splat(U::Real::default()); TILE_VECTORS]; ROWS];
    // SAFETY: the caller's promise.
    unsafe {
        for segment in 0..left.segments {
            let mut units = left.base.add(segment * left.jump);
            for _ in 0..left.run {
                let first = U::columns::<V>(right);
                let second = U::columns::<V>(right.add(V::COUNT));
                for (r, sum) in sums.iter_mut().enumerate() {
                    let unit = *units.add(r * left.row_step);
                    sum[0] = unit.multiply_add(first, sum[0]);
                    sum[1] = unit.multiply_add(second, sum[1]);
                }
                units = units.add(left.step);
                right = right.add(TILE_VECTORS * V::COUNT);
            }
        }
        for (r, sum) in sums.into_iter().enumerate() {
            for (v, value) in sum.into_iter().enumerate() {
                let column = columns.start + v * V::COUNT;
                if column < columns.end {
                    finish.apply(value, row + r, column, columns.end - column);
                }
            }
        }
    }
    ROWS
}
