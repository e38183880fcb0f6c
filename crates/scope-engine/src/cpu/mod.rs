//! Kernels for CPUs, under the names of the operations they serve.
//!
//! Everything here is written once for vectors of any width (`lanes/`) and for f32 and f64; products also for
//! pairs of bf16 (`gemm/`). Work is cut into tasks whose results do not depend on who runs them, so results are
//! equal in bits for any number of threads.

#![allow(unsafe_code)] // vectors, shared output tiles and the thread pool; each use says why it is sound

/// Calls a generic function with the type that a tensor holds.
macro_rules! for_dtype {
    ($tensor:expr, $function:ident($($argument:expr),*)) => {
        match $tensor.dtype() {
            Dtype::F64 => $function::<f64>($($argument),*),
            _ => $function::<f32>($($argument),*),
        }
    };
}

mod combine;

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod batch_norm;
mod byte_activations;
pub(crate) mod channels_last;
pub(crate) mod conv3x3;
pub(crate) mod elementwise;
pub(crate) mod expansion;
mod gemm;
pub(crate) mod im2col;
mod integer_linear;
mod lanes;
pub(crate) mod layer_norm;
pub(crate) mod layout;
pub(crate) mod linear;
pub(crate) mod local_fit;
pub(crate) mod losses;
pub(crate) mod map_axis;
mod memory;
pub(crate) mod mix_modes;
mod muon;
pub(crate) mod optim;
pub(crate) mod per_channel;
mod pool;
mod produce;
pub(crate) mod slices;
pub(crate) mod table;

use std::sync::Arc;

use bytemuck::Pod;

pub(crate) use gemm::Panels;
pub(crate) use integer_linear::WIDEST;
pub use lanes::Isa;
pub(crate) use lanes::Real;
pub(crate) use memory::Memory;

use lanes::Kernel;
use memory::Store;
use pool::Pool;

/// A CPU: its instruction set, its threads and the memory they reuse.
#[derive(Clone, Debug)]
pub struct Cpu(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    isa: Isa,
    pool: Pool,
    store: Arc<Store>,
}

impl Cpu {
    /// Uses this many threads and the best instructions at hand.
    pub fn new(threads: usize) -> Self {
        Self::with_isa(threads, Isa::detect())
    }

    /// Uses an instruction set that [`Isa::available`] offered; a better one than the CPU has is
    /// lowered to what it has.
    pub fn with_isa(threads: usize, isa: Isa) -> Self {
        let isa = isa.min(Isa::detect());
        Self(Arc::new(Inner { isa, pool: Pool::new(threads), store: Arc::default() }))
    }

    /// As many threads as the machine offers.
    pub fn all_threads() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.0.isa
    }

    /// The threads in use.
    pub fn threads(&self) -> usize {
        self.0.pool.threads()
    }

    /// Memory from the store; its content is arbitrary.
    pub(crate) fn memory(&self, bytes: usize) -> Memory {
        self.0.store.take(bytes)
    }

    /// Memory of zeros.
    pub(crate) fn zeros(&self, bytes: usize) -> Memory {
        self.0.store.take_zeros(bytes)
    }

    /// Runs a kernel here, with the widest vectors.
    pub(crate) fn run<R: Real, K: Kernel<R>>(&self, kernel: K) -> K::Output {
        R::dispatch(self.0.isa, kernel)
    }

    /// The same in double precision, for what is always computed in it.
    pub(crate) fn run_double<K: Kernel<f64>>(&self, kernel: K) -> K::Output {
        lanes::dispatch_double(self.0.isa, kernel)
    }

    /// Runs tasks on all threads.
    pub(crate) fn for_each(&self, tasks: usize, work: impl Fn(usize) + Sync) {
        self.0.pool.run(tasks, &work);
    }

    /// Cuts a slice into pieces of `each` (the last may be shorter) and works on them on all threads.
    pub(crate) fn for_pieces<T: Pod + Send>(
        &self,
        slice: &mut [T],
        each: usize,
        work: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let each = each.max(1);
        let pieces = slice.len().div_ceil(each);
        let length = slice.len();
        let start = Shared(slice.as_mut_ptr());
        self.for_each(pieces, |piece| {
            let from = piece * each;
            // SAFETY: pieces are disjoint, each is handed to one task, and the slice outlives the region.
            let part =
                unsafe { std::slice::from_raw_parts_mut(start.get().add(from), each.min(length - from)) };
            work(piece, part);
        });
    }
}

/// A pointer that tasks share to write disjoint parts of one buffer.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: whoever follows it promises disjoint parts.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    fn get(self) -> *mut T {
        self.0
    }
}
