//! Golden values of the faster recipe, computed elsewhere in double precision.
//!
//! Our own files keep them in single precision, readings where there are sensors, and coefficients at the first of
//! every seven pixels.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use scope_data::npz::{Array, read_npz};

/// One file of arrays.
pub(crate) struct Golden {
    /// The file's name.
    pub(crate) name: String,
    arrays: Vec<Array>,
}

impl Golden {
    /// The files whose names begin with a word, in the folder that SCOPE_RECIPE_GOLDEN names or in our own.
    pub(crate) fn all(word: &str) -> Vec<Self> {
        let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let folder = env::var_os("SCOPE_RECIPE_GOLDEN").map_or_else(own, PathBuf::from);
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let cases: Vec<Self> = files
            .filter(|path| name(path).starts_with(word) && name(path).ends_with(".npz"))
            .map(|path| Self { name: name(&path), arrays: read_npz(&path, |_| true).unwrap() })
            .collect();
        assert!(!cases.is_empty(), "{} has no {word}*.npz", folder.display());
        cases
    }

    /// An array of the file.
    pub(crate) fn get(&self, name: &str) -> &Array {
        self.find(name).unwrap()
    }

    /// An array that the file may have.
    pub(crate) fn find(&self, name: &str) -> Option<&Array> {
        self.arrays.iter().find(|array| array.name == name)
    }
}
