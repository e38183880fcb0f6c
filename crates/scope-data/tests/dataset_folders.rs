//! Dataset folders: equal bytes however they are made, and no belief in what is damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use scope_data::{DataError, Dataset, Request, Shard, check, generate, merge};
use scope_pde::{Generator, Identity, Pde, Split};
use serde_json::json;

fn request(pde: Pde, count: usize) -> Request {
    let identity = Identity { pde, seed: 5, split: Split::Train, resolution: 32 };
    Request { identity, count, shard: None }
}

fn make(request: &Request, out: &Path, threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| generate(request, out, |_| true)).unwrap();
}

/// Every file of a folder, by name.
fn bytes(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named = |path: &PathBuf| (path.strip_prefix(folder).unwrap().to_owned(), fs::read(path).unwrap());
    files.iter().map(named).collect()
}

#[test]
fn the_number_of_threads_does_not_show() {
    let root = tempfile::tempdir().unwrap();
    for pde in Pde::ALL {
        let request = request(pde, 9);
        let folders = [1, 2, 8].map(|threads| {
            let out = root.path().join(format!("{pde}-{threads}"));
            make(&request, &out, threads);
            bytes(&out)
        });
        assert_eq!(folders[0].len(), if pde == Pde::CYLINDER { 3 } else { 2 });
        assert!(folders.windows(2).all(|pair| pair[0] == pair[1]), "{pde}");
    }
}

#[test]
fn four_merged_shards_equal_one_run() {
    let root = tempfile::tempdir().unwrap();
    for pde in [Pde::POISSON, Pde::CYLINDER] {
        let whole = root.path().join(format!("{pde}-whole"));
        make(&request(pde, 10), &whole, 2);
        // Named in a jumbled order, as a file manager or a shell may list them.
        let shards = [3, 1, 4, 2].map(|part| {
            let out = root.path().join(format!("{pde}-{part}"));
            make(&Request { shard: Some(Shard { part, of: 4, total: 10 }), ..request(pde, 10) }, &out, 2);
            out
        });
        let merged = root.path().join(format!("{pde}-merged"));
        merge(&shards, &merged, |_| true).unwrap();
        assert!(bytes(&merged) == bytes(&whole), "{pde}");
    }
}

#[test]
fn shards_that_do_not_fit_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let shard = |name: &str, part, seed| {
        let out = root.path().join(name);
        let mut request =
            Request { shard: Some(Shard { part, of: 2, total: 4 }), ..request(Pde::POISSON, 4) };
        request.identity.seed = seed;
        make(&request, &out, 1);
        out
    };
    let first = shard("1", 1, 5);
    let second = shard("2", 2, 5);
    let other = shard("other", 2, 6);
    let whole = root.path().join("whole");
    make(&request(Pde::POISSON, 4), &whole, 1);
    let refusal = |shards: &[&PathBuf]| {
        let shards: Vec<PathBuf> = shards.iter().map(|path| path.to_path_buf()).collect();
        merge(&shards, &root.path().join("out"), |_| true).unwrap_err().to_string()
    };
    assert!(refusal(&[&first]).contains("part 2 of 2 is missing"));
    assert!(refusal(&[&first, &other]).contains("its origin is"));
    assert!(refusal(&[&first, &second, &second]).contains("and so is"));
    assert!(refusal(&[&first, &whole]).contains("whole set, not a shard"));
    assert!(refusal(&[]).contains("no shards"));
    assert!(!root.path().join("out").exists());
}

#[test]
fn records_read_back_are_the_generator_s() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    let request = request(Pde::CYLINDER, 3);
    make(&request, &out, 2);
    let set = Dataset::open(&out).unwrap();
    let generator = Generator::new(request.identity).unwrap();
    for index in 0..3 {
        let record = generator.record(index as u64).unwrap();
        assert_eq!(set.disk(index), record.disk);
        let constants = set.meta().constants();
        let stored: Vec<f32> = record.fields.u.iter().map(|x| constants.u.store(*x)).collect();
        assert_eq!(set.pair(index).unwrap().u(), stored);
    }
}

