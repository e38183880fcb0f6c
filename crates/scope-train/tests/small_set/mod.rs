//! Small data sets and callbacks, for tests of whole runs.
#![allow(dead_code)] // each test uses its part

use std::path::Path;

use scope_data::{Dataset, Request, generate};
use scope_pde::{Identity, Pde, Split};
use scope_train::{Callback, MetricsLine};

/// A set of fresh records at resolution 32.
pub(crate) fn make(root: &Path, name: &str, pde: Pde, split: Split, count: usize) -> Dataset {
    let out = root.join(name);
    let identity = Identity { pde, seed: 5, split, resolution: 32 };
    generate(&Request { identity, count, shard: None }, &out, |_| true).unwrap();
    Dataset::open(&out).unwrap()
}

/// Watches nothing and never asks to stop.
pub(crate) struct Quiet;

impl Callback for Quiet {
    fn on_warning(&mut self, text: &str) {
        assert!(text.is_empty(), "a warning: {text}");
    }
}

/// Asks to stop after some steps.
pub(crate) struct StopAfter(pub(crate) u64);

impl Callback for StopAfter {
    fn on_step(&mut self, _: &MetricsLine, _: u64, _: u64) {
        self.0 -= 1;
    }
    fn should_stop(&self) -> bool {
        self.0 == 0
    }
}
