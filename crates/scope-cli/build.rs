//! Puts trained models into the program: those of the checkout's `models/`, each a `NAME.safetensors` with its card
//! `NAME.toml` beside it. The feature `embedded-model` takes one, `embedded-models` all of them.
#![allow(clippy::print_stdout)] // How a build script speaks.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The model that `scope demo` works with when nothing but the program is there.
const DEMO: &str = "poisson";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut chosen = Vec::new();
    if models.is_dir() {
        println!("cargo::rerun-if-changed={}", models.display());
        chosen = with_cards(&models)?;
    }
    let all = cfg!(feature = "embedded-models");
    chosen.retain(|weights| {
        all || cfg!(feature = "embedded-model") && weights.file_stem() == Some(DEMO.as_ref())
    });
    let entry = |weights: &PathBuf| {
        let card = weights.with_extension("toml");
        format!("Embedded {{ weights: include_bytes!({weights:?}), card: include_str!({card:?}) }},\n")
    };
    let list: String = chosen.iter().map(entry).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("embedded.rs"), format!("&[{list}]\n"))
}

/// The weight files of a folder that have a card, in order of their names.
fn with_cards(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let mut found: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    found.retain(|path| {
        path.extension() == Some("safetensors".as_ref()) && path.with_extension("toml").is_file()
    });
    found.sort_unstable();
    Ok(found)
}