#[test]
fn stopping_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    let error = generate(&request(Pde::POISSON, 1000), &out, |done| done < 200).unwrap_err();
    assert!(matches!(error, DataError::Interrupted));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn zero_targets_are_flagged_when_written() {
    use scope_data::{Constants, DatasetWriter, Origin, Plan};
    let root = tempfile::tempdir().unwrap();
    let constants = Constants::released(Pde::CYLINDER);
    let plan = Plan {
        pde: Pde::CYLINDER,
        split: Split::Test,
        resolution: 32.into(),
        count: 2,
        constants,
        origin: Origin::Imported { source: "test".into(), files: vec![] },
        shard: None,
    };
    let disk = scope_pde::cylinder::Disk { cx: 10.0, cy: 10.0, r: 3.0 };
    let mut writer = DatasetWriter::create(&root.path().join("set"), plan).unwrap();
    let record = |u: f64| [vec![constants.a.store(2.0); 1024], vec![constants.u.store(u); 1024]].concat();
    writer.push(&record(1.0), Some(&disk.into())).unwrap();
    writer.push(&record(0.0), Some(&disk.into())).unwrap();
    let meta = writer.finish().unwrap();
    assert_eq!((meta.a.zero_records, meta.u.zero_records), (vec![], vec![1]));
    assert!((meta.a.rms - 2.0).abs() < 1e-6 && (meta.u.rms - 0.5f64.sqrt()).abs() < 1e-6);
}

/// Gives meta.json the hashes of the arrays as they are now: what a set looks like whose writer was wrong, or hostile.
fn hash_again(folder: &Path) {
    change_meta(folder, |meta| {
        for (name, hash) in meta["blake3"].as_object_mut().unwrap() {
            *hash = blake3::hash(&fs::read(folder.join(name)).unwrap()).to_string().into();
        }
    });
}

fn change_meta(folder: &Path, change: impl Fn(&mut serde_json::Value)) {
    let path = folder.join("meta.json");
    let mut meta = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut meta);
    fs::write(&path, meta.to_string()).unwrap();
}

/// A header one byte short is valid npy, and leaves floats where they could not be read in place.
#[test]
fn records_are_read_wherever_they_begin() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::POISSON, 2), &out, 1);
    let before = Dataset::open(&out).unwrap().pair(1).unwrap();
    let mut bytes = fs::read(out.join("fields.npy")).unwrap();
    // Byte 126 is padding; bytes 8 and 9 are the length of the header.
    bytes.remove(126);
    bytes[8] -= 1;
    fs::write(out.join("fields.npy"), bytes).unwrap();
    hash_again(&out);
    let set = Dataset::open(&out).unwrap();
    assert_eq!(set.pair(1).unwrap().values(), before.values());
}

/// Any changed byte of the arrays is found when the set is opened; any changed meta.json is refused or harmless.
#[test]
fn damage_is_found() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::CYLINDER, 2), &out, 1);
    for name in ["fields.npy", "geometry.npy", "meta.json"] {
        let path = out.join(name);
        let whole = fs::read(&path).unwrap();
        for k in 0..200 {
            let mut damaged = whole.clone();
            damaged[whole.len() * k / 200] ^= 1 << (k % 8);
            fs::write(&path, &damaged).unwrap();
            let found = Dataset::open(&out);
            let by = whole.len() * k / 200;
            assert!(found.is_err() || name == "meta.json", "a change at byte {by} of {name}");
        }
        for k in 0..20 {
            fs::write(&path, &whole[..whole.len() * k / 20]).unwrap();
            assert!(Dataset::open(&out).is_err(), "{name} cut to {k}/20");
        }
        fs::remove_file(&path).unwrap();
        assert!(Dataset::open(&out).is_err(), "{name} missing");
        fs::write(&path, &whole).unwrap();
        Dataset::open(&out).unwrap().verify().unwrap();
    }
}

#[test]
fn a_value_that_is_not_finite_is_named_though_its_hash_is_right() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::POISSON, 3), &out, 1);
    for (value, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
        let mut bytes = fs::read(out.join("fields.npy")).unwrap();
        let at = bytes.len() - 4 * (1024 - 32 - 5);
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        fs::write(out.join("fields.npy"), bytes).unwrap();
        hash_again(&out);
        let error = Dataset::open(&out).unwrap_err().to_string();
        assert!(error.starts_with(&format!("record 2, channel u, row 1, column 5 is {shown}")), "{error}");
    }
}

