//! Arrays and a problem file of one's own, made for a test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use scope_data::npy::{Dtype, Header};

use crate::program::{refused, scope};

/// A folder with a problem file of 32 x 40 points, and how to write arrays beside it.
pub(crate) struct Bench {
    pub(crate) root: tempfile::TempDir,
}

pub(crate) const PROBLEM: &str =
    "name = \"bench\"\n[fields.a]\nname = \"a\"\n[fields.u]\nname = \"u\"\n[grid]\nrows = 32\ncolumns = 40\n";

impl Bench {
    pub(crate) fn new(problem: &str) -> Self {
        let bench = Self { root: tempfile::tempdir().unwrap() };
        fs::write(bench.path("problem.toml"), problem).unwrap();
        bench.write("a.npy", &[6, 32, 40], |k| (k as f32 * 0.37).sin());
        bench.write("u.npy", &[6, 32, 40], |k| (k as f32 * 0.11).cos());
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, shape: &[usize], value: impl Fn(usize) -> f32) {
        let mut bytes = Header::new(Dtype::F32, shape).to_bytes();
        let count: usize = shape.iter().product();
        bytes.extend((0..count).flat_map(|k| value(k).to_le_bytes()));
        fs::write(self.path(name), bytes).unwrap();
    }

    /// What an import with more arguments complains of; it must leave nothing behind.
    pub(crate) fn refusal(&self, more: &[&str], code: i32) -> String {
        let own = ["data", "import", "own", "--problem", "problem.toml", "--out", "data"];
        let complaint = refused(self.root.path(), &[&own[..], more].concat(), code);
        assert!(!self.path("data/train").exists() && !self.path("data/test").exists(), "{complaint}");
        complaint
    }
}

/// What a command that must succeed says beside its result.
pub(crate) fn noted(here: &Path, arguments: &[&str]) -> String {
    String::from_utf8(scope(here, arguments).assert().success().get_output().stderr.clone()).unwrap()
}

pub(crate) const ARRAYS: [&str; 4] = ["--a", "a.npy", "--u", "u.npy"];
