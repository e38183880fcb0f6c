//! Matrices packed for products: panels of a tile's columns, each contiguous along the inner dimension.

use std::ops::Range;

use super::{
    tile::TILE_VECTORS,
    unit::{Unit, units},
};
use crate::cpu::{
    Cpu,
    lanes::{Isa, Kernel, Lanes, Real},
    memory::Memory,
};

/// How many columns a panel has under an instruction set.
pub(crate) fn panel_width<R: Real>(isa: Isa) -> usize {
    struct Width;
    impl<R: Real> Kernel<R> for Width {
        type Output = usize;
        #[inline(always)]
        fn run<V: Lanes<Real = R>>(self) -> usize {
            TILE_VECTORS * V::COUNT
        }
    }
    R::dispatch(isa, Width)
}

/// How many rows a tile has under an instruction set.
pub(crate) fn tile_rows<R: Real>(isa: Isa) -> usize {
    struct Rows;
    impl<R: Real> Kernel<R> for Rows {
        type Output = usize;
        #[inline(always)]
        fn run<V: Lanes<Real = R>>(self) -> usize {
            V::TILE_ROWS
        }
    }
    R::dispatch(isa, Rows)
}

/// A right matrix \[k, n\] as panels \[n / width\]\[k units\]\[width\]; columns beyond n are zero.
pub(crate) struct Panels {
    memory: Memory,
    /// Inner dimension, in units.
    pub k: usize,
    /// The number of columns.
    pub n: usize,
    /// Columns per panel.
    pub width: usize,
}

/// How the matrix lies before it is packed.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    /// Column after column, each `stride` apart: a weight \[n, k\], or the keys of attention.
    ByColumn,
    /// Row after row: \[k, n\].
    ByRow,
}

/// A matrix \[k, n\] before it is packed.
#[derive(Clone, Copy)]
pub(crate) struct Unpacked<'a, E> {
    /// Its elements, from its first one on.
    pub values: &'a [E],
    /// Whether its columns or its rows are contiguous.
    pub order: Order,
    /// Inner dimension and columns.
    pub size: [usize; 2],
    /// How many elements lie from one column or row to the next.
    pub stride: usize,
}

impl Panels {
    /// Packs a matrix whose rows or columns are `stride` elements apart, on all threads.
    pub(crate) fn pack<U: Unit>(
        cpu: &Cpu,
        values: &[U::Element],
        order: Order,
        size: [usize; 2],
        stride: usize,
    ) -> Self {
        let width = panel_width::<U::Real>(cpu.isa());
        Self::pack_wide::<U>(cpu, Unpacked { values, order, size, stride }, width)
    }

    /// Packs the transpose of a left matrix: \[k, m\], row after row, as groups of a tile's rows.
    pub(crate) fn pack_left<U: Unit>(cpu: &Cpu, values: &[U::Element], [k, m]: [usize; 2]) -> Self {
        let matrix = Unpacked { values, order: Order::ByRow, size: [k, m], stride: m };
        Self::pack_wide::<U>(cpu, matrix, tile_rows::<U::Real>(cpu.isa()))
    }

    fn pack_wide<U: Unit>(cpu: &Cpu, matrix: Unpacked<'_, U::Element>, width: usize) -> Self {
        let [k, n] = matrix.size;
        let bytes = n.div_ceil(width) * width * units::<U>(k) * size_of::<U>();
        let mut panels = Self { memory: cpu.memory(bytes), k: units::<U>(k), n, width };
        let each = panels.k * width;
        cpu.for_pieces(panels.memory.slice_mut::<U>(), each, |panel, piece| {
            pack_panel(matrix, panel, width, piece);
        });
        panels
    }

    /// A view of all panels.
    pub(crate) fn view<U: Unit>(&self) -> PanelView<'_, U> {
        let panels = 0..self.n.div_ceil(self.width);
        PanelView { units: self.memory.slice(), panels, k: self.k, n: self.n, width: self.width }
    }
}

/// Some panels of a packed matrix.
#[derive(Clone)]
pub(crate) struct PanelView<'a, U> {
    /// The units of all panels.
    pub units: &'a [U],
    /// Which panels.
    pub panels: Range<usize>,
    /// Inner dimension, in units.
    pub k: usize,
    /// Columns of the whole matrix.
    pub n: usize,
    /// Columns per panel.
    pub width: usize,
}

impl<U> PanelView<'_, U> {
    /// Where a panel begins.
    #[inline(always)]
    pub(crate) fn pointer(&self, panel: usize) -> *const U {
        self.units[panel * self.k * self.width..].as_ptr()
    }

    /// A panel's columns.
    #[inline(always)]
    pub(crate) fn columns_of(&self, panel: usize) -> Range<usize> {
        panel * self.width..((panel + 1) * self.width).min(self.n)
    }

    /// Fewer panels.
    #[inline(always)]
    pub(crate) fn only(&self, panels: Range<usize>) -> Self {
        Self { panels, ..*self }
    }
}

/// Fills one panel.
#[inline(always)]
pub(crate) fn pack_panel<U: Unit>(
    matrix: Unpacked<'_, U::Element>,
    panel: usize,
    width: usize,
    piece: &mut [U],
) {
    let columns = panel * width..((panel + 1) * width).min(matrix.size[1]);
    if columns.len() < width {
        piece.fill(U::zeroed());
    }
    match matrix.order {
        Order::ByColumn => pack_columns(matrix, columns, width, piece),
        Order::ByRow => pack_rows(matrix, columns, width, piece),
    }
}

/// Packs columns that are contiguous: a block of sixteen units at a time, so that each cache line of the
/// source is read once while the block it scatters into stays in the first-level cache.
#[inline(always)]
fn pack_columns<U: Unit>(
    matrix: Unpacked<'_, U::Element>,
    columns: Range<usize>,
    width: usize,
    piece: &mut [U],
) {
    let Unpacked { values, size: [k, _], stride, .. } = matrix;
    const BLOCK: usize = 16;
    let all = units::<U>(k);
    for start in (0..all).step_by(BLOCK) {
        let end = (start + BLOCK).min(all);
        for (c, column) in columns.clone().enumerate() {
            let source = &values[column * stride..][..k];
            for unit in start..end {
                let at = unit * U::ELEMENTS;
                piece[unit * width + c] = U::join(source[at], source.get(at + 1).copied());
            }
        }
    }
}

/// Packs rows that are contiguous.
#[inline(always)]
fn pack_rows<U: Unit>(
    matrix: Unpacked<'_, U::Element>,
    columns: Range<usize>,
    width: usize,
    piece: &mut [U],
) {
    let Unpacked { values, size: [k, _], stride, .. } = matrix;
    for (unit, out) in piece.chunks_exact_mut(width).take(units::<U>(k)).enumerate() {
        let row = unit * U::ELEMENTS;
        let first = &values[row * stride..][columns.clone()];
        if U::ELEMENTS == 2 && row + 1 < k {
            let second = &values[(row + 1) * stride..][columns.clone()];
            for ((out, first), second) in out.iter_mut().zip(first).zip(second) {
                *out = U::join(*first, Some(*second));
            }
        } else {
            for (out, first) in out.iter_mut().zip(first) {
                *out = U::join(*first, None);
            }
        }
    }
}
