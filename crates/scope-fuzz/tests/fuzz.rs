//! Every reader under a few thousand damaged files, the same ones every time.
//!
//! `SCOPE_FUZZ_INPUTS=1000000 cargo test --release -p scope-fuzz --test fuzz` looks further.

#![allow(clippy::unwrap_used)]

use scope_fuzz::{Counting, damaged, target, within_memory};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Inputs of each target where nothing else is said.
const INPUTS: u64 = 2000;

fn inputs() -> u64 {
    std::env::var("SCOPE_FUZZ_INPUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(INPUTS)
}

/// Reads damaged seeds; a panic names the input that made it.
fn fuzz(name: &str) {
    let target = target(name);
    let seeds = (target.seeds)();
    let salt = name.bytes().fold(0, |salt: u64, byte| salt.wrapping_mul(31) + u64::from(byte));
    for (number, seed) in seeds.iter().enumerate() {
        assert!(within_memory(seed.len(), || (target.read)(seed)), "{name}: seed {number} is a true file");
    }
    for number in 0..inputs() {
        let bytes = damaged(&seeds, salt, number);
        let read = || within_memory(bytes.len(), || (target.read)(&bytes));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
        assert!(outcome.is_ok(), "{name}: input {number} of {} bytes", bytes.len());
    }
}

macro_rules! fuzzed {
    ($($name:ident),*) => { $(
        #[test]
        fn $name() {
            fuzz(stringify!($name));
        }
    )* };
}

fuzzed!(
    npy, npz, mat5, mat73, arrow, flatbuffer, state_json, table, json, weights, linear_fit, meta_json,
    recipe, card, chart
);

/// No reader is forgotten here, and none under libFuzzer.
#[test]
fn every_target_is_run() {
    let here = include_str!("fuzz.rs");
    let manifest = include_str!("../../../fuzz/Cargo.toml");
    for target in scope_fuzz::TARGETS {
        let listed = here.split("fuzzed!(").nth(1).unwrap();
        assert!(listed.contains(target.name), "{} is not run", target.name);
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{} is not in fuzz/", target.name);
    }
}
