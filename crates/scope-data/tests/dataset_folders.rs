//! Dataset folders: equal bytes however they are made, and no belief in what is damaged.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use scope_data::{DataError, Dataset, Request, Shard, generate, merge};
use scope_pde::{Generator, Identity, Pde, Split};

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
        assert_eq!(folders[0].len(), if pde == Pde::Cylinder { 3 } else { 2 });
        assert!(folders.windows(2).all(|pair| pair[0] == pair[1]), "{pde}");
    }
}

#[test]
fn four_merged_shards_equal_one_run() {
    let root = tempfile::tempdir().unwrap();
    for pde in [Pde::Poisson, Pde::Cylinder] {
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
            Request { shard: Some(Shard { part, of: 2, total: 4 }), ..request(Pde::Poisson, 4) };
        request.identity.seed = seed;
        make(&request, &out, 1);
        out
    };
    let (first, second, other) = (shard("1", 1, 5), shard("2", 2, 5), shard("other", 2, 6));
    let whole = root.path().join("whole");
    make(&request(Pde::Poisson, 4), &whole, 1);
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
    let request = request(Pde::Cylinder, 3);
    make(&request, &out, 2);
    let set = Dataset::open(&out).unwrap();
    let generator = Generator::new(request.identity).unwrap();
    for index in 0..3 {
        let record = generator.record(index as u64).unwrap();
        assert_eq!(set.disk(index), record.disk);
        let constants = set.meta().constants();
        let stored: Vec<f32> = record.u.iter().map(|x| constants.u.store(*x)).collect();
        assert_eq!(set.pair(index).u(), stored);
    }
}

#[test]
fn stopping_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    let error = generate(&request(Pde::Poisson, 1000), &out, |done| done < 200).unwrap_err();
    assert!(matches!(error, DataError::Interrupted));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn zero_targets_are_flagged_when_written() {
    use scope_data::{Constants, DatasetWriter, Origin, Plan};
    let root = tempfile::tempdir().unwrap();
    let constants = Constants::released(Pde::Cylinder);
    let plan = Plan {
        pde: Pde::Cylinder,
        split: Split::Test,
        resolution: 32,
        count: 2,
        constants,
        origin: Origin::Imported { source: "test".into(), files: vec![] },
        shard: None,
    };
    let disk = scope_pde::cylinder::Disk { cx: 10.0, cy: 10.0, r: 3.0 };
    let mut writer = DatasetWriter::create(&root.path().join("set"), plan).unwrap();
    let record = |u: f64| [vec![constants.a.store(2.0); 1024], vec![constants.u.store(u); 1024]].concat();
    writer.push(&record(1.0), Some(disk)).unwrap();
    writer.push(&record(0.0), Some(disk)).unwrap();
    let meta = writer.finish().unwrap();
    assert_eq!((meta.a.zero_records, meta.u.zero_records), (vec![], vec![1]));
    assert!((meta.a.rms - 2.0).abs() < 1e-6 && (meta.u.rms - 0.5f64.sqrt()).abs() < 1e-6);
}

/// A header one byte short is valid npy, and leaves floats where they cannot be read in place.
#[test]
fn misaligned_fields_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::Poisson, 1), &out, 1);
    let mut bytes = fs::read(out.join("fields.npy")).unwrap();
    // Byte 126 is padding; bytes 8 and 9 are the length of the header.
    bytes.remove(126);
    bytes[8] -= 1;
    fs::write(out.join("fields.npy"), bytes).unwrap();
    let error = Dataset::open(&out).unwrap_err().to_string();
    assert!(error.contains("multiple of 4 bytes"), "{error}");
}

/// Any changed byte of the arrays is found by its hash; any changed meta.json is refused or harmless.
#[test]
fn damage_is_found() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("set");
    make(&request(Pde::Cylinder, 2), &out, 1);
    for name in ["fields.npy", "geometry.npy", "meta.json"] {
        let path = out.join(name);
        let whole = fs::read(&path).unwrap();
        for k in 0..200 {
            let mut damaged = whole.clone();
            damaged[whole.len() * k / 200] ^= 1 << (k % 8);
            fs::write(&path, &damaged).unwrap();
            let found = Dataset::open(&out).and_then(|set| set.verify());
            assert!(
                found.is_err() || name == "meta.json",
                "a change at byte {} of {name}",
                whole.len() * k / 200
            );
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
