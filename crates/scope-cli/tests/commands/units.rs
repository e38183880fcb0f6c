//! `scope recover` with coordinates and units of one's own: the same fields as in ours, scaled by hand.

use std::{fmt::Write, fs, path::Path};

use serde_json::Value;

use crate::{
    program::{refused, succeed},
    recover::{SIZE, field, with_model},
};
use scope_pde::Pde;

/// A table of readings in our units, and the same in metres with heads above 100, both with 40 sensors of u.
fn write_tables(folder: &Path) {
    let mut ours = String::from("x,y,u\n");
    let mut metres = String::from("Easting [m];Northing [m];Head [m]\n");
    for k in 0..40_u32 {
        // Multiples of powers of two: metres and heads are exact, so that equality of bits can be asked for.
        let x = f64::from(k * 7 % 32) / 32.0;
        let y = f64::from(k * 11 % 64) / 64.0;
        let value = 0.001 * f64::from(k).sin();
        let value = (value * 1048576.0).round() / 1048576.0;
        writeln!(ours, "{x},{y},{value}").unwrap();
        let line = format!("{};{};{}\n", 1000.0 + 512.0 * x, 512.0 * y, 100.0 + 256.0 * value);
        metres.push_str(&line.replace('.', ","));
    }
    metres.push_str("1004;4;-9999\n1004;8;NA\n");
    fs::write(folder.join("ours.csv"), ours).unwrap();
    fs::write(folder.join("metres.csv"), metres).unwrap();
}

const METRES: [&str; 8] =
    ["--domain", "1000,1512,0,512", "--scale", "u=256", "--edge-value", "100", "--missing", "NA,-9999"];

fn recovered(folder: &Path, arguments: &[&str], sensors: &str, out: &str) -> Value {
    let plain = ["recover", "--sensors", sensors, "--out", out, "--json", "--device", "cpu"];
    serde_json::from_str(&succeed(folder, &[&plain[..], arguments].concat())).unwrap()
}

/// Fields of both folders: those of the second are `scale` times those of the first, and `offset` more.
fn assert_scaled(folder: &Path, name: &str, scale: f64, offset: f64) {
    let ours = field(&folder.join("ours").join(name));
    let theirs = field(&folder.join("metres").join(name));
    let by_hand: Vec<f32> = ours.iter().map(|x| (f64::from(*x) * scale + offset) as f32).collect();
    assert!(theirs == by_hand, "{name}");
}

#[test]
fn a_recovery_in_metres_is_the_one_in_the_unit_square_scaled_by_hand() {
    let exact = ["--method", "exact", "--pde", "poisson", "--resolution", "32", "--samples", "2"];
    let model = ["--model", "model.safetensors", "--calibrate", "19"];
    for (method, kinds) in [(&exact[..], &["_sd", "_samples"][..]), (&model[..], &[][..])] {
        let root = with_model(Pde::POISSON);
        let folder = root.path();
        write_tables(folder);
        let noise = |noise| [method, &["--noise", noise]].concat();
        let ours = recovered(folder, &noise("0.5,0.0009765625"), "ours.csv", "ours");
        // 0.5 U / L^2 and 0.0009765625 U.
        let in_metres = [&noise("0.00048828125,0.25")[..], &METRES].concat();
        let metres = recovered(folder, &in_metres, "metres.csv", "metres");
        let of_a = 256.0 / (512.0 * 512.0);
        assert_scaled(folder, "a.npy", of_a, 0.0);
        assert_scaled(folder, "u.npy", 256.0, 100.0);
        for kind in kinds {
            assert_scaled(folder, &format!("a{kind}.npy"), of_a, 0.0);
            let offset = if *kind == "_samples" { 100.0 } else { 0.0 };
            assert_scaled(folder, &format!("u{kind}.npy"), 256.0, offset);
        }
        // Percentages have no unit.
        let [ours, metres_of] = [&ours, &metres].map(|summary| &summary["problems"][0]);
        for key in ["misfit_percent", "noise_percent", "calibrated"] {
            assert_eq!(ours[key], metres_of[key], "{key}");
        }
        let percent = |of: &Value| of["expected_percent"][1].as_f64();
        assert!(percent(ours).zip(percent(metres_of)).is_none_or(|(x, y)| (x - y).abs() < 1e-3 * x));
        assert_eq!(metres["frame"]["equation"], "Lap u = a, u = 100 on the edge");
        assert_eq!(metres["frame"]["domain"], serde_json::json!([1000.0, 1512.0, 0.0, 512.0]));
        assert_eq!(metres["notes"][0], "2 readings are marked as missing");
    }
}

