//! Memory on the GPU that is given back for reuse.
//!
//! One stream does everything in order, so a block may be handed out again as soon as its tensor is dropped, even
//! while kernels that use it are still waiting: whatever its next user does comes after them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use cudarc::driver::{CudaContext, result};

use super::locked;
use crate::error::EngineError;

/// Sizes are rounded to this.
const GRAIN: usize = 512;

/// How many bytes all pools of a GPU hold, in use or free for reuse.
#[derive(Debug, Default)]
pub(super) struct HeldBytes(AtomicUsize);

impl HeldBytes {
    pub(super) fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Blocks that are free, by size.
pub(crate) struct MemoryPool {
    context: Arc<CudaContext>,
    held_bytes: Arc<HeldBytes>,
    free: Mutex<BTreeMap<usize, Vec<u64>>>,
}

impl std::fmt::Debug for MemoryPool {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "memory of GPU {}", self.context.ordinal())
    }
}

impl MemoryPool {
    pub(super) fn new(context: Arc<CudaContext>, held_bytes: Arc<HeldBytes>) -> Self {
        Self { context, held_bytes, free: Mutex::default() }
    }

    /// Memory for `bytes` bytes: the smallest free block that does not waste a fifth of itself, or a fresh one.
    pub(super) fn allocate(self: &Arc<Self>, bytes: usize) -> Result<Memory, EngineError> {
        let size = bytes.max(1).next_multiple_of(GRAIN);
        let found = {
            let mut free = locked(&self.free);
            let fits = free.range_mut(size..=size + size / 4).find(|(_, blocks)| !blocks.is_empty());
            fits.and_then(|(size, blocks)| blocks.pop().map(|address| (*size, address)))
        };
        let (size, address) = match found {
            Some(block) => block,
            None => (size, self.allocate_fresh(size)?),
        };
        Ok(Memory { address, size, bytes, pool: self.clone() })
    }

    fn allocate_fresh(&self, size: usize) -> Result<u64, EngineError> {
        self.context.bind_to_thread().map_err(super::failed("using the GPU on this thread"))?;
        // SAFETY: the address is freed once, when the pool is dropped.
        unsafe { result::malloc_sync(size) }
            .map_err(|error| match result::mem_get_info() {
                Ok((free, total)) => EngineError::GpuMemory { wanted: size, free, total },
                Err(_) => super::failed("allocating memory")(error),
            })
            .inspect(|_| _ = self.held_bytes.0.fetch_add(size, Ordering::Relaxed))
    }

    /// Gives the blocks that are free back to the GPU.
    pub(super) fn trim(&self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        for (size, addresses) in std::mem::take(&mut *locked(&self.free)) {
            for address in addresses {
                // SAFETY: allocated in `allocate_fresh`; freeing waits for kernels that still use it. If it fails, the
                // process is ending and the driver frees it.
                let _ = unsafe { result::free_sync(address) };
                self.held_bytes.0.fetch_sub(size, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        self.trim();
    }
}

/// A piece of memory that returns to its pool when it is dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    address: u64,
    /// What the pool gave.
    size: usize,
    /// What was asked for.
    bytes: usize,
    pool: Arc<MemoryPool>,
}

impl Memory {
    /// Where it begins, on the GPU.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        locked(&self.pool.free).entry(self.size).or_default().push(self.address);
    }
}
