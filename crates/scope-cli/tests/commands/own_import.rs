//! The import of records of one's own: what it measures and tells of, and what it refuses.

use std::fs;

use scope_data::{
    Dataset,
    npy::{Dtype, Header, MappedArray},
    npz::{Array, npz_bytes},
};

use crate::{
    own_bench::{ARRAYS, Bench, PROBLEM, noted},
    program::succeed,
};

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
