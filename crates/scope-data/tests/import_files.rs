//! Files written by numpy, scipy, h5py, pyarrow and Hugging Face `datasets`, read back value by value.
//!
//! The recipe of the fixtures is `fixtures/make.py`; value(n, c, i, j) = n + c/2 + i/64 + j/4096.

use std::path::{Path, PathBuf};

use scope_data::{
    Constants, DataError, Dataset, GeometryFiles, ImportRequest, Meta, SOURCES, SourceFile, Units, import,
};
use scope_pde::{Pde, Split};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn request(pde: Pde, name: &str) -> ImportRequest {
    let from = vec![fixture(name)];
    ImportRequest { pde, split: Split::Train, from, geometry: None, units: None }
}

fn run(request: &ImportRequest) -> Result<(tempfile::TempDir, Dataset, Meta), DataError> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    let meta = import(request, &out, |_, _| true)?;
    Ok((folder, Dataset::open(&out)?, meta))
}

fn assert_pattern(request: &ImportRequest, count: usize, units: Units) {
    let (_folder, set, meta) = run(request).unwrap();
    set.verify().unwrap();
    assert_eq!((set.len(), meta.resolution), (count, 32.into()));
    let constants = Constants::released(request.pde);
    for n in 0..count {
        let pair = set.pair(n).unwrap();
        for (c, (field, scaling)) in
            [(pair.a(), constants.a), (pair.u(), constants.u)].into_iter().enumerate()
        {
            for (at, got) in field.iter().enumerate() {
                let i = at / 32;
                let j = at % 32;
                let value = n as f64 + c as f64 / 2.0 + i as f64 / 64.0 + j as f64 / 4096.0;
                let expected = match units {
                    Units::Stored => value as f32,
                    Units::Physical => scaling.store(value),
                };
                assert_eq!(*got, expected, "record {n}, channel {c}, row {i}, column {j}");
            }
        }
    }
}

#[test]
fn hugging_face_folders() {
    assert_pattern(&request(Pde::POISSON, "poisson_hf"), 5, Units::Stored);
    assert_pattern(&request(Pde::POISSON, "float32_hf"), 3, Units::Stored);
}

#[test]
fn what_was_read_is_listed_with_its_hash() {
    let (_folder, set, _) = run(&request(Pde::POISSON, "poisson_hf")).unwrap();
    let text = std::fs::read(set.folder().join(SOURCES)).unwrap();
    let listed: Vec<SourceFile> = serde_json::from_slice(&text).unwrap();
    assert!(!listed.is_empty());
    for SourceFile { file, bytes, blake3 } in listed {
        let read = std::fs::read(fixture("poisson_hf").join(&file)).unwrap();
        assert_eq!((bytes, blake3), (read.len() as u64, blake3::hash(&read).to_string()), "{file}");
    }
}

#[test]
fn matlab_5_and_7() {
    assert_pattern(&request(Pde::POISSON, "poisson_v5.mat"), 3, Units::Physical);
    assert_pattern(&request(Pde::POISSON, "poisson_v7.mat"), 3, Units::Physical);
}

#[test]
fn matlab_s_last_time_is_the_response() {
    assert_pattern(&request(Pde::NAVIER_STOKES, "ns_v7.mat"), 3, Units::Physical);
}

#[test]
fn matlab_73() {
    assert_pattern(&request(Pde::DARCY, "darcy_v73.mat"), 3, Units::Physical);
    assert_pattern(&request(Pde::DARCY, "darcy_v73_plain.mat"), 3, Units::Physical);
}

#[test]
fn an_hdf5_feature_that_is_not_read_is_named() {
    let error = run(&request(Pde::DARCY, "darcy_latest.mat")).unwrap_err().to_string();
    assert!(error.contains("darcy_latest.mat") && error.contains("layout"), "{error}");
}

#[test]
fn plain_arrays_in_both_orders_and_types() {
    assert_pattern(&request(Pde::HELMHOLTZ, "plain"), 3, Units::Physical);
    assert_pattern(&request(Pde::HELMHOLTZ, "pairs.npy"), 3, Units::Physical);
    let stored = ImportRequest { units: Some(Units::Stored), ..request(Pde::HELMHOLTZ, "pairs.npy") };
    assert_pattern(&stored, 3, Units::Stored);
}

