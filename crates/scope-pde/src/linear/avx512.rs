//! Small matrices of doubles with 512-bit vectors: the products and transpositions that solvers spend their time in.
//!
//! A product adds in the order of `matrixmultiply`, fused as it does where there is such an instruction: results are
//! equal in bits with and without this file.

#![allow(unsafe_code)] // vectors; each use says why it is sound

use std::{arch::x86_64::*, ops::Range};

use super::matrix::{View, ViewMut};

/// Rows of a tile: two vectors of columns for each fill half of the registers.
const ROWS: usize = 8;
const LANES: usize = 8;

/// Whether the processor has what is used here.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma")
}

/// C = A B with contiguous rows of B.
///
/// # Safety
/// [`is_available`], and every entry of the operands lies inside its slice.
#[target_feature(enable = "avx512f,fma")]
pub(super) unsafe fn multiply(a: View, b: View, c: ViewMut) {
    let out = c.data.as_mut_ptr();
    for column in (0..b.columns).step_by(2 * LANES) {
        for row in (0..a.rows).step_by(ROWS) {
            // SAFETY: the caller's promise, for a tile of the result.
            unsafe {
                let out = out.add(row * c.row_stride + column);
                match a.rows - row {
                    ROWS.. => tile::<8>(a, row, b, column, out, c.row_stride),
                    7 => tile::<7>(a, row, b, column, out, c.row_stride),
                    6 => tile::<6>(a, row, b, column, out, c.row_stride),
                    5 => tile::<5>(a, row, b, column, out, c.row_stride),
                    4 => tile::<4>(a, row, b, column, out, c.row_stride),
                    3 => tile::<3>(a, row, b, column, out, c.row_stride),
                    2 => tile::<2>(a, row, b, column, out, c.row_stride),
                    _ => tile::<1>(a, row, b, column, out, c.row_stride),
                }
            }
        }
    }
}

/// `N` rows by two vectors of columns, the last ones cut where the matrix ends.
#[target_feature(enable = "avx512f,fma")]
unsafe fn tile<const N: usize>(a: View, row: usize, b: View, column: usize, out: *mut f64, stride: usize) {
    let left = b.columns - column;
    let masks = [mask(left), mask(left.saturating_sub(LANES))];
    let mut sums = [[_mm512_setzero_pd(); 2]; N];
    // SAFETY: rows and columns lie inside by the caller's promise; lanes beyond the last column are masked out.
    unsafe {
        let mut right = b.data.as_ptr().add(column);
        let mut factors = a.data.as_ptr().add(row * a.row_stride);
        for _ in 0..a.columns {
            let first = _mm512_maskz_loadu_pd(masks[0], right);
            let second = _mm512_maskz_loadu_pd(masks[1], right.wrapping_add(LANES));
            for (r, sum) in sums.iter_mut().enumerate() {
                let factor = _mm512_set1_pd(*factors.add(r * a.row_stride));
                sum[0] = _mm512_fmadd_pd(factor, first, sum[0]);
                sum[1] = _mm512_fmadd_pd(factor, second, sum[1]);
            }
            factors = factors.wrapping_add(a.column_stride);
            right = right.wrapping_add(b.row_stride);
        }
        for (r, sum) in sums.into_iter().enumerate() {
            let out = out.add(r * stride);
            _mm512_mask_storeu_pd(out, masks[0], sum[0]);
            _mm512_mask_storeu_pd(out.wrapping_add(LANES), masks[1], sum[1]);
        }
    }
}

/// The lanes of a vector with so many numbers left.
fn mask(left: usize) -> u8 {
    if left >= LANES { u8::MAX } else { (1 << left) - 1 }
}

