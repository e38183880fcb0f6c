//! What is known of a problem of one's own besides its records: regions of each record, edges, least values; and whose
//! solver may be asked.

use std::fs;

use scope_data::{Dataset, npy::MappedArray};

use crate::{
    own_bench::{ARRAYS, Bench},
    own_problem::train,
    program::{refused, scope, succeed},
};

const POINTS: usize = 32 * 40;
/// Enough for a linear fit that knows its own errors.
const RECORDS: usize = 120;

/// An island of each record's own, at rows from `record` on, of twenty.
fn island(k: usize) -> bool {
    let [record, row, column] = [k / POINTS % 20, k % POINTS / 40, k % 40];
    (record..record + 6).contains(&row) && (10..18).contains(&column)
}

/// Waves about islands, where files have NaN.
fn wave(k: usize) -> f32 {
    let [record, row, column] = [k / POINTS, k % POINTS / 40, k % 40].map(|x| x as f32);
    if island(k) { f32::NAN } else { (0.2 * row + record).sin() + (0.1 * column - record).cos() }
}

/// The response to such waves.
fn response(k: usize) -> f32 {
    0.5 * wave(k) + 0.1
}

/// The values of a file inside the island of a record, and outside it.
fn inside_and_outside(path: &std::path::Path, record: usize) -> [Vec<f64>; 2] {
    let array = MappedArray::open(path).unwrap();
    [true, false].map(|inside| {
        let points = (0..POINTS).filter(|point| island(record * POINTS + point) == inside);
        points.map(|point| array.value(point)).collect()
    })
}

#[test]
fn a_known_region_of_each_record_passes_every_stage() {
    let problem = "name = \"islands\"\n[fields.a]\nname = \"a\"\n[fields.u]\nname = \"u\"\n[grid]\nrows = 32\n\
                   columns = 40\n[known]\nper_record = true\nvalue = 0.0\nu = 1.5\n";
    let bench = Bench::new(problem);
    bench.write("a.npy", &[RECORDS, 32, 40], wave);
    bench.write("u.npy", &[RECORDS, 32, 40], response);
    bench.write("islands.npy", &[RECORDS, 32, 40], |k| f32::from(u8::from(island(k))));
    bench.write("few.npy", &[7, 32, 40], |_| 0.0);
    bench.write("all.npy", &[RECORDS, 32, 40], |_| 1.0);
    let with = |known: &'static str| bench.refusal(&[&ARRAYS[..], &["--known", known]].concat(), 1);
    assert!(bench.refusal(&ARRAYS, 1).contains("has a known region in each record, and no file"));
    assert!(with("few.npy").contains("there are 120 records and 7 known regions"));
    assert!(with("all.npy").contains("record 0 is known at all points"));
    assert!(with("a.npy").contains("record 0, channel the known region, row 0, column 10 is NaN"));

    let here = bench.root.path();
    let own =
        ["data", "import", "own", "--problem", "problem.toml", "--known", "islands.npy", "--out", "data"];
    succeed(here, &[&own[..], &ARRAYS].concat());
    let set = Dataset::open(&here.join("data/test")).unwrap();
    let counts: Vec<usize> = (0..set.len())
        .map(|record| set.region(record).unwrap().points(set.meta().resolution).count())
        .collect();
    assert_eq!(counts, [48; RECORDS / 10]);
    train(here, "run");
    let evaluate = ["evaluate", "--data", "data/test", "--device", "cpu", "--out"];
    succeed(here, &[&evaluate[..], &["errors", "--run", "run"]].concat());
    succeed(here, &["fit", "linear", "--data", "data/train", "--modes", "8", "--out", "fit.safetensors"]);
    let linear = ["--method", "linear", "--fit", "fit.safetensors"];
    succeed(here, &[&evaluate[..], &["linear-errors"], &linear].concat());
    let shown = succeed(here, &["demo", "--data", "data", "--model", "run", "--out", "demo"]);
    assert!(shown.contains("--known demo/known.npy"), "{shown}");

    bench.write("mine.npy", &[32, 40], |k| f32::from(u8::from(island(3 * POINTS + k))));
    let gauge = |[i, j]: [usize; 2]| format!("{i},{j},{}\n", response(3 * POINTS + i * 40 + j));
    let gauges = [[2, 3], [20, 30], [30, 12]].map(gauge).concat();
    fs::write(here.join("gauges.csv"), format!("i,j,u\n{gauges}")).unwrap();
    let recover = ["recover", "--sensors", "gauges.csv", "--device", "cpu", "--out"];
    for (out, method) in [("network", &["--model", "run"][..]), ("linear", &linear[..])] {
        let told = [&recover[..], &[out, "--known", "mine.npy"], method].concat();
        succeed(here, &told);
        for (field, value) in [("a.npy", 0.0), ("u.npy", 1.5)] {
            let [inside, outside] = inside_and_outside(&here.join(out).join(field), 3);
            assert!(inside.len() == 48 && inside.iter().all(|x| *x == value), "{out}/{field}");
            assert!(outside.iter().any(|x| *x != value), "{out}/{field}");
        }
    }
    let [certain, uncertain] = inside_and_outside(&here.join("linear/u_sd.npy"), 3);
    assert!(certain.iter().all(|sd| *sd == 0.0) && uncertain.iter().any(|sd| *sd > 0.0));
    let untold = succeed_with_warnings(here, &[&recover[..], &["untold", "--model", "run"]].concat());
    assert!(
        untold.contains("the known region is not given") && untold.contains("(--known MASK.npy)"),
        "{untold}"
    );
    bench.write("nowhere.npy", &[32, 40], |_| 0.0);
    let nowhere = ["nowhere", "--model", "run", "--known", "nowhere.npy"];
    let told = succeed_with_warnings(here, &[&recover[..], &nowhere].concat());
    assert!(!told.contains("is not given"), "a region without a point is one: {told}");
    bench.write("other.npy", &[40, 32], |_| 0.0);
    let other = [&recover[..], &["other", "--model", "run", "--known", "other.npy"]].concat();
    assert!(refused(here, &other, 1).contains("--known: the known region is on 40 x 32 points"));
}

