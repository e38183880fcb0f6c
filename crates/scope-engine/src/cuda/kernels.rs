//! Our own kernels: compiled by NVRTC for the card at hand when first wanted, and kept on disk.

use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::{CStr, CString, c_void},
    sync::{Arc, Mutex},
};

use cudarc::{
    driver::{CudaFunction, CudaModule, sys},
    nvrtc::{self, Ptx},
};

use super::{Cuda, Memory, failed, locked};
use crate::{error::EngineError, tensor::Tensor};

/// A file of kernels with what it begins with.
#[derive(Clone, Copy)]
pub(super) struct Source {
    name: &'static str,
    parts: &'static [&'static str],
}

const PRELUDE: &str = include_str!("prelude.cu");
pub(super) const ATTENTION: Source =
    Source { name: "attention", parts: &[PRELUDE, include_str!("mma.cu"), include_str!("attention.cu")] };
pub(super) const ATTENTION_ANY: Source =
    Source { name: "attention_any", parts: &[PRELUDE, include_str!("attention_any.cu")] };
pub(super) const ATTENTION_HOPPER: Source = Source {
    name: "attention_hopper",
    parts: &[PRELUDE, include_str!("mma.cu"), include_str!("hopper.cu"), include_str!("attention_hopper.cu")],
};
pub(super) const BATCH_NORM: Source =
    Source { name: "batch_norm", parts: &[PRELUDE, include_str!("batch_norm.cu")] };
pub(super) const CONV3X3: Source = Source { name: "conv3x3", parts: &[PRELUDE, include_str!("conv3x3.cu")] };
pub(super) const CONV_NARROW: Source =
    Source { name: "conv_narrow", parts: &[PRELUDE, include_str!("mma.cu"), include_str!("conv_narrow.cu")] };
pub(super) const ELEMENTWISE: Source =
    Source { name: "elementwise", parts: &[PRELUDE, include_str!("elementwise.cu")] };
pub(super) const FLAT: Source = Source { name: "flat", parts: &[PRELUDE, include_str!("flat.cu")] };
pub(super) const FUSED_PRODUCT: Source = Source {
    name: "fused_product",
    parts: &[PRELUDE, include_str!("mma.cu"), include_str!("hopper.cu"), include_str!("fused_product.cu")],
};
pub(super) const GEMM: Source = Source { name: "gemm", parts: &[PRELUDE, include_str!("gemm.cu")] };
pub(super) const HEADS: Source = Source { name: "heads", parts: &[PRELUDE, include_str!("heads.cu")] };
pub(super) const LAYER_NORM: Source =
    Source { name: "layer_norm", parts: &[PRELUDE, include_str!("layer_norm.cu")] };
pub(super) const LAYOUT: Source = Source { name: "layout", parts: &[PRELUDE, include_str!("layout.cu")] };
pub(super) const LINEAR: Source = Source { name: "linear", parts: &[PRELUDE, include_str!("linear.cu")] };
pub(super) const LOCAL_FIT: Source =
    Source { name: "local_fit", parts: &[PRELUDE, include_str!("local_fit.cu")] };
pub(super) const LOSSES: Source = Source { name: "losses", parts: &[PRELUDE, include_str!("losses.cu")] };
pub(super) const MIX_MODES: Source =
    Source { name: "mix_modes", parts: &[PRELUDE, include_str!("mix_modes.cu")] };
pub(super) const MUON: Source = Source { name: "muon", parts: &[PRELUDE, include_str!("muon.cu")] };
pub(super) const OPERATORS: Source =
    Source { name: "operators", parts: &[PRELUDE, include_str!("operators.cu")] };
pub(super) const SLICES: Source = Source { name: "slices", parts: &[PRELUDE, include_str!("slices.cu")] };
pub(super) const SLICES_FUSED: Source = Source {
    name: "slices_fused",
    parts: &[PRELUDE, include_str!("mma.cu"), include_str!("slices_fused.cu")],
};
pub(super) const TABLE: Source = Source { name: "table", parts: &[PRELUDE, include_str!("table.cu")] };
pub(super) const UNALIGNED: Source =
    Source { name: "unaligned", parts: &[PRELUDE, include_str!("unaligned.cu")] };