#[test]
fn a_set_without_records_is_a_part_of_a_set_and_nothing_to_learn_from() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    make(&request(Pde::CYLINDER, 2), &whole, 1);
    let shards = [1, 2, 3].map(|part| {
        let out = root.path().join(format!("{part}"));
        let shard = Some(Shard { part, of: 3, total: 2 });
        make(&Request { shard, ..request(Pde::CYLINDER, 2) }, &out, 1);
        out
    });
    let empty = Dataset::inspect(&shards[0]).unwrap();
    assert!(empty.is_empty());
    assert!(matches!(check(&empty), Err(DataError::Empty(_))));
    assert!(matches!(Dataset::open(&shards[0]), Err(DataError::Empty(_))));
    let merged = root.path().join("merged");
    merge(&shards, &merged, |_| true).unwrap();
    assert!(bytes(&merged) == bytes(&whole));
}

#[test]
fn hashes_are_of_the_arrays_and_of_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::POISSON, 1), &out, 1);
    let right = fs::read(out.join("meta.json")).unwrap();
    let refusal = |table: serde_json::Value| {
        fs::write(out.join("meta.json"), &right).unwrap();
        change_meta(&out, |meta| meta["blake3"] = table.clone());
        Dataset::inspect(&out).unwrap_err().to_string()
    };
    let hash = "0".repeat(64);
    assert!(refusal(json!({})).contains("blake3 lacks the hash of fields.npy"));
    for name in ["/etc/passwd", "../..", "geometry.npy", "\u{1b}[31m"] {
        let said = refusal(json!({ "fields.npy": hash, name: hash }));
        assert!(said.contains(&format!("blake3 names {name:?}")), "{said}");
    }
    for wrong in ["", "0123", &"0".repeat(65), &"é".repeat(32), &"A".repeat(64)] {
        let said = refusal(json!({ "fields.npy": wrong }));
        assert!(said.contains("blake3 of fields.npy is") && said.contains("expected 64"), "{said}");
    }
}

#[test]
fn a_grid_that_no_solver_supports_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for pde in [Pde::POISSON, Pde::DARCY, Pde::NAVIER_STOKES] {
        let out = root.path().join(pde.name());
        make(&request(pde, 1), &out, 1);
        for size in [0, 1, 2, 3, 7, 30, 31, 33, 4098] {
            let header = scope_data::npy::Header::new(scope_data::npy::Dtype::F32, &[1, 2, size, size]);
            let data = vec![0; 2 * 4 * size.min(100).pow(2)];
            fs::write(out.join("fields.npy"), [header.to_bytes(), data].concat()).unwrap();
            change_meta(&out, |meta| meta["resolution"] = size.into());
            hash_again(&out);
            let said = Dataset::inspect(&out).unwrap_err().to_string();
            let expected =
                format!("resolution {size} is not supported: expected an even number from 32 to 4096");
            assert!(said.contains(&expected), "{said}");
        }
    }
}

#[test]
fn what_is_cut_short_or_written_to_while_it_is_open_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::POISSON, 3), &out, 1);
    let file = fs::File::options().write(true).open(out.join("fields.npy")).unwrap();
    let refusal = |set: &Dataset, record: usize| set.pair(record).unwrap_err().to_string();
    let set = Dataset::open(&out).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(refusal(&set, 0).contains("has changed while it was being read: it was written to"));
    let set = Dataset::open(&out).unwrap();
    file.set_len(128 + 8192 + 100).unwrap();
    for record in 0..3 {
        let said = refusal(&set, record);
        assert!(
            said.contains("fields.npy has changed while it was being read: it had 24704 bytes"),
            "{said}"
        );
    }
    assert!(matches!(set.verify(), Err(DataError::ChangedMeanwhile { .. })));
}

/// A pipe that nobody writes to would be waited for.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_part_of_a_set() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::CYLINDER, 1), &out, 1);
    for name in ["fields.npy", "geometry.npy", "meta.json"] {
        let path = out.join(name);
        let backup = root.path().join("backup");
        fs::rename(&path, &backup).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let said = Dataset::inspect(&out).unwrap_err().to_string();
        assert!(said.contains(name) && said.contains("is a pipe"), "{said}");
        fs::remove_file(&path).unwrap();
        fs::rename(&backup, &path).unwrap();
    }
}

#[test]
fn a_meta_json_that_does_not_end_is_not_read() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::POISSON, 1), &out, 1);
    // Sparse: eight gigabytes, and nothing on the disk.
    fs::File::options().write(true).open(out.join("meta.json")).unwrap().set_len(1 << 33).unwrap();
    assert!(matches!(Dataset::inspect(&out), Err(DataError::TooLong { .. })));
}
