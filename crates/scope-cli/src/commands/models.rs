//! `--model` and `--run`: a run's folder, a weight file, or the name of a model.

use std::path::{Path, PathBuf};

use scope_model::{Catalogue, Embedded, Found, ModelError};
use scope_pde::Pde;

/// Folders of models, separated as in PATH.
const VARIABLE: &str = "SCOPE_MODELS";
/// What a folder of models is called.
const FOLDER: &str = "models";
/// From `target/release/scope` to the checkout's own folder is so many steps up.
const STEPS_UP: usize = 3;

/// Models inside the program, as `build.rs` chose them.
const EMBEDDED: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Where the project's own models are, for programs that have not got them.
pub(crate) const WHERE_TO_GET: &str = "The project's repository has NAME.safetensors and NAME.toml of its five models in models/: put both into \
                                       a folder models here or beside the program, or into one that SCOPE_MODELS names; or install the \
                                       program with `cargo install --path crates/scope-cli --features embedded-models`.";

/// The model of a name, a run's folder or a weight file. Where one of the project's own is not here, it is said where
/// to get it.
pub(crate) fn find(named: impl AsRef<Path>) -> anyhow::Result<Found> {
    let named = named.as_ref();
    catalogue().find(named).map_err(|error| {
        let known = Pde::ALL.iter().any(|pde| named == Path::new(pde.name()));
        match error {
            ModelError::Unknown { .. } if known => anyhow::anyhow!("{error}. {WHERE_TO_GET}"),
            error => error.into(),
        }
    })
}

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
