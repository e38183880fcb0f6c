//! The GPUs of several processes as one: means and copies over all of them, through NVIDIA's NCCL.
//!
//! The library is opened when it is asked for. Its work goes on a stream of its own, beside the pass back through a
//! network; the main stream waits for it where it needs the result. All ranks ask for the same in the same order, and
//! what one records in a graph all record: the library takes both for granted.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ops::Range,
    sync::{
        Arc, OnceLock,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use cudarc::driver::{CudaStream, sys};
use libloading::Library;

use super::{Cuda, failed, libraries};
use crate::{error::EngineError, group::DeviceGroup, params::Params, tensor::Tensor};

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
const SUM: c_int = 0;
const AVERAGE: c_int = 4;
const SUCCESS: c_int = 0;

/// The oldest version that has means.
const OLDEST: c_int = 21_000;

/// How often the library is asked whether something has failed beside the calls.
const WATCH: Duration = Duration::from_secs(1);

/// What is called of the library, which stays open.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int) -> c_int,
    unique_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    connect: unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
    abort: unsafe extern "C" fn(Handle) -> c_int,
    async_error: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
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
    /// Since version 2.13.
    last_error: Option<unsafe extern "C" fn(Handle) -> *const c_char>,
}

impl Functions {
    /// The library's functions, found once.
    fn get() -> Result<&'static Self, EngineError> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(functions) = FUNCTIONS.get() {
            return Ok(functions);
        }
        let library = libraries::open_nccl()?;
        // SAFETY: these are the types that NCCL's header gives them, which have not changed since version 2.4.
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
                abort: *library.get(b"ncclCommAbort")?,
                async_error: *library.get(b"ncclCommGetAsyncError")?,
                group_start: *library.get(b"ncclGroupStart")?,
                group_end: *library.get(b"ncclGroupEnd")?,
                all_reduce: *library.get(b"ncclAllReduce")?,
                all_gather: *library.get(b"ncclAllGather")?,
                broadcast: *library.get(b"ncclBroadcast")?,
                error_string: *library.get(b"ncclGetErrorString")?,
                last_error: library.get(b"ncclGetLastError").ok().map(|found| *found),
            })
        }
    }

    /// Turns what a function returned into an error.
    fn check(&self, call: &'static str, status: c_int) -> Result<(), EngineError> {
        if status == SUCCESS {
            return Ok(());
        }
        Err(EngineError::Cuda { call, reason: format!("NCCL: {}", self.described(status)) })
    }

    /// What a status means, and what the library last complained of.
    fn described(&self, status: c_int) -> String {
        // SAFETY: takes any number, and returns a text that is never freed.
        let text = unsafe { CStr::from_ptr((self.error_string)(status)) }.to_string_lossy();
        // SAFETY: the communicator is not looked at, and the text is one that the library keeps.
        let last = self.last_error.map(|last| unsafe { last(std::ptr::null_mut()) });
        // SAFETY: as above, and not null.
        let last = last.filter(|last| !last.is_null()).map(|last| unsafe { CStr::from_ptr(last) });
        let last = last.map(|last| last.to_string_lossy().trim().to_owned()).unwrap_or_default();
        if last.is_empty() { text.into_owned() } else { format!("{text}: {last}") }
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
    /// None once the others were left.
    handle: Option<Handle>,
    cuda: Cuda,
    stream: Arc<CudaStream>,
    rank: usize,
    size: usize,
    watch: Option<Watch>,
}

// SAFETY: the library binds a communicator to no thread; calls come one after the other, as it is borrowed for them by
// one trainer.
unsafe impl Send for Nccl {}
// SAFETY: as above; what is shared is read.
unsafe impl Sync for Nccl {}

impl std::fmt::Debug for Nccl {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "GPU {} of {}", self.rank, self.size)
    }
}

/// A thread that looks for errors, until it is dropped.
struct Watch {
    /// Ends the thread when it is dropped.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    /// The communicator is not to be asked for anything once this returns.
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // Had it failed, there would be nothing left to wait for.
            let _ = thread.join();
        }
    }
}

/// A communicator in the hands of the thread that watches it.
struct Watched(Handle);

// SAFETY: the one call that is made with it reads what the library keeps for whoever watches from another thread.
unsafe impl Send for Watched {}

impl Watched {
    /// What has failed beside the calls, if anything has.
    fn failure(&self, functions: &Functions) -> Option<String> {
        let mut status = SUCCESS;
        // SAFETY: writes one number; the communicator is there until the thread has ended.
        let asked = unsafe { (functions.async_error)(self.0, &mut status) };
        [asked, status]
            .into_iter()
            .find(|status| *status != SUCCESS)
            .map(|status| functions.described(status))
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
        Ok(Self { functions, handle: Some(handle), cuda: cuda.clone(), stream, rank, size, watch: None })
    }