#[test]
fn values_at_a_grid_point_are_the_array_s() {
    let root = with_model(Pde::POISSON);
    let folder = root.path();
    write_tables(folder);
    let mut points = String::from("name,x,y\n");
    for (i, j) in [(0, 0), (3, 5), (31, 31)] {
        let at = |k: u32, low: f64| low + 512.0 * f64::from(k) / (SIZE as f64 - 1.0);
        writeln!(points, "p,{},{}", at(i, 1000.0), at(j, 0.0)).unwrap();
    }
    fs::write(folder.join("points.csv"), points).unwrap();
    let exact = [
        "--method",
        "exact",
        "--pde",
        "poisson",
        "--resolution",
        "32",
        "--noise",
        "0,0.25",
        "--at",
        "points.csv",
        "--format",
        "csv",
    ];
    recovered(folder, &[&exact[..], &METRES].concat(), "metres.csv", "metres");
    let lines = |name: &str| -> Vec<String> {
        fs::read_to_string(folder.join("metres").join(name)).unwrap().lines().map(str::to_owned).collect()
    };
    let [a, a_sd, u, u_sd] =
        ["a", "a_sd", "u", "u_sd"].map(|name| field(&folder.join(format!("metres/{name}.npy"))));
    let expected = |k: usize| format!("{},{},{},{}", a[k], a_sd[k], u[k], u_sd[k]);
    let at = lines("at.csv");
    assert_eq!((at.len(), &at[0][..]), (4, "x,y,a,a_sd,u,u_sd"));
    for (line, k) in at[1..].iter().zip([0, 3 * SIZE + 5, SIZE * SIZE - 1]) {
        assert!(line.ends_with(&expected(k)), "{line}");
    }
    let all = lines("fields.csv");
    assert_eq!((all.len(), &all[0][..]), (1 + SIZE * SIZE, "x,y,a,a_sd,u,u_sd"));
    assert_eq!(all[1], format!("1000,0,{}", expected(0)));
    assert!((0..SIZE * SIZE).all(|k| all[1 + k].ends_with(&expected(k))));
    let residuals = lines("residuals.csv");
    assert!(residuals[1].starts_with("1,line 2,u,1000,0,100,"), "{}", residuals[1]);
}

#[test]
fn files_for_other_programs_have_the_arrays_in_every_bit() {
    let root = with_model(Pde::POISSON);
    let folder = root.path();
    fs::write(folder.join("two.csv"), "problem,x,y,u\n1,1100,50,1e-3\n2,1200,20,2e-3\n").unwrap();
    let model = ["--model", "model.safetensors", "--domain", "1000,1500,0,500"];
    for (format, ending) in [("netcdf", "nc"), ("zarr", "zarr.zip"), ("vti", "vti")] {
        recovered(folder, &[&model[..], &["--format", format]].concat(), "two.csv", format);
        let u = field(&folder.join(format).join("u.npy"));
        let second = &u[SIZE * SIZE..];
        let bytes: Vec<u8> = match format {
            "netcdf" => second.iter().flat_map(|x| x.to_be_bytes()).collect(),
            "zarr" => second.iter().flat_map(|x| x.to_le_bytes()).collect(),
            // The first axis is the fastest there.
            _ => (0..SIZE * SIZE).flat_map(|k| second[k % SIZE * SIZE + k / SIZE].to_le_bytes()).collect(),
        };
        let file = fs::read(folder.join(format).join(format!("fields-2.{ending}"))).unwrap();
        assert!(file.windows(bytes.len()).any(|window| window == bytes), "{format}");
    }
}

#[test]
fn a_disk_is_given_in_the_domain_s_coordinates() {
    let root = with_model(Pde::CYLINDER);
    let folder = root.path();
    fs::write(folder.join("probes.csv"), "i,j,u\n3,4,1.5\n20,9,2\n").unwrap();
    let model = ["--model", "model.safetensors"];
    recovered(folder, &[&model[..], &["--geometry", "10,16,4"]].concat(), "probes.csv", "pixels");
    let domain = ["--domain", "0,2,0,2", "--geometry", "0.65625,1.03125,0.25"];
    recovered(folder, &[&model[..], &domain].concat(), "probes.csv", "domain");
    assert!(field(&folder.join("pixels/u.npy")) == field(&folder.join("domain/u.npy")));
}

#[test]
fn frames_that_cannot_be_are_refused_with_the_reason() {
    let root = with_model(Pde::POISSON);
    let folder = root.path();
    write_tables(folder);
    let plain = ["recover", "--model", "model.safetensors", "--device", "cpu", "--out", "x", "--sensors"];
    let told = |more: &[&str], code| refused(folder, &[&plain[..], more].concat(), code);
    let rectangle = told(&["ours.csv", "--domain", "0,2,0,3"], 2);
    assert!(rectangle.contains("2 by 3: the problem is posed on a square"), "{rectangle}");
    let tied = told(&["ours.csv", "--scale", "length=10,a=1,u=1"], 2);
    assert!(tied.contains("do not go together"), "{tied}");
    let outside = told(&["metres.csv", "--missing", "NA,-9999"], 1);
    assert!(
        outside.contains("line 2: (1000, 0) lies outside") && outside.contains("(--domain X0,X1,Y0,Y1)"),
        "{outside}"
    );
    let elsewhere = told(&["metres.csv", "--missing", "NA,-9999", "--domain", "0,512,0,512"], 1);
    assert!(elsewhere.contains("the domain, x from 0 to 512"), "{elsewhere}");
    let noise = told(&["ours.csv", "--noise", "-1"], 2);
    assert!(noise.contains("expected a standard deviation, zero or more"), "{noise}");
    fs::write(folder.join("points.csv"), "x,y\n0.5,0.5\n2,0.25\n").unwrap();
    let point = told(&["ours.csv", "--at", "points.csv"], 1);
    assert!(point.contains("points.csv, line 3: (2, 0.25) lies outside the unit square"), "{point}");
    // Heads in metres on one pixel: their unit is named, not their contradiction.
    fs::write(folder.join("heads.csv"), "x,y,u\n0.5,0.5,101.5\n0.501,0.5,103\n").unwrap();
    let units = told(&["heads.csv"], 1);
    assert!(units.contains("line 3: u is 103") && units.contains("(--scale"), "{units}");
    assert!(!folder.join("x").exists());
}
