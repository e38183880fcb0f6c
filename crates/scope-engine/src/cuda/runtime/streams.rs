//! The two streams of a GPU: the main one, in order, and a side stream for work that nothing waits for until later.
//!
//! Weight gradients are such work: the pass back through a network only needs gradients of activations. Beside it,
//! they fill the multiprocessors that the ends of its kernels leave idle.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use super::{
    Cuda, Memory, failed, locked,
    memory::{HeldBytes, MemoryPool},
};
use crate::{error::EngineError, tensor::Tensor};

/// How many counters kernels may use at once.
const COUNTERS: usize = 1 << 16;
/// The main stream waits for the other when that keeps more bytes than this from reuse.
const KEPT: usize = 160 << 20;
/// What products may use as scratch.
pub(super) const WORKSPACE: usize = 64 << 20;

/// A stream with what its kernels must not share with those of another.
pub(super) struct Stream {
    stream: Arc<CudaStream>,
    /// Where new tensors come from: the stream's own pool, or the arena of a graph that is being recorded.
    pool: Mutex<Arc<MemoryPool>>,
    /// Zeros that kernels count arrivals in and leave at zero.
    counters: Memory,
    /// Scratch of products.
    workspace: Memory,
}

/// The streams, and which one is asked now.
pub(super) struct Streams {
    all: [Stream; 2],
    current: AtomicUsize,
    /// What the second stream still reads.
    kept: Mutex<Vec<Tensor>>,
    held_bytes: Arc<HeldBytes>,
}

impl Stream {
    fn new(context: &Arc<CudaContext>, held_bytes: &Arc<HeldBytes>) -> Result<Self, EngineError> {
        let pool = Arc::new(MemoryPool::new(context.clone(), held_bytes.clone()));
        let stream = context.new_stream().map_err(failed("making a stream"))?;
        let bytes = COUNTERS * size_of::<u32>();
        let counters = pool.allocate(bytes)?;
        let workspace = pool.allocate(WORKSPACE)?;
        // SAFETY: just allocated, so long.
        unsafe { result::memset_d8_async(counters.address(), 0, bytes, stream.cu_stream()) }
            .map_err(failed("clearing memory"))?;
        Ok(Self { stream, pool: Mutex::new(pool), counters, workspace })
    }
}

impl Streams {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, EngineError> {
        let held_bytes = Arc::new(HeldBytes::default());
        let all = [Stream::new(context, &held_bytes)?, Stream::new(context, &held_bytes)?];
        Ok(Self { all, current: AtomicUsize::new(0), kept: Mutex::default(), held_bytes })
    }

    fn now(&self) -> &Stream {
        &self.all[self.current.load(Ordering::Relaxed) % 2]
    }

    /// Makes another stream wait for everything that was asked for so far.
    pub(super) fn precede(&self, other: &CudaStream) -> Result<(), EngineError> {
        let [main, side] = &self.all;
        other.join(&main.stream).map_err(failed("forking a stream"))?;
        // A side stream that has done nothing is no part of what is being recorded.
        if locked(&self.kept).is_empty() {
            return Ok(());
        }
        other.join(&side.stream).map_err(failed("forking a stream"))
    }

    /// Makes the main stream wait for another.
    pub(super) fn follow(&self, other: &CudaStream) -> Result<(), EngineError> {
        self.all[0].stream.join(other).map_err(failed("joining a stream"))
    }

    pub(super) fn current(&self) -> &Arc<CudaStream> {
        &self.now().stream
    }

    /// Gives both streams other pools; gives back those they had.
    pub(super) fn exchange(&self, pools: [Arc<MemoryPool>; 2]) -> [Arc<MemoryPool>; 2] {
        let mut pools = pools;
        for (stream, pool) in self.all.iter().zip(&mut pools) {
            std::mem::swap(&mut *locked(&stream.pool), pool);
        }
        pools
    }
}

impl Cuda {
    /// Does work on the side stream, after everything asked for so far. What it reads is kept until the streams
    /// join; what it allocates is used by later work of that stream only.
    pub(crate) fn on_side_stream<T>(
        &self,
        reads: &[&Tensor],
        work: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let streams = &self.0.streams;
        if streams.current.load(Ordering::Relaxed) == 1 {
            return work();
        }
        let [main, side] = &streams.all;
        let bytes = |tensor: &Tensor| tensor.len() * tensor.dtype().size();
        if locked(&streams.kept).iter().map(bytes).sum::<usize>() > KEPT {
            self.join_streams()?;
        }
        side.stream.join(&main.stream).map_err(failed("forking a stream"))?;
        locked(&streams.kept).extend(reads.iter().map(|tensor| (*tensor).clone()));
        streams.current.store(1, Ordering::Relaxed);
        let done = work();
        streams.current.store(0, Ordering::Relaxed);
        done
    }

    /// The main stream waits for the side stream, if that has done anything.
    pub(crate) fn join_streams(&self) -> Result<(), EngineError> {
        let streams = &self.0.streams;
        let kept = std::mem::take(&mut *locked(&streams.kept));
        if kept.is_empty() {
            return Ok(());
        }
        let [main, side] = &streams.all;
        main.stream.join(&side.stream).map_err(failed("joining a stream"))
    }

    /// How many bytes of its memory are held here: tensors, what is kept for reuse and for recorded work, and scratch.
    /// The driver's and the libraries' own come on top.
    pub fn memory_held(&self) -> usize {
        self.0.streams.held_bytes.held()
    }

    /// A pool of one's own, for recorded work.
    pub(super) fn new_pool(&self) -> Arc<MemoryPool> {
        Arc::new(MemoryPool::new(self.0.context.clone(), self.0.streams.held_bytes.clone()))
    }

    /// Memory for `bytes` bytes, of arbitrary content.
    pub(crate) fn memory(&self, bytes: usize) -> Result<Memory, EngineError> {
        let pool = locked(&self.0.streams.now().pool).clone();
        pool.allocate(bytes)
    }

    pub(super) fn stream(&self) -> sys::CUstream {
        self.0.streams.current().cu_stream()
    }

    /// Scratch of products on the current stream.
    pub(super) fn workspace(&self) -> u64 {
        self.0.streams.now().workspace.address()
    }

    /// The address of counters that are zero.
    pub(crate) fn counters(&self, count: usize) -> Result<u64, EngineError> {
        if count > COUNTERS {
            let reason = format!("{count} groups of columns are more than {COUNTERS}");
            return Err(EngineError::Cuda { call: "counting", reason });
        }
        Ok(self.0.streams.now().counters.address())
    }
}
