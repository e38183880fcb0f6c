//! Puts the built page into the library: every file of `page/`, with its name.
#![allow(clippy::print_stdout)] // How a build script speaks.

use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=page");
    // Asked as it runs: a build folder that came from elsewhere has this program already, compiled there.
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("page");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    let file = |name: &String| format!("({name:?}, include_bytes!({:?})),\n", folder.join(name));
    let list: String = names.iter().map(file).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page.rs"), format!("&[{list}]\n"))
}
