//! Puts a trained model into the program, if the checkout has it: `models/NAME.safetensors` with its card
//! `models/NAME.toml`, and the feature `embedded-model` is on.
#![allow(clippy::print_stdout)] // How a build script speaks.

use std::path::Path;

/// The model that `scope demo` works with when nothing but the program is there.
const EMBEDDED: &str = "poisson";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(embedded_model)");
    println!("cargo::rerun-if-changed=build.rs");
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    if !models.is_dir() {
        return;
    }
    println!("cargo::rerun-if-changed={}", models.display());
    let file = |ending: &str| models.join(format!("{EMBEDDED}.{ending}"));
    let (weights, card) = (file("safetensors"), file("toml"));
    if cfg!(feature = "embedded-model") && weights.is_file() && card.is_file() {
        println!("cargo::rustc-cfg=embedded_model");
        println!("cargo::rustc-env=SCOPE_EMBEDDED_WEIGHTS={}", weights.display());
        println!("cargo::rustc-env=SCOPE_EMBEDDED_CARD={}", card.display());
    }
}
