//! What happens to a tile of a product before it is written: bias, GELU, residual, rounding.

use crate::bfloat16::bf16;

use crate::cpu::{
    activation::gelu,
    lanes::{Lanes, Real, load_some, store_some, store_some_half},
};

/// Where a product's rows go.
#[derive(Clone, Copy)]
pub(crate) enum Out<R> {
    /// Rows are written at full width.
    Real(*mut R),
    /// Rows are rounded to bf16.
    Half(*mut bf16),
}

/// The last step of a product C\[row, column\]: `out = gelu(C + bias) + residual`, every part optional.
///
/// Pointers, because tasks write disjoint tiles of one matrix; whoever builds a `Finish` keeps the matrices
/// alive and large enough.
#[derive(Clone, Copy)]
pub(crate) struct Finish<R> {
    /// Where it goes.
    pub out: Out<R>,
    /// Elements from one row of every matrix here to the next.
    pub stride: usize,
    /// Where sums are integers: what one of them stands for is the product of its row's scale and its column's. Null
    /// elsewhere.
    pub row_scales: *const R,
    /// The scales of columns.
    pub column_scales: *const R,
    /// Where a row's integers stand for numbers only after something is taken from each: what. Null elsewhere.
    pub row_zeros: *const R,
    /// The sums of the columns' integers, for that.
    pub column_sums: *const R,
    /// Added to each row; null for none.
    pub bias: *const R,
    /// Whether to apply GELU.
    pub gelu: bool,
    /// Keeps the value before GELU, for its gradient; null to drop it.
    pub before: *mut R,
    /// Added last; null for none.
    pub residual: *const R,
    /// The residual's rows repeat with this period.
    pub period: usize,
    /// Adds to what `out` holds.
    pub accumulate: bool,
}

// SAFETY: the pointers are only followed inside tasks whose tiles are disjoint.
unsafe impl<R: Send> Send for Finish<R> {}
// SAFETY: as above.
unsafe impl<R: Sync> Sync for Finish<R> {}

impl<R: Real> Finish<R> {
    /// A last step that only writes.
    pub(crate) fn plain(out: Out<R>, stride: usize) -> Self {
        Self {
            out,
            stride,
            row_scales: std::ptr::null(),
            column_scales: std::ptr::null(),
            row_zeros: std::ptr::null(),
            column_sums: std::ptr::null(),
            bias: std::ptr::null(),
            gelu: false,
            before: std::ptr::null_mut(),
            residual: std::ptr::null(),
            period: usize::MAX,
            accumulate: false,
        }
    }

    /// The same for matrices that begin `rows` rows further on. Not for residuals that repeat.
    ///
    /// # Safety
    /// Every matrix must have these rows.
    pub(crate) unsafe fn moved_down(self, rows: usize) -> Self {
        let by = rows * self.stride;
        // SAFETY: the caller's promise; a null pointer stays what it is.
        unsafe {
            let on = |at: *const R| if at.is_null() { at } else { at.add(by) };
            Self {
                out: match self.out {
                    Out::Real(out) => Out::Real(out.add(by)),
                    Out::Half(out) => Out::Half(out.add(by)),
                },
                before: on(self.before).cast_mut(),
                residual: on(self.residual),
                ..self
            }
        }
    }

    /// Finishes up to one vector of a row.
    ///
    /// # Safety
    /// Row `row`, columns `column .. column + count` must exist in every matrix named here.
    #[inline(always)]
    pub(crate) unsafe fn apply<V: Lanes<Real = R>>(&self, value: V, row: usize, column: usize, count: usize) {
        let count = count.min(V::COUNT);
        let at = row * self.stride + column;
        let mut value = value;
        // SAFETY: the caller's promise.
        unsafe {
            let read = |from: *const R| load_some::<V>(std::slice::from_raw_parts(from, count));
            if !self.row_scales.is_null() {
                let scales = read(self.column_scales.add(column)).mul(V::splat(*self.row_scales.add(row)));
                value = value.integers_to_numbers();
                if !self.row_zeros.is_null() {
                    let zeros = read(self.column_sums.add(column)).mul(V::splat(*self.row_zeros.add(row)));
                    value = value.sub(zeros);
                }
                value = value.mul(scales);
            }
            if !self.bias.is_null() {
                value = value.add(read(self.bias.add(column)));
            }
            if !self.before.is_null() {
                store_some(value, std::slice::from_raw_parts_mut(self.before.add(at), count));
            }
            if self.gelu {
                value = gelu(value);
            }
            if !self.residual.is_null() {
                let from = if self.period == usize::MAX { row } else { row % self.period };
                value = value.add(read(self.residual.add(from * self.stride + column)));
            }
            match self.out {
                Out::Real(out) => {
                    if self.accumulate {
                        value = value.add(read(out.add(at)));
                    }
                    store_some(value, std::slice::from_raw_parts_mut(out.add(at), count));
                }
                Out::Half(out) => {
                    store_some_half(value, std::slice::from_raw_parts_mut(out.add(at), count));
                }
            }
        }
    }

    /// Finishes one number, without GELU.
    ///
    /// # Safety
    /// Row and column must exist in every matrix named here.
    pub(crate) unsafe fn apply_one(&self, value: R, row: usize, column: usize) {
        let at = row * self.stride + column;
        let mut value = value;
        // SAFETY: the caller's promise.
        unsafe {
            if !self.bias.is_null() {
                value += *self.bias.add(column);
            }
            if !self.residual.is_null() {
                value += *self.residual.add(at);
            }
            match self.out {
                Out::Real(out) => *out.add(at) = value,
                Out::Half(out) => *out.add(at) = bf16::from_f64(value.wide()),
            }
        }
    }
}
