//! A problem of one's own, from its records to a recovered field, as a user types it.
//!
//! `examples/shallow-water/make_records.py --count 24 --rows 32 --columns 40` made the records.

use std::{
    fs,
    path::{Path, PathBuf},
};

use scope_data::{
    Dataset,
    npy::{Dtype, Header, MappedArray},
    npz::{Array, npz_bytes},
};

use crate::program::{refused, scope, succeed};

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shallow-water");
    folder.join(name).display().to_string()
}

/// Imports the fixture's records into the folder `data`.
fn import(here: &Path) -> String {
    let [problem, a, u] = ["problem.toml", "a.npy", "u.npy"].map(fixture);
    let records = ["--problem", &problem, "--a", &a, "--u", &u, "--test-fraction", "0.25"];
    succeed(here, &[&["data", "import", "own"], &records[..], &["--out", "data"]].concat())
}

const TRAIN: [&str; 12] = [
    "train",
    "--data",
    "data/train",
    "--model",
    "tiny",
    "--recipe",
    "fo",
    "--draws",
    "8",
    "--set",
    "batch=4",
    "--out",
];

pub(crate) fn train(here: &Path, run: &str) {
    succeed(here, &[&TRAIN[..], &[run, "--device", "cpu"]].concat());
}

#[test]
fn records_become_a_model_bands_and_a_recovered_field() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let said = import(here);
    assert!(said.contains("wrote 18 records of shallow-water, 32 x 40, to data/train"), "{said}");
    assert!(said.contains("wrote 6 records of shallow-water, 32 x 40, to data/test"), "{said}");
    assert!(said.contains("a: water level now (m), mean"), "{said}");
    records_are_those_of_the_files(here);
    let mask = ["mask", "--problem", &fixture("problem.toml"), "--family", "lines", "--budget", "4915"];
    let seen = succeed(here, &[&mask[..], &["--out", "mask.npy"]].concat());
    assert!(seen.contains("(384 and 0 of 1,280 points seen)"), "{seen}");
    let info = succeed(here, &["data", "info", "data/test"]);
    assert!(info.contains("6 records of shallow-water (test), 32 x 40"), "{info}");
    succeed(here, &["data", "check", "data/train"]);

    train(here, "run");
    let again = [&TRAIN[..], &["run", "--device", "cpu", "--resume"]].concat();
    assert!(succeed(here, &again).contains("nothing was changed"), "config.toml carries the problem");
    let evaluate = ["evaluate", "--run", "run", "--data", "data/test", "--device", "cpu", "--json", "-"];
    let results: serde_json::Value = serde_json::from_str(&succeed(here, &evaluate)).unwrap();
    assert!(results["conditions"]["forward/uniform/500"]["u"]["mean"].as_f64().unwrap() > 0.0);
    succeed(here, &["evaluate", "--run", "run", "--data", "data/test", "--device", "cpu"]);
    let report = succeed(here, &["report", "run"]);
    assert!(report.contains("Shallow water"), "{report}");
    succeed(here, &["diagnose", "--run", "run", "--data", "data/test", "--device", "cpu"]);

    sensors_in_kilometres_become_fields(here);
    let demo = ["demo", "--data", "data", "--model", "run", "--json"];
    let errors: serde_json::Value = serde_json::from_str(&succeed(here, &demo)).unwrap();
    assert!(errors["errors_percent"]["inverse/uniform/500"]["a"].as_f64().unwrap() > 0.0);
}

