//! Damaged files: whatever the bytes, an import ends with a set or an error; it never panics, and never
//! asks for much more memory than the file is long.
//!
//! `PROPTEST_CASES=20000 cargo test --release -p scope-fuzz --test hostile_files` looks further.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use scope_data::{DataError, Dataset, ImportRequest, import};
use scope_fuzz::{Counting, within_memory};
use scope_pde::{Pde, Split};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scope-data/tests/fixtures").join(name)
}

/// Files that are damaged on their own, and the shard that is damaged in its folder.
const FILES: [(&str, Pde); 8] = [
    ("poisson_v5.mat", Pde::POISSON),
    ("poisson_v7.mat", Pde::POISSON),
    ("ns_v7.mat", Pde::NAVIER_STOKES),
    ("darcy_v73.mat", Pde::DARCY),
    ("darcy_v73_plain.mat", Pde::DARCY),
    ("darcy_latest.mat", Pde::DARCY),
    ("pairs.npy", Pde::HELMHOLTZ),
    ("float32_hf/data-00000-of-00001.arrow", Pde::POISSON),
];

/// Imports bytes as if they were the given fixture.
fn import_bytes(name: &str, pde: Pde, bytes: &[u8]) -> Result<(), DataError> {
    let folder = tempfile::tempdir().unwrap();
    let mut from = folder.path().join("damaged");
    if name.contains('/') {
        std::fs::create_dir(&from).unwrap();
        std::fs::copy(fixture("float32_hf/state.json"), from.join("state.json")).unwrap();
        std::fs::write(from.join("data-00000-of-00001.arrow"), bytes).unwrap();
    } else {
        from.set_extension("bin");
        std::fs::write(&from, bytes).unwrap();
    }
    let out = folder.path().join("set");
    let request = ImportRequest { pde, split: Split::Test, from: vec![from], geometry: None, units: None };
    let result = within_memory(bytes.len(), || import(&request, &out, |_, _| true));
    assert_eq!(out.exists(), result.is_ok(), "a set appears whole or not at all");
    result.map(|_| Dataset::open(&out).unwrap().verify().unwrap())
}

/// A change to a file: where (as a fraction, dense near the beginning) and what.
#[derive(Clone, Debug)]
enum Damage {
    Flip(f64, u8),
    Number(f64, u64, usize),
    Cut(f64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = || prop_oneof![0.0..1.0f64, (0.0..1.0f64).prop_map(|x| x * 0.02)];
    let extreme = prop_oneof![
        Just(u64::MAX),
        Just(1 << 63),
        Just(0x7fff_ffff_ffff_ffff),
        Just(0x7fff_ffff),
        Just(0xffff_ffff),
        Just(0),
        any::<u64>()
    ];
    prop_oneof![
        3 => (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        3 => (place(), extreme, prop_oneof![Just(2usize), Just(4), Just(8)])
            .prop_map(|(at, value, width)| Damage::Number(at, value, width)),
        1 => place().prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let place = |fraction: f64, length: usize| (fraction * length as f64) as usize;
    match *damage {
        Damage::Flip(at, byte) => {
            if let Some(target) = {
                let n = bytes.len();
                bytes.get_mut(place(at, n))
            } {
                *target ^= byte;
            }
        }
        Damage::Number(at, value, width) => {
            let start = place(at, bytes.len()) & !(width - 1);
            if let Some(target) = bytes.get_mut(start..start + width) {
                target.copy_from_slice(&value.to_le_bytes()[..width]);
            }
        }
        Damage::Cut(at) => bytes.truncate(place(at, bytes.len())),
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_refused_or_read(
        which in 0..FILES.len(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (name, pde) = FILES[which];
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        let _ = import_bytes(name, pde, &bytes);
    }

    #[test]
    fn noise_is_refused(start in 0usize..4, noise in prop::collection::vec(any::<u8>(), 0..2000)) {
        // A true beginning leads the noise past the first check.
        let (beginning, pde): (&[u8], Pde) = [
            (&b""[..], Pde::POISSON),
            (&b"\x93NUMPY\x01\x00"[..], Pde::POISSON),
            (&b"MATLAB 5.0 MAT-file"[..], Pde::POISSON),
            (&b"\x89HDF\r\n\x1a\n"[..], Pde::DARCY),
        ][start];
        let bytes = [beginning, &noise].concat();
        prop_assert!(import_bytes("noise", pde, &bytes).is_err());
    }
}

/// Zero records of any size need no bytes, so the file's length does not refute them.
#[test]
fn no_records_of_absurd_size_are_refused() {
    let header = scope_data::npy::Header::new(scope_data::npy::Dtype::F32, &[0, 2, 1 << 20, 1 << 20]);
    let error = import_bytes("noise", Pde::POISSON, &header.to_bytes()).unwrap_err().to_string();
    assert!(error.contains("holds no records"), "{error}");
}

/// Dimensions whose product is beyond any number of bytes.
#[test]
fn absurd_matlab_dimensions_are_refused() {
    let mut bytes = std::fs::read(fixture("poisson_v5.mat")).unwrap();
    let dimensions = |d: [i32; 3]| d.map(i32::to_le_bytes).concat();
    let true_ones = dimensions([3, 32, 32]);
    let absurd = dimensions([i32::MAX - 1; 3]);
    let places: Vec<usize> = (0..bytes.len() - 12).filter(|at| bytes[*at..at + 12] == true_ones).collect();
    assert_eq!(places.len(), 2);
    places.iter().for_each(|at| bytes[*at..at + 12].copy_from_slice(&absurd));
    let error = import_bytes("noise", Pde::POISSON, &bytes).unwrap_err().to_string();
    assert!(error.contains("2147483646"), "{error}");
}

#[test]
fn every_truncation_is_refused() {
    for (name, pde) in FILES {
        let whole = std::fs::read(fixture(name)).unwrap();
        for k in 0..50 {
            let cut = whole.len() * k / 50;
            assert!(
                import_bytes(name, pde, &whole[..cut]).is_err(),
                "{name} cut to {cut} bytes was accepted"
            );
        }
    }
}
