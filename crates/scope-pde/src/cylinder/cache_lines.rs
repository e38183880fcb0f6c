//! Numbers that begin at a cache line: a vector of eight that does not, and crosses into the next line, takes two reads.

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

/// Doubles in a line.
pub(super) const LINE: usize = 8;

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f64; LINE]);

/// A slice of doubles, whole lines of them.
#[derive(Clone, Debug)]
pub(super) struct CacheLines(Vec<Line>);

impl CacheLines {
    /// At least `count` zeros.
    pub(super) fn zeros(count: usize) -> Self {
        Self(vec![Line([0.0; LINE]); count.div_ceil(LINE)])
    }
}

impl Deref for CacheLines {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for CacheLines {
    fn deref_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}
