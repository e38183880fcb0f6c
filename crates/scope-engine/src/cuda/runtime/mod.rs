//! What of CUDA itself kernels need: the GPU and its streams, memory, graphs, launches, and NVIDIA's libraries.
//!
//! Everything that calls them is in this folder. Where CUDA cannot be, `runtime_absent.rs` stands in its place: the
//! same interface on types without values.

#![allow(unsafe_code)] // calls into the libraries and addresses on the GPU; each use says why it is sound

mod autotune;
mod cache;
mod cublaslt;
mod cudnn;
mod graph;
mod launch;
mod libraries;
mod memory;
mod nccl;
mod nvrtc;
mod streams;
mod tensor_map;

use std::{
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use cudarc::driver::{CudaContext, CudaEvent, result, sys};

use crate::{dtype::Element, error::EngineError};

pub use graph::Graph;
pub(crate) use memory::Memory;
pub use nccl::{NCCL_ID, Nccl};
pub(crate) use tensor_map::{TensorMap, boxes};

use autotune::Algorithms;
use cache::Cache;
use cublaslt::Products;
use cudnn::Convolutions;
use launch::Kernels;
use streams::Streams;

/// The oldest GPUs whose kernels these are: those with bf16 in their tensor cores.
const OLDEST: (i32, i32) = (8, 0);

/// An NVIDIA GPU: its streams, its memory, and the libraries that compute on it.
#[derive(Clone, Debug)]
pub struct Cuda(Arc<Inner>);

struct Inner {
    context: Arc<CudaContext>,
    streams: Streams,
    name: String,
    capability: (i32, i32),
    multiprocessors: usize,
    /// The most shared memory of a block, in bytes.
    shared_memory: usize,
    kernels: Kernels,
    products: Products,
    convolutions: Convolutions,
    cache: Cache,
    algorithms: Algorithms,
    /// Whether fused products are taken wherever they can be, not only where they were faster.
    always_fused: AtomicBool,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "CUDA GPU {}: {}", self.context.ordinal(), self.name)
    }
}

/// Says which call failed, and how.
fn failed<E: std::fmt::Debug>(call: &'static str) -> impl FnOnce(E) -> EngineError {
    move |error| EngineError::Cuda { call, reason: format!("{error:?}") }
}