    /// Calls a function with a sentence when the library fails beside the calls, as when a link breaks: whatever waits
    /// for another GPU may then wait for ever, so it may end the process.
    pub fn when_failed(&mut self, alarm: impl Fn(&str) + Send + 'static) -> Result<(), EngineError> {
        let functions = self.functions;
        let watched = Watched(self.handle()?);
        let (alive, ended) = mpsc::channel::<()>();
        let look = move || {
            while ended.recv_timeout(WATCH) == Err(RecvTimeoutError::Timeout) {
                if let Some(failure) = watched.failure(functions) {
                    return alarm(&format!("NCCL has lost another GPU or the way to it: {failure}"));
                }
            }
        };
        let thread = thread::Builder::new().name("nccl".to_owned()).spawn(look);
        let thread = thread.map_err(failed("watching NCCL"))?;
        self.watch = Some(Watch { alive: Some(alive), thread: Some(thread) });
        Ok(())
    }

    /// The communicator, unless the others were left.
    fn handle(&self) -> Result<Handle, EngineError> {
        let reason = "NCCL: the other GPUs were left before".to_owned();
        self.handle.ok_or(EngineError::Cuda { call: "asking other GPUs", reason })
    }

    /// The library's version, as in "2.28.3".
    pub fn version(&self) -> Result<String, EngineError> {
        self.functions.version().map(libraries::nccl_version)
    }

    fn broadcast(&self, flat: &Tensor, range: &Range<usize>, root: usize) -> Result<(), EngineError> {
        let handle = self.handle()?;
        let width = flat.dtype().size();
        let at = (flat.address() + (range.start * width) as u64) as *mut c_void;
        // SAFETY: a range of a live tensor on this GPU, in place; nobody else writes it in the meantime.
        let status = unsafe {
            let stream = self.stream.cu_stream();
            (self.functions.broadcast)(at, at, range.len() * width, INT8, root as c_int, handle, stream)
        };
        self.functions.check("copying between GPUs", status)
    }

    /// The mean over all in the place of f32 numbers at an address.
    fn mean_at(&self, address: u64, count: usize) -> Result<(), EngineError> {
        let handle = self.handle()?;
        self.cuda.bind()?;
        self.cuda.0.streams.precede(&self.stream)?;
        let at = address as *mut c_void;
        // The library multiplies by one over the ranks before it adds, and of one rank alone it would read and write all
        // gradients for that; their sum is where it is already.
        let operation = if self.size == 1 { SUM } else { AVERAGE };
        // SAFETY: f32 numbers of a live tensor on this GPU, in place; the stream follows whatever wrote them.
        let status = unsafe {
            let stream = self.stream.cu_stream();
            (self.functions.all_reduce)(at, at, count, FLOAT32, operation, handle, stream)
        };
        self.functions.check("taking a mean over GPUs", status)
    }
}

impl DeviceGroup for Nccl {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    /// In its place: clones see the mean too.
    fn mean(&self, tensor: Tensor) -> Result<Tensor, EngineError> {
        self.mean_at(tensor.address(), tensor.len())?;
        Ok(tensor)
    }

    fn mean_of_range(&self, flat: &mut Tensor, range: Range<usize>) -> Result<(), EngineError> {
        self.mean_at(flat.address() + (range.start * size_of::<f32>()) as u64, range.len())
    }

    fn gather(&self, tensor: &Tensor) -> Result<Tensor, EngineError> {
        let handle = self.handle()?;
        self.cuda.bind()?;
        let mut shape = tensor.shape().to_vec();
        shape.iter_mut().take(1).for_each(|rows| *rows *= self.size);
        let all = Tensor::on_cuda(&self.cuda, &shape, tensor.dtype())?;
        let bytes = tensor.len() * tensor.dtype().size();
        self.cuda.0.streams.precede(&self.stream)?;
        // SAFETY: live tensors on this GPU, of these bytes and so many times as many.
        let status = unsafe {
            let (from, to) = (tensor.address() as *const c_void, all.address() as *mut c_void);
            (self.functions.all_gather)(from, to, bytes, INT8, handle, self.stream.cu_stream())
        };
        self.functions.check("gathering from GPUs", status)?;
        self.join()?;
        Ok(all)
    }

    /// The copies in bf16 are given too.
    fn share(&self, params: &mut Params, shares: &[Vec<Range<usize>>]) -> Result<(), EngineError> {
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

    fn join(&self) -> Result<(), EngineError> {
        self.cuda.0.streams.follow(&self.stream)
    }

    fn abort(&mut self) {
        self.watch = None;
        let Some(handle) = self.handle.take() else { return };
        let _ = self.cuda.bind();
        // SAFETY: connected once, and not used again. Kernels that wait for other GPUs are made to end.
        unsafe { (self.functions.abort)(handle) };
    }
}

impl Drop for Nccl {
    /// Leaves the others when all is done that was asked for. Work that was recorded with it must be gone by then.
    fn drop(&mut self) {
        self.watch = None;
        let Some(handle) = self.handle.take() else { return };
        let _ = self.cuda.bind();
        let _ = self.stream.synchronize();
        // SAFETY: connected once, and not used again.
        unsafe { (self.functions.destroy)(handle) };
    }
}
