//! Compiling kernels for a GPU with NVRTC.

use std::ffi::{CStr, CString};

use cudarc::nvrtc;

use super::failed;
use crate::error::EngineError;

/// Compiles kernels for a GPU. Those of capability 9.0 get the instructions that only they have.
pub(super) fn compile(
    text: &str,
    constants: &str,
    (major, minor): (i32, i32),
) -> Result<Vec<u8>, EngineError> {
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
