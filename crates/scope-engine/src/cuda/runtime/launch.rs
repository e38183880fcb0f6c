//! Launching our own kernels: compiled for the GPU at hand when first wanted, and kept on disk.

use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::c_void,
    sync::{Arc, Mutex},
};

use cudarc::{
    driver::{CudaFunction, CudaModule, sys},
    nvrtc::Ptx,
};

use super::{Cuda, failed, locked, nvrtc};
use crate::{
    cuda::kernels::{Arg, Grid, Source},
    error::EngineError,
};

/// Compiled kernels, by source and options.
#[derive(Default)]
pub(super) struct Kernels {
    modules: Mutex<HashMap<String, Arc<CudaModule>>>,
    functions: Mutex<HashMap<String, LoadedKernel>>,
}

struct LoadedKernel {
    function: CudaFunction,
    /// Bytes of dynamic shared memory that a launch may take. It is only ever raised: a driver that is told of a
    /// smaller amount refuses the next launch with a larger one.
    shared: usize,
}

/// Shared memory beyond this has to be asked for.
const USUAL_SHARED: usize = 48 * 1024;

impl Cuda {
    /// Launches a kernel of a source compiled with constants, as in `WIDTH=512`.
    pub(crate) fn launch_with(
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
                Arg::Ridges(ridges) => (&raw mut **ridges).cast(),
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
        // of its eight (every machine with such a GPU is little-endian).
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
    pub(crate) fn launch(
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
                let code = nvrtc::compile(&text, constants, self.0.capability)?;
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
