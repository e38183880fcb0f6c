//! What is said of a problem of one's own: its axes and fields by their names, and only the fields that it has.

use std::fs;

use scope_data::npy::MappedArray;

use crate::{
    own_bench::{ARRAYS, Bench},
    own_problem::train,
    program::{refused, succeed},
};

/// Waves that differ from record to record.
fn wave(k: usize) -> f32 {
    let (record, point) = (k / 1280, k % 1280);
    let phase = record as f32 * 0.7;
    ((point / 40) as f32 * 0.2 + phase).sin() + ((point % 40) as f32 * (0.1 + 0.01 * record as f32)).cos()
}

#[test]
fn one_field_is_all_that_is_spoken_of() {
    let bench = Bench::new(
        "name = \"lake-words\"\ntitle = \"Lake\"\n[fields.u]\nname = \"level\"\nunit = \"m\"\n[grid]\nrows = 32\ncolumns = 40\n\
         [domain]\nx = [0.0, 3.1]\ny = [10.0, 13.9]\nunit = \"km\"\n",
    );
    bench.write("u.npy", &[120, 32, 40], wave);
    let here = bench.root.path();
    succeed(here, &["data", "import", "own", "--problem", "problem.toml", "--u", "u.npy", "--out", "data"]);
    let info = succeed(here, &["data", "info", "data/train"]);
    assert!(info.contains("x from 0 to 3.1 km (nodes) and y from 10 to 13.9 km (nodes)"), "{info}");
    assert!(info.contains("u        level (m)") && !info.contains("\na "), "{info}");
    let check = succeed(here, &["data", "check", "data/train"]);
    assert!(
        check.contains("ok: every byte is as it was written; nothing is known of this problem"),
        "{check}"
    );
    assert!(!check.contains("released") && !check.contains("\na "), "{check}");

    train(here, "run");
    succeed(here, &["evaluate", "--run", "run", "--data", "data/test", "--device", "cpu"]);
    let report = succeed(here, &["report", "run"]);
    assert!(report.contains("| Lake fwd | Lake inv (u) |"), "{report}");
    let row = report.lines().find(|line| line.starts_with("| ours:")).unwrap();
    assert_eq!(row.matches("| — ").count(), 3, "the error of u stands in its own column: {row}");
    let demo = succeed(here, &["demo", "--data", "data", "--model", "run"]);
    assert!(demo.contains("(relative L2 error of the complete field, 32 x 40 points)"), "{demo}");
    fs::write(here.join("s.csv"), "x,y,level\n0.5,11.0,0.3\n2.5,13.0,-0.4\n").unwrap();
    let by_model = succeed(here, &["recover", "--model", "run", "--sensors", "s.csv", "--out", "by-model"]);
    assert!(!by_model.contains(" for a"), "{by_model}");

    let fit = ["fit", "linear", "--data", "data/train", "--modes", "8", "--out", "fit.safetensors"];
    assert!(!succeed(here, &fit).contains("of a"));
    let linear = ["--method", "linear", "--fit", "fit.safetensors"];
    let recover = ["recover", "--sensors", "s.csv", "--noise", "1%", "--out", "by-fit"];
    let by_fit = succeed(here, &[&recover[..], &linear].concat());
    assert!(by_fit.contains("expected error in L2: ") && !by_fit.contains("for a"), "{by_fit}");
    let summary = fs::read_to_string(here.join("by-fit/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let one = &summary["problems"][0];
    assert!(one["expected_percent"][0].is_null() && one["expected_percent"][1].is_number(), "{one}");
    assert!(one["bands"]["mean_half_width"][0].is_null(), "{one}");
    let place = ["place", "--count", "2", "--out", "placed"];
    let placed = succeed(here, &[&place[..], &linear].concat());
    assert!(!placed.contains("0.00%"), "{placed}");
    let complaint =
        refused(here, &[&["place", "--count", "2", "--for", "a", "--out", "p"], &linear[..]].concat(), 1);
    assert!(complaint.contains("lake-words has no field a"), "{complaint}");
}

/// Arguments, and those of a linear fit and noise.
fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [more, &["--method", "linear", "--fit", "fit.safetensors", "--noise", "1%"]].concat()
}

/// On a grid of latitudes and longitudes the first axis is what other tables call y.
#[test]
fn tables_are_read_and_written_by_the_names_of_the_axes() {
    let bench = Bench::new(
        "name = \"globe-words\"\n[fields.a]\nname = \"wind\"\n[fields.u]\nname = \"pressure, sea level\"\n[grid]\nrows = 32\n\
         columns = 40\n[domain]\nx = [40.0, 50.0]\ny = [40.0, 60.0]\nunit = \"deg\"\nnames = [\"lat\", \"lon\"]\n",
    );
    bench.write("a.npy", &[120, 32, 40], wave);
    bench.write("u.npy", &[120, 32, 40], |k| 0.5 * wave(k) + 0.1);
    let here = bench.root.path();
    let own = ["data", "import", "own", "--problem", "problem.toml", "--out", "data"];
    succeed(here, &[&own[..], &ARRAYS].concat());
    succeed(here, &["fit", "linear", "--data", "data/train", "--modes", "8", "--out", "fit.safetensors"]);
    fs::write(here.join("s.csv"), "lat,lon,u\n41.0,59.0,0.3\n49.0,42.0,-0.4\n").unwrap();
    succeed(here, &with(&["place", "--given", "s.csv", "--count", "2", "--out", "placed"]));
    let placed = fs::read_to_string(here.join("placed/sensors.csv")).unwrap();
    assert!(placed.starts_with("lat,lon,expected_a_percent,"), "{placed}");
    fs::write(here.join("allowed.csv"), "site,lon,lat\nA,58.0,44.0\n").unwrap();
    succeed(here, &with(&["place", "--allowed", "allowed.csv", "--count", "1", "--out", "there"]));
    let there = fs::read_to_string(here.join("there/sensors.csv")).unwrap();
    assert!(there.lines().nth(1).unwrap().starts_with("44,58,"), "{there}");
    let recover = ["recover", "--sensors", "s.csv", "--format", "csv", "--out", "mine"];
    succeed(here, &with(&recover));
    let table = fs::read_to_string(here.join("mine/fields.csv")).unwrap();
    assert!(table.starts_with("lat,lon,a,a_sd,u,u_sd\n40,40,"), "a comma is kept out of the header: {table}");
    assert_eq!(MappedArray::open(&here.join("mine/u.npy")).unwrap().header().shape, [32, 40]);

    fs::write(here.join("far.csv"), "lat,lon,u\n59.0,41.0,0.3\n").unwrap();
    let complaint = refused(here, &with(&["recover", "--sensors", "far.csv", "--out", "far"]), 1);
    assert!(complaint.contains("lat from 40 to 50 and lon from 40 to 60 deg"), "{complaint}");
    for header in ["latitude,longitude,u", "lat,lon,head"] {
        fs::write(here.join("other.csv"), format!("{header}\n41.0,42.0,0.3\n")).unwrap();
        let complaint = refused(here, &with(&["recover", "--sensors", "other.csv", "--out", "other"]), 1);
        assert!(complaint.contains("the header has no column for the"), "{header}: {complaint}");
    }
    for (option, code, expected) in [
        (["--edge-value", "3"], 2, "the problem file of globe-words says what is known on the edge"),
        (["--scale", "u=auto"], 2, "the equation of globe-words is not known"),
    ] {
        let recover = ["recover", "--sensors", "s.csv", "--out", "options"];
        let complaint = refused(here, &with(&[&recover[..], &option].concat()), code);
        assert!(complaint.contains(expected), "{complaint}");
    }
    let nc = ["recover", "--sensors", "s.csv", "--format", "netcdf", "--out", "nc"];
    succeed(here, &with(&nc));
    let bytes = fs::read(here.join("nc/fields.nc")).unwrap();
    for said in ["lat, along axis 0", "lon of the sensor", "deg"] {
        assert!(bytes.windows(said.len()).any(|window| window == said.as_bytes()), "{said}");
    }
}
