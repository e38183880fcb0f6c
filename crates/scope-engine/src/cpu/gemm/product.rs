//! A product on all threads.

use super::{
    finish::{Finish, Out},
    panels::{PanelView, tile_rows},
    tile::{Left, multiply_rows},
    unit::Unit,
};
use crate::cpu::{
    Cpu,
    lanes::{Kernel, Lanes},
};

/// The bytes of the left matrix that a task keeps in the second-level cache.
const LEFT_BYTES: usize = 512 * 1024;
/// Inner units of one pass: a panel of this depth (256 KiB in single precision) stays in the second-level
/// cache while a task's rows go by.
pub(crate) const PASS: usize = 2048;

/// C\[m, n\] = left\[m, k\] right\[k, n\], finished.
///
/// Every element is summed in the same order whatever the number of threads and of rows.
///
/// # Safety
/// `left` must have `m` rows of the panels' inner dimension; every matrix of `finish` must be \[m, n\] (its
/// residual may have `period` rows), writable where it is an output, and nobody else may touch it.
pub(crate) unsafe fn multiply<U: Unit>(
    cpu: &Cpu,
    m: usize,
    left: Left<U>,
    right: PanelView<'_, U>,
    finish: Finish<U::Real>,
) {
    let long = left.segments == 1 && left.run > PASS && matches!(finish.out, Out::Real(_)) && !finish.gelu;
    if !long {
        // SAFETY: the caller's promise.
        return unsafe { pass(cpu, m, left, right, finish) };
    }
    for start in (0..left.run).step_by(PASS) {
        let run = PASS.min(left.run - start);
        let last = start + run == left.run;
        let mut partial = Finish { accumulate: finish.accumulate || start > 0, ..finish };
        if !last {
            partial = Finish { bias: std::ptr::null(), residual: std::ptr::null(), ..partial };
        }
        // SAFETY: a range of the inner dimension; the caller's promise.
        unsafe {
            let left = Left { base: left.base.add(start * left.step), run, ..left };
            let units = &right.units[start * right.width..];
            pass(cpu, m, left, PanelView { units, ..right.clone() }, partial);
        }
    }
}

/// One pass over (part of) the inner dimension.
unsafe fn pass<U: Unit>(
    cpu: &Cpu,
    m: usize,
    left: Left<U>,
    right: PanelView<'_, U>,
    finish: Finish<U::Real>,
) {
    let panels = right.panels.len();
    let per_row = left.run * left.segments * size_of::<U>();
    // A strip begins where a tile does: a packed left matrix lies in groups of a tile's rows, and no tile may reach
    // from one group into the next.
    let rows = (LEFT_BYTES / per_row.max(1)).clamp(64, 256).next_multiple_of(tile_rows::<U::Real>(cpu.isa()));
    let strips = m.div_ceil(rows);
    // Panels that share a strip of rows in cache; fewer when that would leave threads without work.
    let together = [4, 2].into_iter().find(|g| strips * panels >= 8 * g * cpu.threads()).unwrap_or(1);
    let groups = panels.div_ceil(together);
    cpu.for_each(strips * groups, |task| {
        let strip = task / groups;
        let group = task % groups;
        let first = right.panels.start + group * together;
        let work = Rows {
            left,
            right: right.only(first..(first + together).min(right.panels.end)),
            rows: strip * rows..((strip + 1) * rows).min(m),
            finish,
        };
        cpu.run(work);
    });
}

/// A strip of rows against a group of panels.
struct Rows<'a, U: Unit> {
    left: Left<U>,
    right: PanelView<'a, U>,
    rows: std::ops::Range<usize>,
    finish: Finish<U::Real>,
}

impl<U: Unit> Kernel<U::Real> for Rows<'_, U> {
    const HAS_BF16: bool = U::ELEMENTS > 1;
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes<Real = U::Real>>(self) {
        // SAFETY: `multiply`'s promise, for a part of its rows and panels.
        unsafe { multiply_rows::<V, U>(&self.left, self.right, self.rows, &self.finish) }
    }
}
