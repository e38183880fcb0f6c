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
/// What allocations are aligned to. More would make the allocator write zeros itself, where the system has pages of
/// them already.
const PLAIN_ALIGNMENT: usize = 16;
/// Sizes are rounded to this, so that nearly equal requests share blocks.
const GRAIN: usize = 4096;
/// Blocks from this size on are cut from slabs.
const LARGE: usize = 64 * 1024;
/// The size of a slab: several of the system's huge pages, each of which is made at once where small ones are made one
/// by one.
const SLAB: usize = 16 << 20;
/// What is named in the message when more is asked for than any memory has.
const LARGEST: Layout = match Layout::from_size_align(isize::MAX as usize - (ALIGNMENT - 1), ALIGNMENT) {
    Ok(layout) => layout,
    Err(_) => Layout::new::<u8>(),
};

/// Memory that is free.
#[derive(Debug, Default)]
pub(crate) struct Store(Mutex<Free>);

#[derive(Debug, Default)]
struct Free {
    /// Blocks that were given back, by size.
    blocks: BTreeMap<usize, Vec<Block>>,
    /// The slab that large blocks are cut from, and how much of it is gone.
    slab: Option<(Arc<Slab>, usize)>,
}

/// One allocation, of zeros at first.
#[derive(Debug)]
struct Slab {
    allocation: NonNull<u8>,
    layout: Layout,
}

/// Some bytes of a slab from the beginning of a cache line on; always initialised.
#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    size: usize,
    /// Where the bytes lie, for as long as anybody has some of them.
    _slab: Arc<Slab>,
}

// SAFETY: whoever holds a slab follows its pointer only inside the blocks that are its own.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}
// SAFETY: a block owns its bytes.
unsafe impl Send for Block {}
// SAFETY: shared access only reads.
unsafe impl Sync for Block {}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `Slab::of`.
        unsafe { dealloc(self.allocation.as_ptr(), self.layout) }
    }
}

impl Slab {
    /// A slab with room for aligned blocks of `size` bytes in all.
    fn of(size: usize) -> Arc<Self> {
        let room = size.checked_add(ALIGNMENT);
        let layout = room.and_then(|room| Layout::from_size_align(room, PLAIN_ALIGNMENT).ok());
        let layout = layout.unwrap_or_else(|| handle_alloc_error(LARGEST));
        // SAFETY: the size is not zero.
        let allocation = unsafe { alloc_zeroed(layout) };
        let Some(allocation) = NonNull::new(allocation) else { handle_alloc_error(layout) };
        ask_for_huge_pages(allocation, layout.size());
        Arc::new(Self { allocation, layout })
    }

    /// The block from an aligned place on, which must be free and inside.
    fn block(self: Arc<Self>, at: usize, size: usize) -> Block {
        let first = self.allocation.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: the slab has a whole cache line to spare.
        let start = unsafe { self.allocation.add(first + at) };
        Block { start, size, _slab: self }
    }
}

/// Asks for huge pages where they are given to those who ask; nothing depends on the answer.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(start: NonNull<u8>, size: usize) {
    if size >= SLAB / 2 {
        let skipped = start.as_ptr().align_offset(GRAIN);
        // SAFETY: whole pages of one allocation, whose content the request leaves alone.
        unsafe { libc::madvise(start.as_ptr().add(skipped).cast(), size - skipped, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: NonNull<u8>, _: usize) {}

impl Store {
    /// Memory for `bytes` bytes: zeros when it is fresh, whatever was there when it is reused.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Memory {
        let size = size_of_block(bytes).unwrap_or_else(|| handle_alloc_error(LARGEST));
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = free.blocks.get_mut(&size).and_then(Vec::pop);
        let block = reused.unwrap_or_else(|| free.fresh(size));
        drop(free);
        Memory { block: Some(block), bytes, home: self.clone() }
    }

    /// Memory of zeros, always fresh: what is not written costs nothing.
    pub(crate) fn take_zeros(self: &Arc<Self>, bytes: usize) -> Memory {
        let size = size_of_block(bytes).unwrap_or_else(|| handle_alloc_error(LARGEST));
        let block = self.0.lock().unwrap_or_else(PoisonError::into_inner).fresh(size);
        Memory { block: Some(block), bytes, home: self.clone() }
    }
}

impl Free {
    /// A block that nobody has written to.
    fn fresh(&mut self, size: usize) -> Block {
        if !(LARGE..=SLAB / 4).contains(&size) {
            return Slab::of(size).block(0, size);
        }
        let (slab, at) =
            self.slab.take().filter(|(_, gone)| gone + size <= SLAB).unwrap_or_else(|| (Slab::of(SLAB), 0));
        self.slab = Some((slab.clone(), at + size));
        slab.block(at, size)
    }
}

/// The size of the block that `bytes` bytes are kept in; none if no memory has so many.
fn size_of_block(bytes: usize) -> Option<usize> {
    let size = bytes.checked_next_multiple_of(if bytes < GRAIN { ALIGNMENT } else { GRAIN })?.max(ALIGNMENT);
    Layout::from_size_align(size, ALIGNMENT).is_ok().then_some(size)
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
        self.block.as_ref().map_or(std::ptr::dangling_mut::<u64>().cast(), |block| block.start.as_ptr())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let mut free = self.home.0.lock().unwrap_or_else(PoisonError::into_inner);
            free.blocks.entry(block.size).or_default().push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_memory_has_gets_no_block() {
        assert_eq!([0, 65, 4097].map(size_of_block), [Some(64), Some(128), Some(8192)]);
        for impossible in [usize::MAX, usize::MAX - 4095, isize::MAX as usize] {
            assert_eq!(size_of_block(impossible), None, "{impossible}");
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

    #[test]
    fn large_blocks_lie_beside_each_other_and_keep_to_themselves() {
        let store = Arc::new(Store::default());
        let sizes = [LARGE, 3 << 20, 4 << 20, 4 << 20, 4 << 20, 4 << 20, SLAB, 100];
        let mut all: Vec<Memory> = sizes.iter().map(|bytes| store.take(*bytes)).collect();
        assert_eq!(all[0].start().wrapping_add(LARGE), all[1].start());
        for (k, memory) in all.iter_mut().enumerate() {
            assert_eq!(memory.start().align_offset(ALIGNMENT), 0);
            assert!(memory.slice::<u8>().iter().all(|byte| *byte == 0));
            memory.slice_mut::<u8>().fill(k as u8);
        }
        drop(store);
        for (k, memory) in all.iter().enumerate() {
            assert!(memory.slice::<u8>().iter().all(|byte| *byte == k as u8));
        }
    }
}
