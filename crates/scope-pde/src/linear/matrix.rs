//! Products and transposition of small dense matrices, row-major, over `matrixmultiply`.

use std::ops::Range;

use rustfft::num_complex::Complex;

#[cfg(target_arch = "x86_64")]
use super::avx512;

/// The inner dimension that `matrixmultiply` adds in one pass.
#[cfg(target_arch = "x86_64")]
const ONE_PASS: usize = 256;

/// Single or double precision.
pub trait Real: Copy + Send + Sync + Sealed {
    /// The number zero.
    const ZERO: Self;
    /// The number one.
    const ONE: Self;
}

use sealed::Sealed;

mod sealed {
    /// The product of one precision.
    pub trait Sealed: Sized {
        /// `matrixmultiply`'s own, with its demands.
        const GEMM: Gemm<Self>;
    }

    /// Sizes m, k, n; alpha; A and its strides; B and its strides; beta; C and its strides.
    pub(super) type Gemm<T> = unsafe fn(
        usize,
        usize,
        usize,
        T,
        *const T,
        isize,
        isize,
        *const T,
        isize,
        isize,
        T,
        *mut T,
        isize,
        isize,
    );

    impl Sealed for f64 {
        const GEMM: Gemm<f64> = matrixmultiply::dgemm;
    }

    impl Sealed for f32 {
        const GEMM: Gemm<f32> = matrixmultiply::sgemm;
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

/// A matrix seen through a slice: entry (i, j) is `data[i * row_stride + j * column_stride]`.
#[derive(Clone, Copy)]
pub struct View<'a, T = f64> {
    /// Where the entries lie; the first is entry (0, 0).
    pub data: &'a [T],
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// The distance from one row to the next.
    pub row_stride: usize,
    /// The distance from one column to the next.
    pub column_stride: usize,
}

impl<'a, T> View<'a, T> {
    /// A whole row-major matrix.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same entries with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    fn fits(&self) -> bool {
        let last = (self.rows.max(1) - 1) * self.row_stride + (self.columns.max(1) - 1) * self.column_stride;
        last < self.data.len()
    }
}

/// The destination of a product: rows of contiguous entries, `row_stride` apart.
pub struct ViewMut<'a, T = f64> {
    /// Where the entries lie; the first is entry (0, 0).
    pub data: &'a mut [T],
    /// The distance from one row to the next.
    pub row_stride: usize,
}

/// C = A B.
pub fn multiply<T: Real>(a: View<T>, b: View<T>, c: ViewMut<T>) {
    general_product(T::ONE, a, b, T::ZERO, c);
}

/// C = A B of doubles whose rows of B are contiguous: equal in bits to [`multiply`], and faster where there are wide
/// vectors.
pub(crate) fn multiply_rows(a: View, b: View, c: ViewMut) {
    #[cfg(target_arch = "x86_64")]
    if b.column_stride == 1 && a.columns <= ONE_PASS && avx512::is_available() {
        require_fit(&a, &b, &c);
        // SAFETY: the processor was asked, and every index lies inside its slice; `c` is borrowed exclusively.
        #[allow(unsafe_code)]
        return unsafe { avx512::multiply(a, b, c) };
    }
    multiply(a, b, c);
}

/// C = C + A B.
pub fn add_product<T: Real>(a: View<T>, b: View<T>, c: ViewMut<T>) {
    general_product(T::ONE, a, b, T::ONE, c);
}

/// C = C - A B.
pub(crate) fn subtract_product(a: View, b: View, c: ViewMut) {
    general_product(-1.0, a, b, 1.0, c);
}

/// Makes a square matrix of n rows symmetric by its lower triangle: both triangles are equal in every bit, as a factor
/// expects.
pub fn mirror_lower<T: Copy>(matrix: &mut [T], n: usize) {
    for i in 0..n {
        for j in 0..i {
            matrix[j * n + i] = matrix[i * n + j];
        }
    }
}

/// C = beta C + alpha A B.
#[allow(unsafe_code)]
fn general_product<T: Real>(alpha: T, a: View<T>, b: View<T>, beta: T, c: ViewMut<T>) {
    require_fit(&a, &b, &c);
    // SAFETY: every index the product touches lies inside its slice; `c` is borrowed exclusively, so it overlaps
    // neither operand.
    unsafe {
        (T::GEMM)(
            a.rows,
            a.columns,
            b.columns,
            alpha,
            a.data.as_ptr(),
            a.row_stride as isize,
            a.column_stride as isize,
            b.data.as_ptr(),
            b.row_stride as isize,
            b.column_stride as isize,
            beta,
            c.data.as_mut_ptr(),
            c.row_stride as isize,
            1,
        );
    }
}

/// Requires that the operands of a product fit each other and lie inside their slices.
fn require_fit<T>(a: &View<T>, b: &View<T>, c: &ViewMut<T>) {
    assert_eq!(a.columns, b.rows, "inner dimensions of a product");
    assert!(a.fits() && b.fits(), "operands lie inside their slices");
    assert!(b.columns <= c.row_stride, "rows of a product do not overlap");
    assert!(
        (a.rows.max(1) - 1) * c.row_stride + b.columns <= c.data.len(),
        "a product lies inside its slice"
    );
}