/// A linear fit carries rectangle, coordinates and units as a model does.
#[test]
fn a_linear_fit_of_records_recovers_evaluates_and_places() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    import(here);
    succeed(here, &["fit", "linear", "--data", "data/train", "--modes", "8", "--out", "fit.safetensors"]);
    let linear = |command: &'static str, more: &[&'static str]| {
        succeed(here, &[&[command, "--method", "linear", "--fit", "fit.safetensors"], more].concat())
    };
    let table = linear("evaluate", &["--data", "data/test"]);
    assert!(table.contains("grid: 32 x 40"), "{table}");
    // Too few records stay with such a fit for anything to be said of its accuracy.
    let evaluate = ["evaluate", "--method", "linear", "--fit", "fit.safetensors", "--data", "data/test"];
    let complaint = refused(here, &[&evaluate[..], &["--coverage"]].concat(), 1);
    assert!(complaint.contains("the fit is not calibrated"), "{complaint}");
    fs::write(here.join("gauges.csv"), "x,y,u\n0.05,0.05,0.1\n3.15,3.95,-0.2\n1.6,2.0,0.05\n").unwrap();
    linear("recover", &["--sensors", "gauges.csv", "--noise", "0.05", "--out", "recovered"]);
    let field = MappedArray::open(&here.join("recovered/u.npy")).unwrap();
    assert_eq!(field.header().shape, [32, 40]);
    assert!(!here.join("recovered/u_sd.npy").exists());
    linear("place", &["--count", "3", "--given", "gauges.csv", "--out", "placed"]);
    let places = fs::read_to_string(here.join("placed/sensors.csv")).unwrap();
    let coordinates: Vec<f64> =
        places.lines().skip(1).flat_map(|line| line.split(',').take(2)).map(|x| x.parse().unwrap()).collect();
    assert!(coordinates.len() == 6 && coordinates.iter().any(|x| *x > 1.0), "kilometres: {places}");
    fs::write(here.join("allowed.csv"), "x,y\n2.0,3.5\n").unwrap();
    linear("place", &["--count", "1", "--allowed", "allowed.csv", "--out", "there"]);
    let places = fs::read_to_string(here.join("there/sensors.csv")).unwrap();
    assert!(places.lines().nth(1).unwrap().starts_with("2,3.5,"), "{places}");
}

/// Both splits together hold every record of the files, once, to single precision.
fn records_are_those_of_the_files(here: &Path) {
    let files = ["a.npy", "u.npy"].map(|name| MappedArray::open(Path::new(&fixture(name))).unwrap());
    let points = 32 * 40;
    let mut left: Vec<usize> = (0..24).collect();
    for split in ["train", "test"] {
        let set = Dataset::open(&here.join("data").join(split)).unwrap();
        let constants = set.meta().constants();
        for record in 0..set.len() {
            let pair = set.pair(record).unwrap();
            let same = |number: &usize| {
                let field = |k: usize| files[0].value(number * points + k);
                (0..points).all(|k| (constants.a.physical(pair.a()[k]) - field(k)).abs() < 1e-6)
            };
            let number = *left.iter().find(|number| same(number)).unwrap();
            left.retain(|other| *other != number);
            let u = |k: usize| files[1].value(number * points + k);
            assert!((0..points).all(|k| (constants.u.physical(pair.u()[k]) - u(k)).abs() < 1e-6));
        }
    }
    assert!(left.is_empty());
    let train = Dataset::open(&here.join("data/train")).unwrap();
    let stored = train.pair(0).unwrap().a().len();
    let squares: f64 = (0..train.len())
        .map(|record| train.pair(record).unwrap().a().iter().map(|x| f64::from(*x).powi(2)).sum::<f64>())
        .sum();
    let deviation = (squares / (stored * train.len()) as f64).sqrt();
    assert!(
        (deviation - 0.5).abs() < 1e-4,
        "stored values of the training split have a deviation of 1/2: {deviation}"
    );
}

