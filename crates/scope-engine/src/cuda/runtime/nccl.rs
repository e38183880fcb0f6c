//! The GPUs of several processes as one: means and copies over all of them, through NVIDIA's NCCL.
//!
//! The library is opened when it is asked for. Its work goes on a stream of its own, beside the pass back through a
//! network; the main stream waits for it where it needs the result.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ops::Range,
    sync::{Arc, OnceLock},
};

use cudarc::driver::{CudaStream, sys};
use libloading::Library;

use super::{Cuda, failed, libraries};
use crate::{error::EngineError, params::Params, tensor::Tensor};

/// The bytes by which processes find each other.
pub const NCCL_ID: usize = 128;

/// `ncclUniqueId`.
#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId([c_char; NCCL_ID]);

/// `ncclComm_t`.
type Handle = *mut c_void;

/// Of `ncclDataType_t` and `ncclRedOp_t`.
const INT8: c_int = 0;
const FLOAT32: c_int = 7;
const AVERAGE: c_int = 4;
const SUCCESS: c_int = 0;

/// The oldest version that has means.
const OLDEST: c_int = 21_000;

/// What is called of the library, which stays open.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int) -> c_int,
    unique_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    connect: unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
    group_start: unsafe extern "C" fn() -> c_int,
    group_end: unsafe extern "C" fn() -> c_int,
    #[allow(clippy::type_complexity)]
    all_reduce:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Handle, sys::CUstream) -> c_int,
    all_gather:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, Handle, sys::CUstream) -> c_int,
    #[allow(clippy::type_complexity)]
    broadcast:
        unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Handle, sys::CUstream) -> c_int,
    error_string: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Functions {
    /// The library's functions, found once.
    fn get() -> Result<&'static Self, EngineError> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(functions) = FUNCTIONS.get() {
            return Ok(functions);
        }
        let library = libraries::open_nccl()?;
        // SAFETY: these are the types that NCCL's header gives them, which have not changed since version 2.2.
        let found = unsafe { Self::load(&library) }.map_err(failed("reading NCCL's functions"))?;
        // Open for as long as the program runs.
        std::mem::forget(library);
        Ok(FUNCTIONS.get_or_init(|| found))
    }

    /// # Safety
    /// The library must be NCCL.
    unsafe fn load(library: &Library) -> Result<Self, libloading::Error> {
        // SAFETY: as the caller says.
        unsafe {
            Ok(Self {
                version: *library.get(b"ncclGetVersion")?,
                unique_id: *library.get(b"ncclGetUniqueId")?,
                connect: *library.get(b"ncclCommInitRank")?,
                destroy: *library.get(b"ncclCommDestroy")?,
                group_start: *library.get(b"ncclGroupStart")?,
                group_end: *library.get(b"ncclGroupEnd")?,
                all_reduce: *library.get(b"ncclAllReduce")?,
                all_gather: *library.get(b"ncclAllGather")?,
                broadcast: *library.get(b"ncclBroadcast")?,
                error_string: *library.get(b"ncclGetErrorString")?,
            })
        }
    }

    /// Turns what a function returned into an error.
    fn check(&self, call: &'static str, status: c_int) -> Result<(), EngineError> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: takes any number, and returns a text that is never freed.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) };
        Err(EngineError::Cuda { call, reason: format!("NCCL: {}", text.to_string_lossy()) })
    }

    fn version(&self) -> Result<c_int, EngineError> {
        let mut version = 0;
        // SAFETY: writes one number.
        self.check("asking for NCCL's version", unsafe { (self.version)(&mut version) })?;
        Ok(version)
    }
}

/// One GPU among those of several processes.
pub struct Nccl {
    functions: &'static Functions,
    handle: Handle,
    cuda: Cuda,
    stream: Arc<CudaStream>,
    rank: usize,
    size: usize,
}

// SAFETY: the library binds a communicator to no thread; calls come one after the other, as it is borrowed for them by one
// trainer.
unsafe impl Send for Nccl {}
// SAFETY: as above; what is shared is read.
unsafe impl Sync for Nccl {}

impl std::fmt::Debug for Nccl {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "GPU {} of {}", self.rank, self.size)
    }
}

impl Nccl {
    /// What rank 0 makes, and gives to all, for them to find each other.
    pub fn unique_id() -> Result<[u8; NCCL_ID], EngineError> {
        let functions = Functions::get()?;
        let mut id = UniqueId([0; NCCL_ID]);
        // SAFETY: writes the bytes.
        functions.check("making NCCL's id", unsafe { (functions.unique_id)(&mut id) })?;
        Ok(id.0.map(|byte| byte as u8))
    }