/// The transpose of the whole 4 x 4 blocks of a square matrix of pairs that have some of the rows and columns; gives
/// back how many rows and columns of the matrix whole blocks cover.
///
/// # Safety
/// [`is_available`], both point at size x size pairs, and rows and columns are among theirs.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn transpose_pairs(
    from: *const [f64; 2],
    to: *mut [f64; 2],
    size: usize,
    rows: Range<usize>,
    columns: Range<usize>,
) -> usize {
    const EACH: usize = LANES / 2;
    let whole = size - size % EACH;
    // Rows of the result are written from left to right: a processor can wait for many reads at once, for few writes.
    for column in blocks::<EACH>(&columns, whole) {
        for row in blocks::<EACH>(&rows, whole) {
            // SAFETY: a block inside both matrices.
            unsafe {
                let from = from.add(row * size + column);
                let to = to.add(column * size + row);
                let rows: [__m512d; EACH] =
                    std::array::from_fn(|k| _mm512_loadu_pd(from.add(k * size).cast()));
                let [x, y] = [even(rows[0], rows[1]), even(rows[2], rows[3])];
                let [z, w] = [odd(rows[0], rows[1]), odd(rows[2], rows[3])];
                for (k, column) in [even(x, y), even(z, w), odd(x, y), odd(z, w)].into_iter().enumerate() {
                    _mm512_storeu_pd(to.add(k * size).cast(), column);
                }
            }
        }
    }
    whole
}

/// Where the blocks of `EACH` begin that have some of a range, in as many rows or columns as whole blocks cover.
fn blocks<const EACH: usize>(range: &Range<usize>, whole: usize) -> impl Iterator<Item = usize> + use<EACH> {
    (range.start / EACH * EACH..range.end.min(whole)).step_by(EACH)
}

/// The first and third pairs of both.
#[target_feature(enable = "avx512f")]
#[inline]
fn even(x: __m512d, y: __m512d) -> __m512d {
    _mm512_shuffle_f64x2::<0b10_00_10_00>(x, y)
}

/// The second and fourth pairs of both.
#[target_feature(enable = "avx512f")]
#[inline]
fn odd(x: __m512d, y: __m512d) -> __m512d {
    _mm512_shuffle_f64x2::<0b11_01_11_01>(x, y)
}

/// The same with 8 x 8 blocks of numbers.
///
/// # Safety
/// [`is_available`], both point at size x size numbers, and rows and columns are among theirs.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn transpose_numbers(
    from: *const f64,
    to: *mut f64,
    size: usize,
    rows: Range<usize>,
    columns: Range<usize>,
) -> usize {
    let whole = size - size % LANES;
    for column in blocks::<LANES>(&columns, whole) {
        for row in blocks::<LANES>(&rows, whole) {
            // SAFETY: a block inside both matrices.
            unsafe {
                let from = from.add(row * size + column);
                let to = to.add(column * size + row);
                let rows: [__m512d; 8] = std::array::from_fn(|k| _mm512_loadu_pd(from.add(k * size)));
                for (k, column) in turned(rows).into_iter().enumerate() {
                    _mm512_storeu_pd(to.add(k * size), column);
                }
            }
        }
    }
    whole
}

/// The columns of eight rows: pairs of neighbours first, then pairs of pairs, then halves.
#[target_feature(enable = "avx512f")]
#[inline]
fn turned(rows: [__m512d; 8]) -> [__m512d; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let pairs = [
        _mm512_unpacklo_pd(a, b),
        _mm512_unpackhi_pd(a, b),
        _mm512_unpacklo_pd(c, d),
        _mm512_unpackhi_pd(c, d),
        _mm512_unpacklo_pd(e, f),
        _mm512_unpackhi_pd(e, f),
        _mm512_unpacklo_pd(g, h),
        _mm512_unpackhi_pd(g, h),
    ];
    let [p, q, r, s, t, u, v, w] = pairs;
    let upper = [even(p, r), even(q, s), odd(p, r), odd(q, s)];
    let lower = [even(t, v), even(u, w), odd(t, v), odd(u, w)];
    let columns = |k: usize| (even(upper[k], lower[k]), odd(upper[k], lower[k]));
    let ((a, e), (b, f), (c, g), (d, h)) = (columns(0), columns(1), columns(2), columns(3));
    [a, b, c, d, e, f, g, h]
}
