//! A problem of one's own, from its records to a recovered field, as a user types it.
//!
//! `examples/shallow-water/make_records.py --count 24 --rows 32 --columns 40` made the records.

use std::{fs, path::Path};

use scope_data::{Dataset, npy::MappedArray};

use crate::{
    own_bench::{ARRAYS, Bench, PROBLEM},
    program::{refused, succeed},
};

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
