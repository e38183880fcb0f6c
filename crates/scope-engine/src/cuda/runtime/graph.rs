//! Work that is recorded once and replayed without asking for each kernel again.

use std::sync::Arc;

use cudarc::driver::{CudaGraph, sys};

use super::{Cuda, failed, memory::MemoryPool};
use crate::error::EngineError;

/// Recorded work on a GPU. It owns the memory its tensors were given while it was recorded, so nothing else can
/// take it between replays.
pub struct Graph {
    graph: CudaGraph,
    cuda: Cuda,
    /// Kept for as long as replays may write to them.
    arenas: [Arc<MemoryPool>; 2],
}

// SAFETY: the driver binds a graph to no thread and asks only that calls with it come one after the other. A graph is
// not `Sync`, so whoever shares it keeps it behind a lock; every call makes the context current on its own thread.
unsafe impl Send for Graph {}

impl Drop for Graph {
    /// The driver takes a graph apart on the thread at hand, which need not be the one that recorded it. Where the GPU
    /// is gone there is nothing to take apart.
    fn drop(&mut self) {
        let _ = self.cuda.0.context.bind_to_thread();
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "recorded work on {:?}", self.cuda)
    }
}

impl Graph {
    /// Does the work once, which compiles kernels and chooses algorithms, then records it without doing it.
    ///
    /// What `work` returns is what the recorded run returned: its tensors hold the results of the latest replay, and
    /// nothing sensible before the first. Work must not wait for the GPU, upload or download; inputs and numbers
    /// that change from replay to replay live in tensors that are overwritten ([`crate::Tensor::overwrite`]).
    pub fn record<T, E: From<EngineError>>(
        cuda: &Cuda,
        mut work: impl FnMut() -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        let arenas = [(); 2].map(|()| cuda.new_pool());
        Self::within(cuda, arenas.clone(), || {
            work()?;
            cuda.synchronise()?;
            // Choosing algorithms took memory that nobody will ask for again.
            arenas.iter().for_each(|arena| arena.trim());
            cuda.capture(&mut work)
        })
    }

    /// The same in the memory of this graph, which stays all there: the two are never at work together.
    pub fn record_after<T, E: From<EngineError>>(
        &self,
        mut work: impl FnMut() -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        Self::within(&self.cuda, self.arenas.clone(), || {
            work()?;
            self.cuda.synchronise()?;
            self.cuda.capture(&mut work)
        })
    }

    /// Records other work in the same memory, without doing it first: what it needs to know of the GPU, the work
    /// recorded before must have found out.
    pub fn record_beside<T, E: From<EngineError>>(
        &self,
        mut work: impl FnMut() -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        Self::within(&self.cuda, self.arenas.clone(), || self.cuda.capture(&mut work))
    }

    fn within<T, E>(
        cuda: &Cuda,
        arenas: [Arc<MemoryPool>; 2],
        record: impl FnOnce() -> Result<(CudaGraph, T), E>,
    ) -> Result<(Self, T), E> {
        let usual = cuda.0.streams.exchange(arenas.clone());
        let recorded = record();
        cuda.0.streams.exchange(usual);
        let (graph, value) = recorded?;
        Ok((Self { graph, cuda: cuda.clone(), arenas }, value))
    }

    /// Does the recorded work again.
    pub fn replay(&self) -> Result<(), EngineError> {
        self.graph.launch().map_err(failed("replaying a graph"))
    }
}

impl Cuda {
    /// Whether work is being recorded now, and not done.
    pub(super) fn is_recording(&self) -> bool {
        let status = self.0.streams.current().capture_status();
        status.is_ok_and(|status| status == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE)
    }

    /// How long the GPU takes for work, without the time to ask for it: it is recorded and then replayed, twice.
    pub(super) fn time_recorded(
        &self,
        mut work: impl FnMut() -> Result<(), EngineError>,
    ) -> Result<f64, EngineError> {
        let (graph, ()) = self.capture(&mut work)?;
        let replay = || graph.launch().map_err(failed("replaying a graph"));
        replay()?;
        self.time(replay)
    }

    fn capture<T, E: From<EngineError>>(
        &self,
        work: &mut impl FnMut() -> Result<T, E>,
    ) -> Result<(CudaGraph, T), E> {
        let stream = self.0.streams.current();
        // Relaxed: a tensor may still allocate, which the strict modes forbid although it is harmless here.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        stream.begin_capture(mode).map_err(failed("beginning a graph"))?;
        let value = work();
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).map_err(failed("ending a graph"));
        let value = value?;
        let empty =
            || EngineError::Cuda { call: "ending a graph", reason: "nothing was recorded".to_owned() };
        let graph = graph?.ok_or_else(empty)?;
        graph.upload().map_err(failed("uploading a graph"))?;
        Ok((graph, value))
    }
}
