//! Memory that is given back for reuse: a step that repeats allocates nothing after its first time.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    collections::BTreeMap,
    ptr::NonNull,
    sync::{Arc, Mutex, PoisonError},
};

use bytemuck::Pod;

/// Every block begins at a cache line.
const ALIGNMENT: usize = 64;
/// What allocations are aligned to. More would make the allocator write zeros itself, where the system has pages of them
/// already.
const PLAIN_ALIGNMENT: usize = 16;
/// Sizes are rounded to this, so that nearly equal requests share blocks.
const GRAIN: usize = 4096;
/// What is named in the message when more is asked for than any memory has.
const LARGEST: Layout = match Layout::from_size_align(isize::MAX as usize - (ALIGNMENT - 1), ALIGNMENT) {
    Ok(layout) => layout,
    Err(_) => Layout::new::<u8>(),
};

/// Blocks that are free, by size.
#[derive(Debug, Default)]
pub(crate) struct Store(Mutex<BTreeMap<usize, Vec<Block>>>);

/// An allocation with a cache line to spare, so that it has an aligned beginning; always initialised.
#[derive(Debug)]
struct Block {
    allocation: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block owns its bytes.
unsafe impl Send for Block {}
// SAFETY: shared access only reads.
unsafe impl Sync for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `Block::fresh`.
        unsafe { dealloc(self.allocation.as_ptr(), self.layout) }
    }
}

impl Store {
    /// Memory for `bytes` bytes: zeros when it is fresh, whatever was there when it is reused.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Memory {
        let layout = layout_of(bytes).unwrap_or_else(|| handle_alloc_error(LARGEST));
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let block = free.get_mut(&layout.size()).and_then(Vec::pop);
        drop(free);
        let block = block.unwrap_or_else(|| Block::fresh(layout));
        Memory { block: Some(block), bytes, home: self.clone() }
    }

    /// Memory of zeros, always fresh: what is not written costs nothing.
    pub(crate) fn take_zeros(self: &Arc<Self>, bytes: usize) -> Memory {
        let layout = layout_of(bytes).unwrap_or_else(|| handle_alloc_error(LARGEST));
        Memory { block: Some(Block::fresh(layout)), bytes, home: self.clone() }
    }
}

/// The allocation that `bytes` bytes are kept in; none if no memory has so many.
fn layout_of(bytes: usize) -> Option<Layout> {
    let size = bytes.checked_next_multiple_of(if bytes < GRAIN { ALIGNMENT } else { GRAIN })?;
    Layout::from_size_align(size.max(ALIGNMENT).checked_add(ALIGNMENT)?, PLAIN_ALIGNMENT).ok()
}

impl Block {
    fn fresh(layout: Layout) -> Self {
        // SAFETY: the size is not zero.
        let allocation = unsafe { alloc_zeroed(layout) };
        match NonNull::new(allocation) {
            Some(allocation) => Self { allocation, layout },
            None => handle_alloc_error(layout),
        }
    }

    /// The first cache line that begins inside.
    fn start(&self) -> *mut u8 {
        let allocation = self.allocation.as_ptr();
        // SAFETY: the allocation has a whole cache line to spare.
        unsafe { allocation.add(allocation.align_offset(ALIGNMENT)) }
    }
}

/// A piece of memory that returns to its store when it is dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Present until it is dropped.
    block: Option<Block>,
    bytes: usize,
    home: Arc<Store>,
}

impl Memory {
    /// Reads it as numbers.
    pub(crate) fn slice<T: Pod>(&self) -> &[T] {
        let start = self.start().cast_const().cast::<T>();
        // SAFETY: initialised, aligned to a cache line, `bytes` long, and any bytes are a `T`.
        unsafe { std::slice::from_raw_parts(start, self.bytes / size_of::<T>()) }
    }

    /// Writes it as numbers.
    pub(crate) fn slice_mut<T: Pod>(&mut self) -> &mut [T] {
        let start = self.start().cast::<T>();
        // SAFETY: as in `slice`, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(start, self.bytes / size_of::<T>()) }
    }

    fn start(&self) -> *mut u8 {
        self.block.as_ref().map_or(std::ptr::dangling_mut::<u64>().cast(), Block::start)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let mut free = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
            free.entry(block.layout.size()).or_default().push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_has_gets_no_block() {
        let size = |bytes: usize| layout_of(bytes).map(|layout| layout.size());
        assert_eq!([size(0), size(65), size(4097)], [Some(128), Some(192), Some(8256)]);
        for impossible in [usize::MAX, usize::MAX - 4095, isize::MAX as usize] {
            assert_eq!(size(impossible), None, "{impossible}");
        }
        assert!(LARGEST.size() > 1 << 40 || usize::BITS < 64);
    }

    #[test]
    fn memory_comes_back_to_whoever_asks_for_the_same_size() {
        let store = Arc::new(Store::default());
        let mut first = store.take(10_000);
        assert!(first.slice::<f32>().iter().all(|x| *x == 0.0));
        first.slice_mut::<f32>()[3] = 5.0;
        let start = first.start();
        drop(first);
        let again = store.take(9_000);
        assert_eq!((again.start(), again.slice::<f32>().len(), again.slice::<f32>()[3]), (start, 2250, 5.0));
        assert_ne!(store.take(9_000).start(), start);
        drop(again);
        assert!(store.take_zeros(9_000).slice::<f32>().iter().all(|x| *x == 0.0));
        assert_eq!(start.align_offset(ALIGNMENT), 0);
    }
}
