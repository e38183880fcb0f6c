//! Finding CUDA's libraries when a program wants them.

use std::{env, fs, path::Path};

use cudarc::{cublaslt, cudnn, driver, nvrtc};
use libloading::Library;

use crate::error::EngineError;

/// Where installers put libraries that the loader may not know of.
const FOLDERS: [&str; 4] = [
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/wsl/lib",
];

/// What NVRTC opens itself, by a name that has its minor version in it.
const BUILTINS: &str = "libnvrtc-builtins.so.13.";

/// A library: what it is called, how to tell whether the loader finds it, its file, and where it comes from.
struct SharedLibrary {
    name: &'static str,
    present: unsafe fn() -> bool,
    file: &'static str,
    advice: &'static str,
}

const TOOLKIT: &str = "install the CUDA 13 toolkit or add the folder of its libraries to LD_LIBRARY_PATH";
const REQUIRED: [SharedLibrary; 3] = [
    SharedLibrary {
        name: "the NVIDIA driver (libcuda)",
        present: driver::sys::is_culib_present,
        file: "libcuda.so.1",
        advice: "install NVIDIA's driver, version 580 or newer",
    },
    SharedLibrary {
        name: "NVRTC (libnvrtc)",
        present: nvrtc::sys::is_culib_present,
        file: "libnvrtc.so.13",
        advice: TOOLKIT,
    },
    SharedLibrary {
        name: "cuBLASLt (libcublasLt)",
        present: cublaslt::sys::is_culib_present,
        file: "libcublasLt.so.13",
        advice: TOOLKIT,
    },
];

/// Makes sure that everything but cuDNN can be loaded; without this, the first call would panic.
pub(super) fn load() -> Result<(), EngineError> {
    if cfg!(target_feature = "crt-static") {
        return Err(EngineError::Unavailable {
            what: "this program is statically linked and cannot load CUDA's libraries".into(),
            advice: "use a build for a target with a dynamic C library, such as x86_64-unknown-linux-gnu"
                .into(),
        });
    }
    REQUIRED.iter().try_for_each(find)?;
    driver::result::init().map_err(|_| no_gpu())
}

/// Makes sure that cuDNN can be loaded: only convolutions need it.
pub(super) fn load_cudnn() -> Result<(), EngineError> {
    find(&SharedLibrary {
        name: "cuDNN (libcudnn)",
        present: cudnn::sys::is_culib_present,
        file: "libcudnn.so.9",
        advice: "install cuDNN 9 for CUDA 13 or add the folder of its libraries to LD_LIBRARY_PATH",
    })
}

/// The names of NCCL's library: NVIDIA's wheels have the first alone.
const NCCL: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// Opens NCCL: only several processes need it.
pub(super) fn open_nccl() -> Result<Library, EngineError> {
    let folders = folders();
    let nowhere = NCCL.iter().map(|file| Path::new(file).to_owned());
    let in_folders = folders.iter().flat_map(|folder| NCCL.map(|file| Path::new(folder).join(file)));
    // SAFETY: as in `find`.
    let opened = nowhere.chain(in_folders).find_map(|path| unsafe { Library::new(path) }.ok());
    opened.ok_or_else(|| EngineError::Unavailable {
        what: "NCCL (libnccl.so.2) was not found".into(),
        advice: "install NCCL 2 for CUDA 13 or add the folder of its library to LD_LIBRARY_PATH".into(),
    })
}

/// NCCL's version in words.
pub(super) fn nccl_version(version: i32) -> String {
    format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
}

/// Where libraries may be that the loader does not know of.
fn folders() -> Vec<String> {
    let root = env::var("CUDA_PATH").or_else(|_| env::var("CUDA_HOME")).map(|root| format!("{root}/lib64"));
    root.into_iter().chain(FOLDERS.map(str::to_owned)).collect()
}

fn find(library: &SharedLibrary) -> Result<(), EngineError> {
    // SAFETY: opens the library, which runs its initialisers; NVIDIA's are made to be opened so.
    if unsafe { (library.present)() } {
        return Ok(());
    }
    let opened = folders().iter().map(Path::new).any(|folder| {
        if library.file.starts_with("libnvrtc") {
            open_builtins(folder);
        }
        keep_open(&folder.join(library.file))
    });
    // SAFETY: as above. A library that is open is found by its bare name.
    if opened && unsafe { (library.present)() } {
        return Ok(());
    }
    Err(EngineError::Unavailable {
        what: format!("{} was not found", library.name),
        advice: library.advice.into(),
    })
}

/// Opens what NVRTC would not find in a folder that the loader does not know.
fn open_builtins(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(BUILTINS) {
            keep_open(&entry.path());
        }
    }
}

/// Opens a library for as long as the program runs.
fn keep_open(path: &Path) -> bool {
    if !path.exists() {
        return false;
    }
    // SAFETY: as in `find`.
    match unsafe { Library::new(path) } {
        Ok(library) => {
            std::mem::forget(library);
            true
        }
        Err(_) => false,
    }
}

/// The driver's version, as in 13000.
pub(super) fn driver_version() -> Result<i32, EngineError> {
    let mut version = 0;
    // SAFETY: writes one number.
    let status = unsafe { driver::sys::cuDriverGetVersion(&mut version) };
    status.result().map_err(super::failed("asking for the driver's version"))?;
    if version < 13_000 {
        let what = format!("the NVIDIA driver knows CUDA {}.{} only", version / 1000, version % 1000 / 10);
        let advice = "install a driver of version 580 or newer".into();
        return Err(EngineError::Unavailable { what, advice });
    }
    Ok(version)
}

/// The versions of the libraries that are loaded; cuDNN is among them if it can be.
pub(super) fn versions() -> Result<Vec<(&'static str, String)>, EngineError> {
    let driver = driver_version()?;
    let mut major = 0;
    let mut minor = 0;
    // SAFETY: writes two numbers.
    let asked = unsafe { nvrtc::sys::nvrtcVersion(&mut major, &mut minor) };
    asked.result().map_err(super::failed("asking for NVRTC's version"))?;
    // SAFETY: only returns a number.
    let products = unsafe { cublaslt::sys::cublasLtGetVersion() };
    let in_parts = |version: usize| format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100);
    let mut versions = vec![
        ("driver for CUDA", format!("{}.{}", driver / 1000, driver % 1000 / 10)),
        ("NVRTC", format!("{major}.{minor}")),
        ("cuBLASLt", in_parts(products)),
    ];
    if load_cudnn().is_ok() {
        // SAFETY: as above.
        versions.push(("cuDNN", in_parts(unsafe { cudnn::sys::cudnnGetVersion() })));
    }
    Ok(versions)
}

pub(super) fn no_gpu() -> EngineError {
    let what = "the NVIDIA driver finds no GPU".into();
    let advice = "see that nvidia-smi lists one".into();
    EngineError::Unavailable { what, advice }
}

pub(super) fn no_such_gpu(ordinal: usize, count: usize) -> EngineError {
    let what = format!("there is no GPU {ordinal}: the driver lists {count}, counted from 0");
    EngineError::Unavailable { what, advice: "name one of those".into() }
}

pub(super) fn too_old(name: &str, (major, minor): (i32, i32)) -> EngineError {
    let what = format!("{name} has compute capability {major}.{minor}, too old for bf16 products");
    EngineError::Unavailable { what, advice: "use a GPU of capability 8.0 or newer".into() }
}