/// What a lock guards, also after a panic elsewhere.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cuda {
    /// Opens a GPU, counted from zero, and loads what computing on it needs.
    pub fn open(ordinal: usize) -> Result<Self, EngineError> {
        let count = Self::count()?;
        if ordinal >= count {
            return Err(libraries::no_such_gpu(ordinal, count));
        }
        let context = CudaContext::new(ordinal).map_err(failed("opening the GPU"))?;
        // SAFETY: the streams are ordered by hand, so nothing needs events between uses of memory.
        unsafe { context.disable_event_tracking() };
        let name = context.name().map_err(failed("asking the GPU's name"))?;
        let capability = context.compute_capability().map_err(failed("asking the GPU's capability"))?;
        if capability < OLDEST {
            return Err(libraries::too_old(&name, capability));
        }
        let attribute = |which| {
            let asked = context.attribute(which).map_err(failed("asking the GPU what it has"));
            asked.map(|number| usize::try_from(number).unwrap_or(1))
        };
        let multiprocessors = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let shared_memory =
            attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let streams = Streams::new(&context)?;
        let cache = Cache::of(&name, capability, libraries::driver_version()?);
        let products = Products::new()?;
        let inner = Inner {
            context,
            streams,
            name,
            capability,
            multiprocessors,
            shared_memory,
            kernels: Kernels::default(),
            products,
            convolutions: Convolutions::default(),
            cache,
            algorithms: Algorithms::default(),
            always_fused: AtomicBool::default(),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// How many GPUs this process sees.
    pub fn count() -> Result<usize, EngineError> {
        libraries::load()?;
        let count = CudaContext::device_count().map_err(|_| libraries::no_gpu())?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// What tells this GPU from all others, whatever number each process gives it.
    pub fn uuid(&self) -> Result<[u8; 16], EngineError> {
        let uuid = self.0.context.uuid().map_err(failed("asking for the GPU's name among all"))?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// The GPU's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Makes sure that convolutions will find their library.
    pub fn require_convolutions(&self) -> Result<(), EngineError> {
        libraries::load_cudnn()
    }

    /// The libraries that compute on it, with their versions.
    pub fn libraries(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        libraries::versions()
    }

    /// Its compute capability, as in (9, 0).
    pub fn capability(&self) -> (i32, i32) {
        self.0.capability
    }

    /// Free and total memory, in bytes.
    pub fn memory_left(&self) -> Result<(usize, usize), EngineError> {
        self.0.context.mem_get_info().map_err(failed("asking for free memory"))
    }

    /// Waits until everything asked for so far is done.
    pub(crate) fn synchronise(&self) -> Result<(), EngineError> {
        self.0.context.bind_to_thread().map_err(failed("using the GPU on this thread"))?;
        // SAFETY: the stream lives as long as the GPU.
        unsafe { result::stream::synchronize(self.stream()) }.map_err(failed("waiting for the GPU"))
    }

    /// How long the GPU takes for what `work` asks of it, in seconds, without the time to ask.
    pub fn time(&self, work: impl FnOnce() -> Result<(), EngineError>) -> Result<f64, EngineError> {
        let event = || -> Result<CudaEvent, EngineError> {
            let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
            let event = self.0.context.new_event(flags).map_err(failed("making an event"))?;
            event.record(self.0.streams.current()).map_err(failed("recording an event"))?;
            Ok(event)
        };
        let start = event()?;
        work()?;
        let end = event()?;
        end.synchronize().map_err(failed("waiting for the GPU"))?;
        let milliseconds = start.elapsed_ms(&end).map_err(failed("reading events"))?;
        Ok(f64::from(milliseconds) / 1e3)
    }

    /// How many multiprocessors it has.
    pub(crate) fn multiprocessors(&self) -> usize {
        self.0.multiprocessors
    }

    /// The most shared memory of a block, in bytes.
    pub(crate) fn shared_memory(&self) -> usize {
        self.0.shared_memory
    }

    /// Whether this GPU has the instructions that kernels for Hopper use.
    pub(crate) fn is_hopper(&self) -> bool {
        self.0.capability == (9, 0)
    }

    /// Says whether fused products are taken wherever they can be, for tests, or only where they were faster.
    pub(crate) fn set_always_fused(&self, always: bool) {
        self.0.always_fused.store(always, Ordering::Relaxed);
    }

    /// Whether fused products are taken wherever they can be.
    pub(crate) fn is_always_fused(&self) -> bool {
        self.0.always_fused.load(Ordering::Relaxed)
    }

    fn bind(&self) -> Result<(), EngineError> {
        self.0.context.bind_to_thread().map_err(failed("using the GPU on this thread"))
    }

    /// Copies numbers to the GPU.
    pub(crate) fn upload<T: Element>(&self, values: &[T]) -> Result<Memory, EngineError> {
        let memory = self.memory(size_of_val(values))?;
        self.write(&memory, values)?;
        Ok(memory)
    }

    /// Copies numbers over what memory holds. They are taken before this returns.
    pub(crate) fn write<T: Element>(&self, memory: &Memory, values: &[T]) -> Result<(), EngineError> {
        self.write_at(memory, 0, values)
    }

    /// Copies numbers over a part of what memory holds, from byte `first` on. They are taken before this returns.
    pub(crate) fn write_at<T: Element>(
        &self,
        memory: &Memory,
        first: usize,
        values: &[T],
    ) -> Result<(), EngineError> {
        assert!(first + size_of_val(values) <= memory.bytes(), "what is written lies inside the memory");
        self.bind()?;
        // SAFETY: the memory is at least this long; pageable memory is staged before the call returns.
        unsafe { result::memcpy_htod_async(memory.address() + first as u64, values, self.stream()) }
            .map_err(failed("copying to the GPU"))
    }

    /// Copies numbers back, once everything before is done.
    pub(crate) fn download<T: Element>(&self, memory: &Memory) -> Result<Vec<T>, EngineError> {
        self.download_part(memory, 0..memory.bytes() / size_of::<T>())
    }

    /// Copies some of the numbers back, once everything before is done.
    pub(crate) fn download_part<T: Element>(
        &self,
        memory: &Memory,
        part: Range<usize>,
    ) -> Result<Vec<T>, EngineError> {
        assert!(part.end * size_of::<T>() <= memory.bytes(), "what is read lies inside the memory");
        self.bind()?;
        let from = memory.address() + (part.start * size_of::<T>()) as u64;
        let mut values = vec![T::zeroed(); part.len()];
        // SAFETY: the memory has as many bytes from there on as the vector, and the stream is waited for before it is
        // read.
        unsafe { result::memcpy_dtoh_async(&mut values, from, self.stream()) }
            .map_err(failed("copying from the GPU"))?;
        self.synchronise()?;
        Ok(values)
    }

    /// Zeros bytes on the GPU.
    pub(crate) fn clear(&self, address: u64, bytes: usize) -> Result<(), EngineError> {
        self.bind()?;
        // SAFETY: an address of live memory of at least that many bytes.
        unsafe { result::memset_d8_async(address, 0, bytes, self.stream()) }
            .map_err(failed("clearing memory"))
    }
}