pub(super) const WINDOWS: Source = Source { name: "windows", parts: &[PRELUDE, include_str!("windows.cu")] };

/// One argument of a kernel.
#[derive(Clone, Copy)]
pub(super) enum Arg {
    /// An address, an integer or a float, in the first bytes of eight.
    Word(u64),
    /// The description of a matrix.
    Map(sys::CUtensorMap),
}

impl From<u64> for Arg {
    fn from(address: u64) -> Self {
        Self::Word(address)
    }
}
impl From<&Tensor> for Arg {
    fn from(tensor: &Tensor) -> Self {
        Self::Word(tensor.address())
    }
}
impl From<&Memory> for Arg {
    fn from(memory: &Memory) -> Self {
        Self::Word(memory.address())
    }
}
impl From<usize> for Arg {
    /// A `long long`, or an `int` that it fits in.
    fn from(count: usize) -> Self {
        Self::Word(count as u64)
    }
}
impl From<f32> for Arg {
    fn from(x: f32) -> Self {
        Self::Word(u64::from(x.to_bits()))
    }
}

impl From<sys::CUtensorMap> for Arg {
    fn from(map: sys::CUtensorMap) -> Self {
        Self::Map(map)
    }
}

/// How many blocks of how many threads, with how many bytes of shared memory each.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub(super) blocks: [usize; 2],
    pub(super) threads: usize,
    pub(super) shared: usize,
    /// Whether blocks may begin while the kernel before them ends. Only for kernels that say `after_previous()` first.
    pub(super) early: bool,
}

impl Grid {
    pub(super) fn of(blocks: usize, threads: usize) -> Self {
        Self { blocks: [blocks.max(1), 1], threads, shared: 0, early: false }
    }

    /// The same, launched early.
    pub(super) fn early(self) -> Self {
        Self { early: true, ..self }
    }

    /// A thread for each of `count` items.
    pub(super) fn over(count: usize) -> Self {
        Self::of(count.div_ceil(256), 256)
    }
}

/// Compiled kernels, by source and options.
#[derive(Default)]
pub(super) struct Kernels {
    modules: Mutex<HashMap<String, Arc<CudaModule>>>,
    functions: Mutex<HashMap<String, LoadedKernel>>,
}

struct LoadedKernel {
    function: CudaFunction,
    /// Bytes of dynamic shared memory that a launch may take. It is only ever raised: a driver that is told of a smaller
    /// amount refuses the next launch with a larger one.
    shared: usize,
}

/// Shared memory beyond this has to be asked for.
const USUAL_SHARED: usize = 48 * 1024;

