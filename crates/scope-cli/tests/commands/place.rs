//! `scope place`, as a user types it.

use std::fs;

use crate::program::{refused, succeed};

fn placement<'a>(pde: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["place", "--method", "exact", "--pde", pde, "--resolution", "32", "--out", "placed"], more].concat()
}

#[test]
fn sensors_are_placed_beside_given_ones_and_everything_is_written() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("given.csv"), "x,y,u\n0.5,0.5,0.004\n0.2,0.7,-0.002\n").unwrap();
    let more = ["--count", "3", "--given", "given.csv", "--noise", "1%", "--random-layouts", "20"];
    let text = succeed(root.path(), &placement("poisson", &more));
    assert!(text.contains("3 sensors of u placed among 1,024 places, 2 given"), "{text}");
    assert!(text.contains("of 20 random layouts"), "{text}");
    let placed = root.path().join("placed");
    for picture in ["placement.png", "expected-error.png"] {
        assert!(placed.join(picture).is_file(), "{picture}");
    }
    let table = fs::read_to_string(placed.join("sensors.csv")).unwrap();
    let rows: Vec<Vec<f64>> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
        .collect();
    assert_eq!((rows.len(), rows[0].len()), (3, 4));
    assert!(rows.windows(2).all(|pair| pair[1][2] <= pair[0][2] && pair[1][3] <= pair[0][3]), "{table}");
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(placed.join("summary.json")).unwrap()).unwrap();
    assert_eq!((&summary["given"], &summary["channel"]), (&2.into(), &"u".into()));
    assert!(summary["before_percent"]["a"].as_f64().unwrap() > rows[0][2]);
    assert_eq!(summary["random_layouts"]["layouts"], 20);
}

#[test]
fn sensors_stay_where_they_may_be() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("allowed.csv"), "x,y\n0.1,0.1\n0.5,0.52\n").unwrap();
    let text = succeed(root.path(), &placement("helmholtz", &["--count", "5", "--allowed", "allowed.csv"]));
    assert!(text.contains("2 sensors of u placed among 2 places"), "{text}");
    let table = fs::read_to_string(root.path().join("placed/sensors.csv")).unwrap();
    let mut places: Vec<&str> = table.lines().skip(1).map(|line| line.split(",").next().unwrap()).collect();
    places.sort_unstable();
    assert_eq!(places, ["0.1", "0.5"]);
}

#[test]
fn vorticities_are_placed_for_a_alone() {
    let root = tempfile::tempdir().unwrap();
    let text = succeed(root.path(), &placement("ns", &["--count", "2"]));
    assert!(text.contains("2 sensors of a placed"), "{text}");
    let for_u = refused(root.path(), &placement("ns", &["--count", "2", "--for", "u"]), 2);
    assert!(for_u.contains("place them for a"), "{for_u}");
    let of_u = refused(root.path(), &placement("ns", &["--count", "2", "--channel", "u"]), 2);
    assert!(of_u.contains("give sensors of a only"), "{of_u}");
}

#[test]
fn what_cannot_be_placed_is_refused_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("outside.csv"), "x,y\n0.1,7\n").unwrap();
    fs::write(root.path().join("given.csv"), "i,j,u\n3,99,0.1\n").unwrap();
    let outside =
        refused(root.path(), &placement("poisson", &["--count", "2", "--allowed", "outside.csv"]), 1);
    assert!(outside.contains("outside.csv: line 2: (0.1, 7) lies outside"), "{outside}");
    let given = refused(root.path(), &placement("poisson", &["--count", "2", "--given", "given.csv"]), 1);
    assert!(given.contains("given.csv, line 2: pixel (3, 99) lies outside"), "{given}");
    let darcy = refused(root.path(), &placement("darcy", &["--count", "2"]), 2);
    assert!(darcy.contains("darcy has no exact posterior"), "{darcy}");
    refused(root.path(), &placement("poisson", &["--count", "0"]), 2);
    assert!(!root.path().join("placed").exists());
}