/// What a command that succeeds says on both streams.
fn succeed_with_warnings(here: &std::path::Path, arguments: &[&str]) -> String {
    let output = scope(here, arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// A Gaussian has values below any minimum, and a deviation on an edge that was stated.
#[test]
fn a_linear_answer_obeys_what_is_known_of_its_fields() {
    let problem = "name = \"stated\"\n[fields.a]\nname = \"a\"\n[fields.u]\nname = \"u\"\nminimum = 0.0\nedge = 0.25\n\
                   [grid]\nrows = 32\ncolumns = 40\n";
    let on_edge = |k: usize| {
        let [row, column] = [k % POINTS / 40, k % 40];
        row % 31 == 0 || column % 39 == 0
    };
    let bench = Bench::new(problem);
    bench.write("a.npy", &[RECORDS, 32, 40], |k| (k as f32 * 0.0003).sin());
    let level = |k: usize| if on_edge(k) { 0.25 } else { (k as f32 * 0.0007).sin().max(0.0) };
    bench.write("u.npy", &[RECORDS, 32, 40], level);
    let here = bench.root.path();
    succeed(
        here,
        &[&["data", "import", "own", "--problem", "problem.toml", "--out", "data"], &ARRAYS[..]].concat(),
    );
    succeed(here, &["fit", "linear", "--data", "data/train", "--modes", "8", "--out", "fit.safetensors"]);
    fs::write(here.join("gauges.csv"), "i,j,u\n12,13,0.9\n20,30,0.0\n").unwrap();
    let recover = ["recover", "--method", "linear", "--fit", "fit.safetensors", "--sensors", "gauges.csv"];
    succeed(here, &[&recover[..], &["--noise", "300%", "--samples", "3", "--out", "mine"]].concat());
    for (file, fields) in [("u.npy", 1), ("u_samples.npy", 3)] {
        let array = MappedArray::open(&here.join("mine").join(file)).unwrap();
        let values: Vec<f64> = (0..fields * POINTS).map(|k| array.value(k)).collect();
        assert!(values.iter().all(|value| *value >= 0.0), "{file}");
        assert!(values.iter().enumerate().all(|(k, value)| !on_edge(k) || *value == 0.25), "{file}");
    }
    let deviations = MappedArray::open(&here.join("mine/u_sd.npy")).unwrap();
    assert!((0..POINTS).all(|k| on_edge(k) == (deviations.value(k) == 0.0)));
}

/// Records that were imported under a built-in name may obey another equation: the solver of that name is not asked.
#[test]
fn imported_records_get_no_bands_from_a_built_in_solver() {
    let bench = Bench::new("");
    fs::create_dir(bench.path("mine")).unwrap();
    for file in ["mine/a.npy", "mine/u.npy"] {
        bench.write(file, &[8, 32, 32], |k| (k as f32 * 0.37).sin());
    }
    let here = bench.root.path();
    succeed(here, &["data", "import", "poisson", "--from", "mine", "--out", "data/train"]);
    train(here, "run");
    fs::write(here.join("gauges.csv"), "x,y,u\n0.3,0.4,0.01\n0.8,0.7,0.002\n").unwrap();
    let recover =
        ["recover", "--model", "run", "--sensors", "gauges.csv", "--device", "cpu", "--out", "mine-too"];
    let complaint = refused(here, &[&recover[..], &["--calibrate", "19"]].concat(), 1);
    assert!(complaint.contains("was trained on imported records, and the solver of poisson"), "{complaint}");
    let said = succeed_with_warnings(here, &recover);
    assert!(!said.contains("--calibrate"), "{said}");
}