impl Cuda {
    /// Launches a kernel of a source compiled with constants, as in `WIDTH=512`.
    pub(super) fn launch_with(
        &self,
        source: Source,
        constants: &str,
        name: &str,
        grid: Grid,
        arguments: &[Arg],
    ) -> Result<(), EngineError> {
        let function = self.function(source, constants, name, grid.shared)?;
        let mut values = arguments.to_vec();
        let pointer = |value: &mut Arg| -> *mut c_void {
            match value {
                Arg::Word(word) => (&raw mut *word).cast(),
                Arg::Map(map) => (&raw mut *map).cast(),
            }
        };
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(pointer).collect();
        let unsigned = |x: usize| u32::try_from(x).unwrap_or(u32::MAX);
        let mut overlap = overlapping();
        let early = grid.early && self.0.capability >= (9, 0);
        let config = sys::CUlaunchConfig {
            gridDimX: unsigned(grid.blocks[0]),
            gridDimY: unsigned(grid.blocks[1]),
            gridDimZ: 1,
            blockDimX: unsigned(grid.threads),
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: unsigned(grid.shared),
            hStream: self.stream(),
            attrs: &raw mut overlap,
            numAttrs: u32::from(early),
        };
        self.bind()?;
        // SAFETY: the wrappers in this folder pass what the kernel's parameters are; each word lies in the first bytes
        // of its eight (every machine with such a card is little-endian).
        unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                function.cu_function(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
        .result()
        .map_err(|error| EngineError::Cuda {
            call: "launching a kernel",
            reason: format!("{name}: {error:?}"),
        })
    }

    /// Launches a kernel.
    pub(super) fn launch(
        &self,
        source: Source,
        name: &str,
        grid: Grid,
        arguments: &[Arg],
    ) -> Result<(), EngineError> {
        self.launch_with(source, "", name, grid, arguments)
    }

    fn function(
        &self,
        source: Source,
        constants: &str,
        name: &str,
        shared: usize,
    ) -> Result<CudaFunction, EngineError> {
        let key = format!("{} {constants} {name}", source.name);
        let mut functions = locked(&self.0.kernels.functions);
        let kernel = match functions.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let module = self.module(source, constants)?;
                let function = module.load_function(name).map_err(failed("finding a kernel"))?;
                entry.insert(LoadedKernel { function, shared: USUAL_SHARED })
            }
        };
        if shared > kernel.shared {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let bytes = i32::try_from(shared).unwrap_or(i32::MAX);
            kernel.function.set_attribute(most, bytes).map_err(failed("asking for shared memory"))?;
            kernel.shared = shared;
        }
        Ok(kernel.function.clone())
    }

    fn module(&self, source: Source, constants: &str) -> Result<Arc<CudaModule>, EngineError> {
        let key = format!("{} {constants}", source.name);
        let mut modules = locked(&self.0.kernels.modules);
        if let Some(module) = modules.get(&key) {
            return Ok(module.clone());
        }
        let text = source.parts.join("\n");
        let hash = blake3::hash(format!("{constants}\n{text}").as_bytes()).to_hex();
        let file = format!("{}-{}.cubin", source.name, &hash[..16]);
        let load = |code: Vec<u8>| self.0.context.load_module(Ptx::from_binary(code));
        let cached = self.0.cache.read(&file).and_then(|code| load(code).ok());
        let module = match cached {
            Some(module) => module,
            None => {
                let code = compile(&text, constants, self.0.capability)?;
                self.0.cache.write(&file, &code);
                load(code).map_err(failed("loading kernels"))?
            }
        };
        modules.insert(key, module.clone());
        Ok(module)
    }
}

/// Lets a kernel begin before the one before it on the stream has ended.
fn overlapping() -> sys::CUlaunchAttribute {
    sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
    }
}

/// Compiles kernels for a card. Those of capability 9.0 get the instructions that only they have.
fn compile(text: &str, constants: &str, (major, minor): (i32, i32)) -> Result<Vec<u8>, EngineError> {
    let own = if (major, minor) == (9, 0) { "a" } else { "" };
    let mut options = vec![
        format!("--gpu-architecture=sm_{major}{minor}{own}"),
        "--std=c++17".to_owned(),
        "--use_fast_math".to_owned(),
    ];
    options.extend(constants.split_whitespace().map(|constant| format!("-D{constant}")));
    let source = CString::new(text).map_err(failed("reading kernels"))?;
    let program = nvrtc::result::create_program(&source, None).map_err(failed("preparing kernels"))?;
    // SAFETY: the program was just created, and is destroyed below.
    let compiled = unsafe { nvrtc::result::compile_program(program, &options) };
    let code = compiled.map_err(|error| {
        // SAFETY: as above; the log ends with a zero.
        let log = unsafe { nvrtc::result::get_program_log(program) }
            .map(|log| unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy().into_owned());
        EngineError::Cuda {
            call: "compiling kernels",
            reason: format!("{error:?} {}", log.unwrap_or_default()),
        }
    });
    let code = code.and_then(|()| machine_code(program));
    // SAFETY: created above, not used again.
    unsafe { nvrtc::result::destroy_program(program) }.map_err(failed("closing the compiler"))?;
    code
}

fn machine_code(program: nvrtc::sys::nvrtcProgram) -> Result<Vec<u8>, EngineError> {
    let mut size = 0_usize;
    // SAFETY: a compiled program; writes one number.
    unsafe { nvrtc::sys::nvrtcGetCUBINSize(program, &mut size) }
        .result()
        .map_err(failed("sizing kernels"))?;
    let mut code = vec![0_u8; size];
    // SAFETY: writes `size` bytes.
    unsafe { nvrtc::sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()) }
        .result()
        .map_err(failed("reading compiled kernels"))?;
    Ok(code)
}