/// M X M^T for square matrices of one size: a linear map applied along both axes of a field.
pub(crate) fn along_both_axes(map: &[f64], field: &[f64], size: usize) -> Vec<f64> {
    let mut half = vec![0.0; size * size];
    let mut out = vec![0.0; size * size];
    let map = View::new(map, size, size);
    multiply_rows(map, View::new(field, size, size), ViewMut { data: &mut half, row_stride: size });
    multiply(View::new(&half, size, size), map.transposed(), ViewMut { data: &mut out, row_stride: size });
    out
}

/// A field \[S, S\] with the given interior \[S - 2, S - 2\] and zero on its edge.
pub(crate) fn with_zero_edge(interior: &[f64], size: usize) -> Vec<f64> {
    let inner = size - 2;
    let mut field = vec![0.0; size * size];
    for (row, inside) in field.chunks_exact_mut(size).skip(1).zip(interior.chunks_exact(inner)) {
        row[1..=inner].copy_from_slice(inside);
    }
    field
}

/// What matrices that are transposed consist of: doubles, alone or in pairs.
pub(crate) trait Transposable: Copy {
    /// Transposes what wide vectors can of some rows and columns, and perhaps of their neighbours; gives back how many
    /// rows and columns of the matrix they can.
    fn transpose_blocks(
        from: &[Self],
        to: &mut [Self],
        size: usize,
        rows: Range<usize>,
        columns: Range<usize>,
    ) -> usize;
}

macro_rules! transposable {
    ($entry:ty, $blocks:ident) => {
        impl Transposable for $entry {
            #[allow(unsafe_code)]
            #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
            fn transpose_blocks(
                from: &[Self],
                to: &mut [Self],
                size: usize,
                rows: Range<usize>,
                columns: Range<usize>,
            ) -> usize {
                #[cfg(target_arch = "x86_64")]
                if avx512::is_available() {
                    let [from, to] = [from.as_ptr().cast_mut(), to.as_mut_ptr()].map(<*mut Self>::cast);
                    // SAFETY: the processor was asked, `transpose_part` has checked lengths, rows and columns, and a
                    // complex number is two doubles.
                    return unsafe { avx512::$blocks(from, to, size, rows, columns) };
                }
                0
            }
        }
    };
}

transposable!(f64, transpose_numbers);
transposable!(Complex<f64>, transpose_pairs);

/// Writes the transpose of the square matrix `from` into `to`.
pub(crate) fn transpose<T: Transposable>(from: &[T], to: &mut [T], size: usize) {
    transpose_part(from, to, size, 0..size, 0..size);
}

/// The same for some rows and columns of `from`, in blocks that stay in the cache; what their neighbours become in `to`
/// is not meaningful.
pub(crate) fn transpose_part<T: Transposable>(
    from: &[T],
    to: &mut [T],
    size: usize,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    const BLOCK: usize = 8;
    assert!(from.len() == size * size && to.len() == size * size, "a square matrix");
    for part in [&rows, &columns] {
        assert!(part.start <= part.end && part.end <= size, "rows and columns of the matrix");
    }
    let done = T::transpose_blocks(from, to, size, rows.clone(), columns.clone());
    if done >= rows.end.max(columns.end) {
        return;
    }
    for upper in rows.clone().step_by(BLOCK) {
        for first in columns.clone().step_by(BLOCK) {
            for i in upper..(upper + BLOCK).min(rows.end) {
                let first_left = if i < done { first.max(done) } else { first };
                for j in first_left..(first + BLOCK).min(columns.end) {
                    to[j * size + i] = from[i * size + j];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let hash = |k: u64| (k + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        (0..count as u64).map(|k| hash(k) as f64 / (1_u64 << 52) as f64 - 1.0).collect()
    }

    /// Records are the same in every bit whichever of the two a processor runs.
    #[test]
    fn products_of_rows_are_equal_in_bits_to_all_others() {
        for [m, k, n] in [[1, 1, 1], [3, 5, 7], [8, 63, 16], [63, 63, 126], [64, 64, 128], [13, 256, 41]] {
            let a = numbers(m * k, 1);
            let b = numbers(k * (n + 3), 2);
            for a in [View::new(&a, m, k), View::new(&a, k, m).transposed()] {
                let b = View { row_stride: n + 3, ..View::new(&b, k, n) };
                let mut expected = numbers(m * (n + 1), 3);
                let mut got = expected.clone();
                multiply(a, b, ViewMut { data: &mut expected, row_stride: n + 1 });
                multiply_rows(a, b, ViewMut { data: &mut got, row_stride: n + 1 });
                assert!(got == expected, "{m} x {k} x {n}");
            }
        }
    }

    #[test]
    fn transposes_are_whole_for_every_size() {
        for size in [1, 3, 4, 7, 8, 12, 30, 126, 128] {
            let from = numbers(size * size, 4);
            let pairs: Vec<Complex<f64>> = from.iter().map(|x| Complex::new(*x, 2.0 * x)).collect();
            let mut to = vec![0.0; size * size];
            let mut to_pairs = vec![Complex::ZERO; size * size];
            transpose(&from, &mut to, size);
            transpose_part(&pairs, &mut to_pairs, size, 0..size - size / 4, size / 3..size);
            for (at, value) in to.iter().enumerate() {
                let back = at % size * size + at / size;
                assert_eq!(*value, from[back], "{size}: {at}");
                let is_part = at / size >= size / 3 && at % size < size - size / 4;
                assert!(!is_part || to_pairs[at] == pairs[back], "{size}: {at}");
            }
        }
    }
}