    /// Meets the others, who all must do so with the same bytes.
    pub fn connect(cuda: &Cuda, id: &[u8; NCCL_ID], rank: usize, size: usize) -> Result<Self, EngineError> {
        let functions = Functions::get()?;
        let version = functions.version()?;
        if version < OLDEST {
            return Err(EngineError::Unavailable {
                what: format!("NCCL {} is too old", libraries::nccl_version(version)),
                advice: "install NCCL 2.10 or newer".into(),
            });
        }
        cuda.bind()?;
        let stream = cuda.0.context.new_stream().map_err(failed("making a stream"))?;
        let mut handle: Handle = std::ptr::null_mut();
        let id = UniqueId(id.map(|byte| byte as c_char));
        // SAFETY: writes one pointer; the GPU at hand is the one that was just bound.
        let status = unsafe { (functions.connect)(&mut handle, size as c_int, id, rank as c_int) };
        functions.check("meeting the other GPUs", status)?;
        Ok(Self { functions, handle, cuda: cuda.clone(), stream, rank, size })
    }

    /// Which of them this is, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The library's version, as in "2.28.3".
    pub fn version(&self) -> Result<String, EngineError> {
        self.functions.version().map(libraries::nccl_version)
    }

    /// The mean over all in the place of each one's f32 numbers, once everything asked for so far is done. The tensor is not to be
    /// read or dropped before [`Nccl::join`].
    pub fn mean(&self, tensor: &Tensor) -> Result<(), EngineError> {
        self.mean_of_range(tensor, 0..tensor.len())
    }

    /// The same for a range of a tensor.
    pub(crate) fn mean_of_range(&self, tensor: &Tensor, range: Range<usize>) -> Result<(), EngineError> {
        self.cuda.bind()?;
        self.cuda.0.streams.precede(&self.stream)?;
        let at = (tensor.address() + (range.start * size_of::<f32>()) as u64) as *mut c_void;
        // SAFETY: f32 numbers of a live tensor on this GPU, in place; the stream follows whatever wrote them.
        let status = unsafe {
            let stream = self.stream.cu_stream();
            (self.functions.all_reduce)(at, at, range.len(), FLOAT32, AVERAGE, self.handle, stream)
        };
        self.functions.check("taking a mean over GPUs", status)
    }

    /// The tensors of all one below the other: \[rows, ...\] each, \[size rows, ...\] together. The main stream waits for them.
    pub fn gather(&self, tensor: &Tensor) -> Result<Tensor, EngineError> {
        self.cuda.bind()?;
        let mut shape = tensor.shape().to_vec();
        shape.iter_mut().take(1).for_each(|rows| *rows *= self.size);
        let all = Tensor::on_cuda(&self.cuda, &shape, tensor.dtype())?;
        let bytes = tensor.len() * tensor.dtype().size();
        self.cuda.0.streams.precede(&self.stream)?;
        // SAFETY: live tensors on this GPU, of these bytes and so many times as many.
        let status = unsafe {
            let (from, to) = (tensor.address() as *const c_void, all.address() as *mut c_void);
            (self.functions.all_gather)(from, to, bytes, INT8, self.handle, self.stream.cu_stream())
        };
        self.functions.check("gathering from GPUs", status)?;
        self.join()?;
        Ok(all)
    }

    /// Gives everyone the values of each one's ranges of the parameters, and their copies in bf16. The main stream waits for them.
    pub fn share(&self, params: &Params, shares: &[Vec<Range<usize>>]) -> Result<(), EngineError> {
        self.cuda.bind()?;
        self.cuda.0.streams.precede(&self.stream)?;
        // SAFETY: takes nothing; what follows up to the end of the group is asked for at once.
        self.functions.check("beginning a group", unsafe { (self.functions.group_start)() })?;
        let mut asked = Ok(());
        for (root, range) in
            shares.iter().enumerate().flat_map(|(root, share)| share.iter().map(move |r| (root, r)))
        {
            for flat in [params.flat(), params.bf16_copy()] {
                asked = asked.and_then(|()| self.broadcast(flat, range, root));
            }
        }
        // SAFETY: as above; a group that was begun is ended whatever happened in it.
        let ended = self.functions.check("copying between GPUs", unsafe { (self.functions.group_end)() });
        asked.and(ended)?;
        self.join()
    }

    fn broadcast(&self, flat: &Tensor, range: &Range<usize>, root: usize) -> Result<(), EngineError> {
        let width = flat.dtype().size();
        let at = (flat.address() + (range.start * width) as u64) as *mut c_void;
        // SAFETY: a range of a live tensor on this GPU, in place; nobody else writes it in the meantime.
        let status = unsafe {
            let stream = self.stream.cu_stream();
            (self.functions.broadcast)(at, at, range.len() * width, INT8, root as c_int, self.handle, stream)
        };
        self.functions.check("copying between GPUs", status)
    }

    /// Makes the main stream wait for everything that was asked for here.
    pub fn join(&self) -> Result<(), EngineError> {
        self.cuda.0.streams.follow(&self.stream)
    }
}

impl Drop for Nccl {
    /// Leaves the others. Work that was recorded with it must be gone by then.
    fn drop(&mut self) {
        let _ = self.cuda.bind();
        let _ = self.stream.synchronize();
        // SAFETY: connected once, and not used again.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}
