//! CUDA where it cannot be: the interface of `runtime/` on types without values, so that code for it compiles
//! everywhere and runs nowhere.

use std::ops::Range;

use super::{
    convolution,
    gemm::{self, Operands},
    kernels::{Arg, Grid, Source},
};
use crate::{dtype::Element, error::EngineError, group::DeviceGroup, params::Params, tensor::Tensor};

/// Nothing is of this type.
#[derive(Clone, Copy, Debug)]
enum Never {}

/// An NVIDIA GPU.
#[derive(Clone, Debug)]
pub struct Cuda(Never);

/// A piece of a GPU's memory.
#[derive(Debug)]
pub(crate) struct Memory(Never);

/// The description of a matrix.
#[derive(Clone, Copy)]
pub(crate) struct TensorMap(Never);

/// Recorded work on a GPU.
#[derive(Debug)]
pub struct Graph(Never);

/// The bytes by which processes find each other.
pub const NCCL_ID: usize = 128;

/// One GPU among those of several processes.
#[derive(Debug)]
pub struct Nccl(Never);

impl Nccl {
    /// Says that there is none.
    pub fn unique_id() -> Result<[u8; NCCL_ID], EngineError> {
        Err(absent())
    }

    /// Meets the others.
    pub fn connect(cuda: &Cuda, _: &[u8; NCCL_ID], _: usize, _: usize) -> Result<Self, EngineError> {
        match cuda.0 {}
    }

    /// The library's version.
    pub fn version(&self) -> Result<String, EngineError> {
        match self.0 {}
    }

    /// Calls a function when the library fails.
    pub fn when_failed(&mut self, _: impl Fn(&str) + Send + 'static) -> Result<(), EngineError> {
        match self.0 {}
    }
}

impl DeviceGroup for Nccl {
    fn rank(&self) -> usize {
        match self.0 {}
    }

    fn size(&self) -> usize {
        match self.0 {}
    }

    fn mean(&self, _: Tensor) -> Result<Tensor, EngineError> {
        match self.0 {}
    }

    fn mean_of_range(&self, _: &mut Tensor, _: Range<usize>) -> Result<(), EngineError> {
        match self.0 {}
    }

    fn gather(&self, _: &Tensor) -> Result<Tensor, EngineError> {
        match self.0 {}
    }

    fn share(&self, _: &mut Params, _: &[Vec<Range<usize>>]) -> Result<(), EngineError> {
        match self.0 {}
    }

    fn join(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    fn abort(&mut self) {
        match self.0 {}
    }
}

/// Describes a matrix of a GPU.
pub(crate) fn boxes(_: u64, _: [usize; 2], _: u32) -> Result<TensorMap, EngineError> {
    Err(absent())
}

fn absent() -> EngineError {
    let what = "this program was built for a machine without NVIDIA's libraries".into();
    EngineError::Unavailable { what, advice: "use a program built for Linux or Windows".into() }
}

impl Memory {
    pub(crate) fn address(&self) -> u64 {
        match self.0 {}
    }
}

impl Graph {
    /// Does the work once, then records it without doing it.
    pub fn record<T, E: From<EngineError>>(
        cuda: &Cuda,
        _: impl FnMut() -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        match cuda.0 {}
    }

    /// The same in the memory of this graph.
    pub fn record_after<T, E: From<EngineError>>(
        &self,
        _: impl FnMut() -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        match self.0 {}
    }

    /// Records other work in the same memory, without doing it first.
    pub fn record_beside<T, E: From<EngineError>>(
        &self,
        _: impl FnMut() -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        match self.0 {}
    }

    /// Does the recorded work again.
    pub fn replay(&self) -> Result<(), EngineError> {
        match self.0 {}
    }
}

/// What anyone may ask of a GPU.
impl Cuda {
    /// Says that there is none.
    pub fn open(_: usize) -> Result<Self, EngineError> {
        Err(absent())
    }

    /// Says that there is none.
    pub fn count() -> Result<usize, EngineError> {
        Err(absent())
    }

    /// What tells this GPU from all others.
    pub fn uuid(&self) -> Result<[u8; 16], EngineError> {
        match self.0 {}
    }

    /// The GPU's name.
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    /// Makes sure that convolutions will find their library.
    pub fn require_convolutions(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    /// The libraries that compute on it, with their versions.
    pub fn libraries(&self) -> Result<Vec<(&'static str, String)>, EngineError> {
        match self.0 {}
    }

    /// Its compute capability, as in (9, 0).
    pub fn capability(&self) -> (i32, i32) {
        match self.0 {}
    }

    /// Free and total memory, in bytes.
    pub fn memory_left(&self) -> Result<(usize, usize), EngineError> {
        match self.0 {}
    }

    /// How many bytes of its memory are held here.
    pub fn memory_held(&self) -> usize {
        match self.0 {}
    }

    /// Waits until everything asked for so far is done.
    pub(crate) fn synchronise(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    /// How long the GPU takes for what `work` asks of it, in seconds.
    pub fn time(&self, _: impl FnOnce() -> Result<(), EngineError>) -> Result<f64, EngineError> {
        match self.0 {}
    }

    /// The algorithm of each product and convolution so far, a line each.
    pub fn algorithms(&self) -> String {
        match self.0 {}
    }
}

/// What kernels ask of it.
impl Cuda {
    pub(crate) fn multiprocessors(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn shared_memory(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn is_hopper(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn set_always_fused(&self, _: bool) {
        match self.0 {}
    }

    pub(crate) fn is_always_fused(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn memory(&self, _: usize) -> Result<Memory, EngineError> {
        match self.0 {}
    }

    pub(crate) fn counters(&self, _: usize) -> Result<u64, EngineError> {
        match self.0 {}
    }

    pub(crate) fn upload<T: Element>(&self, _: &[T]) -> Result<Memory, EngineError> {
        match self.0 {}
    }

    pub(crate) fn write<T: Element>(&self, _: &Memory, _: &[T]) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn write_at<T: Element>(&self, _: &Memory, _: usize, _: &[T]) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn download<T: Element>(&self, _: &Memory) -> Result<Vec<T>, EngineError> {
        match self.0 {}
    }

    pub(crate) fn download_part<T: Element>(
        &self,
        _: &Memory,
        _: Range<usize>,
    ) -> Result<Vec<T>, EngineError> {
        match self.0 {}
    }

    pub(crate) fn clear(&self, _: u64, _: usize) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn on_side_stream<T>(
        &self,
        _: &[&Tensor],
        _: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match self.0 {}
    }

    pub(crate) fn join_streams(&self) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn launch(&self, _: Source, _: &str, _: Grid, _: &[Arg]) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn launch_with(
        &self,
        _: Source,
        _: &str,
        _: &str,
        _: Grid,
        _: &[Arg],
    ) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn product(&self, _: gemm::Shape, _: Operands) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn product_scaled(&self, _: gemm::Shape, _: Operands, _: [f32; 2]) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn convolve(&self, _: convolution::Shape, _: [u64; 3]) -> Result<(), EngineError> {
        match self.0 {}
    }

    pub(crate) fn faster(
        &self,
        _: &str,
        _: impl FnMut() -> Result<(), EngineError>,
        _: impl FnMut() -> Result<(), EngineError>,
    ) -> Result<bool, EngineError> {
        match self.0 {}
    }
}