#[test]
fn files_are_read_one_after_another() {
    let mut both = request(Pde::POISSON, "poisson_v5.mat");
    both.from.push(fixture("poisson_v7.mat"));
    let (_folder, set, _) = run(&both).unwrap();
    assert_eq!(set.len(), 6);
    assert_eq!(set.pair(1).unwrap().values(), set.pair(4).unwrap().values());
}

#[test]
fn cylinder_snapshots_with_their_disks() {
    let beside = request(Pde::CYLINDER, "cylinder");
    assert_pattern(&beside, 2, Units::Physical);
    let named =
        ImportRequest { geometry: Some(GeometryFiles::Together(fixture("geometry.npy"))), ..beside.clone() };
    let (_first, beside, _) = run(&beside).unwrap();
    let (_second, named, _) = run(&named).unwrap();
    for n in 0..2 {
        assert_eq!(beside.disk(n), named.disk(n));
    }
    assert_eq!(beside.disk(1).map(|d| (d.cx, d.cy, d.r)), Some((12.0, 16.0, 4.5)));
}

fn refusal(request: &ImportRequest) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("set");
    let error = import(request, &out, |_, _| true).unwrap_err().to_string();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a refused import leaves nothing");
    error
}

#[test]
fn wrong_requests_say_what_to_do() {
    let error = refusal(&request(Pde::CYLINDER, "pairs.npy"));
    assert!(error.contains("needs a disk for each record"), "{error}");
    for series in ["cylinder", "cylinder/v.npy"] {
        let error = refusal(&request(Pde::NAVIER_STOKES, series));
        assert!(error.contains("pairs of a and u, [N, 2, S, S]"), "{error}");
    }
    let error = refusal(&request(Pde::HELMHOLTZ, "poisson_v5.mat"));
    assert!(error.contains("'psi_data'") && error.contains("phi_data"), "{error}");
    let error = refusal(&request(Pde::POISSON, "make.py"));
    assert!(error.contains("neither"), "{error}");
    let error = refusal(&request(Pde::POISSON, "poisson_hf/data-00000-of-00002.arrow"));
    assert!(error.contains("state.json"), "{error}");
    let error = refusal(&request(Pde::POISSON, "nowhere"));
    assert!(error.contains("cannot read") && error.contains("nowhere"), "{error}");
    let error = refusal(&request(Pde::POISSON, "."));
    assert!(error.contains("a.npy"), "{error}");
}

#[test]
fn a_value_that_is_not_finite_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.npy");
    let mut bytes = std::fs::read(fixture("pairs.npy")).unwrap();
    // Record 2, channel 1, row 3, column 5, behind a header of 128 bytes.
    let at = 128 + 4 * (((2 * 2 + 1) * 32 + 3) * 32 + 5);
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let error = refusal(&ImportRequest { from: vec![path], ..request(Pde::POISSON, "") });
    assert!(error.contains("record 2, channel u, row 3, column 5"), "{error}");
}

/// A pipe that nobody writes to would be waited for.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_source() {
    let root = tempfile::tempdir().unwrap();
    let pipe = root.path().join("pairs.npy");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let from = vec![pipe];
    let said = run(&ImportRequest { from, ..request(Pde::POISSON, "") }).unwrap_err().to_string();
    assert!(said.contains("pairs.npy is a pipe"), "{said}");
}

/// A few bytes more in the list would otherwise be as many copies of a shard as one likes.
#[test]
fn a_shard_that_is_named_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shard = "data-00000-of-00001.arrow";
    std::fs::copy(fixture("float32_hf").join(shard), folder.path().join(shard)).unwrap();
    let import = |state: &str| {
        std::fs::write(folder.path().join("state.json"), state).unwrap();
        let from = vec![folder.path().to_owned()];
        run(&ImportRequest { from, ..request(Pde::POISSON, "") }).map(|(_, set, _)| set.len())
    };
    let once = format!("{{\"filename\": \"{shard}\"}}");
    assert_eq!(import(&format!("{{\"_data_files\": [{once}]}}")).unwrap(), 3);
    let twice = import(&format!("{{\"_data_files\": [{once}, {once}]}}")).unwrap_err().to_string();
    assert!(twice.contains("names 'data-00000-of-00001.arrow' twice"), "{twice}");
    let long = format!("{{\"_data_files\": [{once}], \"more\": \"{}\"}}", "x".repeat(1 << 20));
    let long = import(&long).unwrap_err().to_string();
    assert!(long.contains("more than 1048576 bytes"), "{long}");
}
