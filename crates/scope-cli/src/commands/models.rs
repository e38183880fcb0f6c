//! `--model` and `--run`: a run's folder, a weight file, or the name of a model.

use std::path::PathBuf;

use scope_model::{Catalogue, Embedded};

/// Folders of models, separated as in PATH.
const VARIABLE: &str = "SCOPE_MODELS";
/// What a folder of models is called.
const FOLDER: &str = "models";
/// From `target/release/scope` to the checkout's own folder is so many steps up.
const STEPS_UP: usize = 3;

/// Models inside the program, as `build.rs` chose them.
const EMBEDDED: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Where models are looked for: $SCOPE_MODELS, `models` here, `models` beside the program or above it, inside it.
pub(crate) fn catalogue() -> Catalogue {
    let mut folders: Vec<PathBuf> = match std::env::var_os(VARIABLE) {
        Some(paths) => std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => Vec::new(),
    };
    folders.push(FOLDER.into());
    if let Ok(program) = std::env::current_exe() {
        folders.extend(program.ancestors().skip(1).take(STEPS_UP).map(|above| above.join(FOLDER)));
    }
    folders.retain(|folder| folder.is_dir());
    Catalogue::new(folders, EMBEDDED.to_vec())
}