fn sensors_in_kilometres_become_fields(here: &Path) {
    // A column of values may be called as the problem calls its field.
    let rows = "x,y,Water level after 5 min (m)\n0.05,0.05,0.1\n3.15,3.95,-0.2\n1.6,2.0,0.05\n";
    fs::write(here.join("gauges.csv"), rows).unwrap();
    let recover = ["recover", "--model", "run", "--sensors", "gauges.csv", "--device", "cpu"];
    succeed(here, &[&recover[..], &["--format", "csv", "--out", "mine"]].concat());
    let summary = fs::read_to_string(here.join("mine/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["resolution"], serde_json::json!([32, 40]));
    assert_eq!(summary["frame"]["domain"], serde_json::json!([0.0, 3.2, 0.0, 4.0]));
    assert_eq!(summary["field_units"]["u"], "m");
    assert_eq!(summary["problems"][0]["coverage"]["u"]["sensors"], 3);
    let table = fs::read_to_string(here.join("mine/fields.csv")).unwrap();
    assert!(table.starts_with("x,y,water_level_now,water_level_now_band68,"), "{table}");
    let last: Vec<f64> =
        table.lines().last().unwrap().split(',').filter_map(|cell| cell.parse().ok()).collect();
    assert!(
        (last[0] - 3.15).abs() < 1e-9 && (last[1] - 3.95).abs() < 1e-9,
        "centres in kilometres: {last:?}"
    );
    let field = MappedArray::open(&here.join("mine/u.npy")).unwrap();
    assert_eq!(field.header().shape, [32, 40]);

    fs::write(here.join("far.csv"), "x,y,u\n5.0,0.1,0.1\n").unwrap();
    let far = ["recover", "--model", "run", "--sensors", "far.csv", "--out", "far", "--device", "cpu"];
    let complaint = refused(here, &far, 1);
    assert!(
        complaint.contains("lies outside the domain, x from 0 to 3.2 and y from 0 to 4 km"),
        "{complaint}"
    );
    let calibrate = [&recover[..], &["--calibrate", "50", "--out", "c"]].concat();
    let complaint = refused(here, &calibrate, 1);
    assert!(complaint.contains("shallow-water has no solver"), "{complaint}");
    let domain = [&recover[..], &["--domain", "0,1,0,1", "--out", "d"]].concat();
    let complaint = refused(here, &domain, 2);
    assert!(
        complaint.contains("the problem file of shallow-water states where its grid lies"),
        "{complaint}"
    );
}

/// A folder with a problem file of 32 x 40 points, and how to write arrays beside it.
pub(crate) struct Bench {
    pub(crate) root: tempfile::TempDir,
}

const PROBLEM: &str =
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
fn noted(here: &Path, arguments: &[&str]) -> String {
    String::from_utf8(scope(here, arguments).assert().success().get_output().stderr.clone()).unwrap()
}

pub(crate) const ARRAYS: [&str; 4] = ["--a", "a.npy", "--u", "u.npy"];

#[test]
fn bad_records_are_refused_with_what_to_do() {
    let wave = |k: usize| (k as f32 * 0.37).sin();
    let bench = Bench::new(PROBLEM);
    let with = |shape: &[usize], value: &dyn Fn(usize) -> f32| {
        bench.write("bad.npy", shape, value);
        bench.refusal(&["--a", "bad.npy", "--u", "u.npy"], 1)
    };
    let size = 32 * 40;
    let cases: [(String, &str); 10] = [
        (with(&[6, 40, 32], &wave), "save numpy.swapaxes(x, 1, 2)"),
        (with(&[32, 40, 6], &wave), "save numpy.moveaxis(x, -1, 0)"),
        (with(&[32, 40], &wave), "save x[None]"),
        (with(&[6, 1, 32, 40], &wave), "save numpy.squeeze(x)"),
        (with(&[6, 64, 64], &wave), "expected [N, 32, 40]"),
        (with(&[0, 32, 40], &wave), "it holds no records"),
        (with(&[5, 32, 40], &wave), "there are 5 records of a and 6 of u"),
        (
            with(&[6, 32, 40], &|k| if k == size + 41 { f32::NAN } else { wave(k) }),
            "record 1, channel a, row 1, column 1 is NaN",
        ),
        (with(&[6, 32, 40], &|_| 2.5), "a (a) is 2.5 everywhere in the training split"),
        (with(&[6, 32, 40], &|k| if k == 7 { f32::INFINITY } else { wave(k) }), "every value must be finite"),
    ];
    for (complaint, expected) in &cases {
        assert!(complaint.contains(expected), "{complaint}");
    }
    let twice = bench.refusal(&["--a", "a.npy", "--u", "a.npy"], 1);
    assert!(twice.contains("a and u are equal in every value"), "{twice}");
    bench.write("a.npy", &[6, 32, 40], |k| wave(k % (3 * size)));
    bench.write("u.npy", &[6, 32, 40], |k| wave(1 + k % (3 * size)));
    let twice = bench.refusal(&ARRAYS, 1);
    assert!(twice.contains("records 0 and 3 are equal in every value"), "{twice}");
}

#[test]
fn bad_requests_and_files_are_refused_with_what_to_do() {
    let bench = Bench::new(PROBLEM);
    fs::write(bench.path("text.npy"), "a,b\n1,2\n").unwrap();
    fs::write(bench.path("old.nc"), b"CDF\x01rest of an old file").unwrap();
    fs::write(bench.path("cut.npz"), b"PK\x03\x04").unwrap();
    fs::write(bench.path("cut.h5"), b"\x89HDF\r\n\x1a\n").unwrap();
    fs::write(bench.path("cut.mat"), b"MATLAB 5.0 MAT-file").unwrap();
    bench.write("groups.npy", &[5], |k| k as f32);
    bench.write("halves.npy", &[6], |k| k as f32 / 2.0);
    bench.write("one.npy", &[6], |_| 3.0);
    bench.write("wide.npy", &[6], |k| 2.0_f32.powi(60 + k as i32));
    let arrays = |more: &[&'static str]| [&ARRAYS[..], more].concat();
    let cases: [(Vec<&str>, i32, &str); 21] = [
        (vec![], 2, "name the records with --a and --u, or one file with --from"),
        (vec!["--a", "a.npy"], 1, "has the field u (u), and no file was named for it"),
        (vec!["--a", "missing.npy", "--u", "u.npy"], 1, "missing.npy"),
        (vec!["--a", "text.npy", "--u", "u.npy"], 1, "begins as none of .npy, .npz, HDF5"),
        (vec!["--from", "old.nc"], 1, "nccopy -k nc4"),
        (vec!["--from", "cut.npz"], 1, "numpy.savez"),
        (vec!["--from", "cut.h5"], 1, "HDF5 file"),
        (vec!["--from", "cut.mat"], 1, "MATLAB file"),
        (vec!["--from", "a.npy", "--variables", "b=x"], 2, "expected a=NAME, u=NAME or both"),
        (vec!["--from", "a.npy", "--from", "u.npy"], 2, "one file with --from"),
        (arrays(&["--split", "test"]), 2, "--split is for released data"),
        (arrays(&["--test-fraction", "1.5"]), 1, "expected one between 0 and 1"),
        (arrays(&["--test-fraction", "0"]), 1, "expected one between 0 and 1"),
        (arrays(&["--fold", "1/18446744073709551615"]), 1, "expected no more folds"),
        (
            arrays(&["--groups", "wide.npy"]),
            1,
            "expected whole numbers below 2^53; number them with numpy.unique",
        ),
        (arrays(&["--fold", "6/5"]), 2, "expected i/n with i from 1 to n, as in 2/5"),
        (arrays(&["--fold", "1/2", "--test-fraction", "0.5"]), 2, "cannot be used with"),
        (arrays(&["--groups", "groups.npy"]), 1, "expected [6]: the group of every record"),
        (arrays(&["--groups", "halves.npy"]), 1, "expected whole numbers"),
        (
            arrays(&["--groups", "one.npy"]),
            1,
            "the number of groups is 1, and training and testing need one each",
        ),
        (arrays(&["--calibration-fraction", "0.95"]), 1, "below 1 together"),
    ];
    for (more, code, expected) in cases {
        let complaint = bench.refusal(&more, code);
        assert!(complaint.contains(expected), "{more:?}: {complaint}");
    }
}

#[test]
fn records_that_contradict_their_problem_are_refused() {
    let two_valued =
        PROBLEM.replace("name = \"a\"\n", "name = \"a\"\nkind = \"two-valued\"\nvalues = [0.0, 1.0]\n");
    let complaint = Bench::new(&two_valued).refusal(&ARRAYS, 1);
    assert!(complaint.contains("the field is stated to be 0 or 1"), "{complaint}");
    let bench = Bench::new(&two_valued);
    bench.write("a.npy", &[6, 32, 40], |_| 1.0);
    let complaint = bench.refusal(&ARRAYS, 1);
    assert!(complaint.contains("a (a) is 1.0 everywhere in the training split"), "{complaint}");
    bench.write("a.npy", &[6, 32, 40], |k| (k % 3 % 2) as f32);
    let own = ["data", "import", "own", "--problem", "problem.toml", "--out", "data"];
    let said = succeed(bench.root.path(), &[&own[..], &ARRAYS].concat());
    assert!(said.contains("  a: a, 0.0 or 1.0\n  u: u, mean"), "{said}");
    let positive = PROBLEM.replace("name = \"u\"\n", "name = \"u\"\nminimum = 0.0\n");
    let complaint = Bench::new(&positive).refusal(&ARRAYS, 1);
    assert!(complaint.contains("its minimum is stated to be 0"), "{complaint}");
    let edged = PROBLEM.replace("name = \"u\"\n", "name = \"u\"\nedge = 0.0\n");
    let complaint = Bench::new(&edged).refusal(&ARRAYS, 1);
    assert!(complaint.contains("its edge is stated to be 0"), "{complaint}");
    let misspelt = Bench::new(&PROBLEM.replace("rows", "row")).refusal(&ARRAYS, 1);
    assert!(misspelt.contains("problem file: line 7: unknown field `row`"), "{misspelt}");
}

/// Land, where files have NaN, is zero; the level of the lake is the only field.
#[test]
fn one_field_and_a_known_region_pass_every_stage() {
    let problem = "name = \"lake\"\n[fields.u]\nname = \"level\"\nunit = \"m\"\n[grid]\nrows = 32\ncolumns = 40\n\
                   points = \"cells\"\n[known]\nmask = \"land.npy\"\nvalue = 0.0\n";
    let bench = Bench::new(problem);
    bench.write("land.npy", &[32, 40], |k| f32::from(u8::from(k % 40 < 6)));
    let level = |k: usize| if k % 40 < 6 { f32::NAN } else { 1.0 + (k as f32 * 0.013).sin() };
    bench.write("u.npy", &[12, 32, 40], level);
    let here = bench.root.path();
    let own = ["data", "import", "own", "--problem", "problem.toml", "--u", "u.npy", "--out", "data"];
    let said = succeed(here, &own);
    assert!(said.contains("wrote 11 records of lake") && !said.contains("  a:"), "{said}");
    train(here, "run");
    let evaluate = ["evaluate", "--run", "run", "--data", "data/test", "--device", "cpu", "--json", "-"];
    let results: serde_json::Value = serde_json::from_str(&succeed(here, &evaluate)).unwrap();
    let conditions = results["conditions"].as_object().unwrap();
    assert_eq!(conditions.keys().collect::<Vec<_>>(), ["inverse/uniform/500"]);
    fs::write(here.join("gauges.csv"), "x,y,u\n0.5,0.5,1.2\n0.9,0.8,0.7\n").unwrap();
    let recover = ["recover", "--model", "run", "--device", "cpu", "--out"];
    succeed(here, &[&recover[..], &["mine", "--sensors", "gauges.csv"]].concat());
    assert!(here.join("mine/u.npy").exists() && !here.join("mine/a.npy").exists());
    let recovered = MappedArray::open(&here.join("mine/u.npy")).unwrap();
    assert!((0..32 * 40).filter(|k| k % 40 < 6).all(|k| recovered.value(k) == 0.0), "land is known");
    fs::write(here.join("other.csv"), "x,y,a\n0.5,0.5,1.2\n").unwrap();
    let complaint = refused(here, &[&recover[..], &["other", "--sensors", "other.csv"]].concat(), 1);
    assert!(complaint.contains("it measures a, and lake has the other field only"), "{complaint}");
}

/// What is known before anything is measured says nothing of how a field varies: the unit does not, either.
#[test]
fn a_field_is_measured_where_it_is_not_known() {
    let problem = "name = \"sea\"\n[fields.u]\nname = \"temperature\"\n[grid]\nrows = 32\ncolumns = 40\n\
                   [known]\nmask = \"land.npy\"\nvalue = 0.0\n";
    let bench = Bench::new(problem);
    bench.write("land.npy", &[32, 40], |k| f32::from(u8::from(k % 40 < 6)));
    let wave = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 } + (k / 1280) as f32 * 1e-3;
    let import = |offset: f32, out: &str| {
        let kelvin = |k: usize| if k % 40 < 6 { f32::NAN } else { offset + wave(k) };
        bench.write("u.npy", &[12, 32, 40], kelvin);
        let own = ["data", "import", "own", "--problem", "problem.toml", "--u", "u.npy", "--out", out];
        let said = noted(bench.root.path(), &own);
        let train = Dataset::open(&bench.path(out).join("train")).unwrap();
        (train.meta().constants().u, said)
    };
    let (celsius, calm) = import(2.0, "celsius");
    let (kelvin, said) = import(275.0, "kelvin");
    assert!((celsius.mean - 2.0).abs() < 0.02 && (celsius.sigma - 1.0).abs() < 0.01, "{celsius:?}");
    assert!(kelvin.sigma > 50.0, "a value that is far from the field counts with it: {kelvin:?}");
    assert!(!calm.contains("known region"), "{calm}");
    assert!(
        said.contains("u (temperature) is 0 in the known region, 275 standard deviations from its mean"),
        "{said}"
    );
}

/// An evaluation shows a method what is known. Readings of that tell nothing, and must not make bands narrow.
#[test]
fn bands_of_a_linear_fit_hold_beside_a_known_region() {
    let problem = "name = \"bay\"\n[fields.u]\nname = \"level\"\n[grid]\nrows = 32\ncolumns = 40\n\
                   [known]\nmask = \"land.npy\"\nvalue = 0.0\n";
    let bench = Bench::new(problem);
    bench.write("land.npy", &[32, 40], |k| f32::from(u8::from(k % 40 < 10)));
    // A number between -1 and 1 that depends on two others.
    let any = |record: usize, k: usize| {
        let word = (record as u64 * 31 + k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        word as f32 / (1 << 23) as f32 - 1.0
    };
    let level = |at: usize| {
        let (record, row, column) = (at / 1280, at % 1280 / 40, at % 40);
        let wave = |k: usize| {
            let phase = (k % 6) as f32 * 0.16 * row as f32 + (k / 6) as f32 * 0.13 * column as f32;
            any(record, k) * (phase + 6.0 * any(k, 7)).sin()
        };
        if column < 10 { f32::NAN } else { (0..36).map(wave).sum() }
    };
    bench.write("u.npy", &[150, 32, 40], level);
    let here = bench.root.path();
    let own = ["data", "import", "own", "--problem", "problem.toml", "--u", "u.npy", "--out", "data"];
    succeed(here, &own);
    succeed(here, &["fit", "linear", "--data", "data/train", "--modes", "20", "--out", "fit.safetensors"]);
    let evaluate = ["evaluate", "--method", "linear", "--fit", "fit.safetensors", "--data", "data/test"];
    let said = succeed(here, &[&evaluate[..], &["--coverage", "--json", "-"]].concat());
    let results: serde_json::Value = serde_json::from_str(&said).unwrap();
    let within = &results["conditions"]["inverse/uniform/500"]["u/within68"]["mean"];
    let within = within.as_f64().unwrap_or_else(|| panic!("{said}"));
    assert!((60.0..85.0).contains(&within), "{within}");
}

/// A fit is tried on the last records of a set, which are of groups that it was made from if groups take turns.
#[test]
fn groups_that_take_turns_are_told_of() {
    let bench = Bench::new(PROBLEM);
    let import = |groups: [i64; 6], out: &str| {
        let mut bytes = Header::new(Dtype::I64, &[6]).to_bytes();
        bytes.extend(groups.iter().flat_map(|group| group.to_le_bytes()));
        fs::write(bench.path("groups.npy"), bytes).unwrap();
        let own =
            ["data", "import", "own", "--problem", "problem.toml", "--groups", "groups.npy", "--out", out];
        noted(bench.root.path(), &[&own[..], &ARRAYS].concat())
    };
    let in_order = import([1, 1, 2, 2, 3, 3], "in-order");
    assert!(!in_order.contains("lie apart"), "{in_order}");
    let in_turns = import([1, 2, 3, 1, 2, 3], "in-turns");
    assert!(in_turns.contains("records of one group lie apart in the files"), "{in_turns}");
}

/// Values over powers of ten are told of: a mean square sees the largest ones only.
#[test]
fn values_over_powers_of_ten_are_told_of() {
    let bench = Bench::new(PROBLEM);
    bench.write("a.npy", &[6, 32, 40], |k| 10.0_f32.powf(3.0 * (k as f32 * 0.37).sin()));
    let own = ["data", "import", "own", "--problem", "problem.toml", "--out", "data"];
    let said = noted(bench.root.path(), &[&own[..], &ARRAYS].concat());
    assert!(said.contains("a (a) spans 6.0 powers of ten") && !said.contains("u (u) spans"), "{said}");
}

/// An archive is read as it is unpacked, arrays are mapped: the sets are equal in every byte.
#[test]
fn archives_and_arrays_give_the_same_records() {
    let bench = Bench::new(PROBLEM);
    let array = |file: &str, name: &str| {
        let array = MappedArray::open(&bench.path(file)).unwrap();
        let values = (0..6 * 1280).map(|k| array.value(k)).collect();
        Array { name: name.to_owned(), shape: vec![6, 32, 40], values }
    };
    let arrays = [array("a.npy", "now"), array("u.npy", "later")];
    fs::write(bench.path("both.npz"), npz_bytes(&arrays).unwrap()).unwrap();
    let own = ["data", "import", "own", "--problem", "problem.toml", "--out"];
    let here = bench.root.path();
    succeed(here, &[&own[..], &["arrays"], &ARRAYS].concat());
    let archive = ["archive", "--from", "both.npz", "--variables", "a=now,u=later"];
    succeed(here, &[&own[..], &archive].concat());
    for split in ["train", "test"] {
        let [one, other] =
            ["arrays", "archive"].map(|set| fs::read(here.join(set).join(split).join("fields.npy")));
        assert!(one.unwrap() == other.unwrap(), "{split}");
    }
    let complaint = bench.refusal(&["--from", "both.npz"], 1);
    assert!(complaint.contains("it has no array 'a'; it has: now, later"), "{complaint}");
}

/// There is no solver to ask: bands are measured on records that were held out.
#[test]
fn bands_come_from_held_out_records() {
    let bench = Bench::new(&format!("{PROBLEM}[known]\nmask = \"corner.npy\"\na = 0.0\nu = 0.1\n"));
    let corner = |k: usize| k % 1280 / 40 < 8 && k % 40 < 8;
    bench.write("corner.npy", &[32, 40], |k| f32::from(u8::from(corner(k))));
    let wave = |k: usize| {
        let record = k / 1280;
        let point = k % 1280;
        if corner(k) {
            return 0.0;
        }
        ((point / 40) as f32 * 0.2 + record as f32).sin() + ((point % 40) as f32 * 0.1 - record as f32).cos()
    };
    bench.write("a.npy", &[100, 32, 40], wave);
    bench.write("u.npy", &[100, 32, 40], |k| 0.5 * wave(k) + 0.1);
    let here = bench.root.path();
    let own = [
        "data",
        "import",
        "own",
        "--problem",
        "problem.toml",
        "--calibration-fraction",
        "0.6",
        "--out",
        "data",
    ];
    succeed(here, &[&own[..], &ARRAYS].concat());
    train(here, "run");
    succeed(here, &["model", "pack", "--run", "run", "--out", "m.safetensors"]);
    let evaluate =
        ["evaluate", "--run", "m.safetensors", "--data", "data/test", "--limit", "4", "--device", "cpu"];
    succeed(here, &[&evaluate[..], &["--out", "evals"]].concat());
    let card = ["model", "card", "--model", "m.safetensors", "--run", "run", "--data", "data/train"];
    succeed(here, &[&card[..], &["--eval", "evals/uniform500.json"]].concat());
    let shown = succeed(here, &["model", "info", "m.safetensors"]);
    assert!(shown.contains("a model for bench on 32 x 40 points"), "{shown}");
    let calibrate = ["model", "calibrate", "--model", "m.safetensors", "--device", "cpu", "--data"];
    let complaint = refused(here, &[&calibrate[..], &["data/test"]].concat(), 1);
    assert!(complaint.contains("--calibration-fraction"), "{complaint}");
    succeed(here, &[&calibrate[..], &["data/calibration"]].concat());
    let reading = |[i, j]: [usize; 2]| format!("{i},{j},{}\n", 0.5 * wave(99 * 1280 + i * 40 + j) + 0.1);
    let places = (0..41).map(|k| [(13 * k + 9) % 32, (29 * k + 17) % 40]);
    let gauges: String = places.filter(|[i, j]| !corner(i * 40 + j)).map(reading).collect();
    fs::write(here.join("gauges.csv"), format!("i,j,u\n{gauges}")).unwrap();
    let recover = ["recover", "--model", "m.safetensors", "--sensors", "gauges.csv", "--device", "cpu"];
    succeed(here, &[&recover[..], &["--out", "mine"]].concat());
    let width = MappedArray::open(&here.join("mine/u_band68.npy")).unwrap();
    let [known, unknown] =
        [true, false].map(|known| (0..1280).filter(move |k| corner(*k) == known).map(|k| width.value(k)));
    assert!(known.into_iter().all(|width| width == 0.0), "nothing is uncertain where it is known");
    assert!(unknown.into_iter().all(|width| width > 0.0));
}
