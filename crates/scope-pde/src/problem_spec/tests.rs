//! Problems of one's own: what is accepted, what is refused, and how files carry them.

use serde_json::{Value, json};

use super::*;
use crate::{Pde, PdeError, descriptor::KnownRegion};

fn heat(name: &str) -> Value {
    json!({
        "name": name,
        "fields": {
            "a": {"name": "initial temperature", "unit": "K"},
            "u": {"name": "temperature after 0.1 s", "unit": "K"},
        },
        "grid": {"rows": 64, "columns": 96, "points": ["periodic", "cells"]},
        "domain": {"x": [0.0, 2.0], "y": [0.0, 3.0], "unit": "m"},
    })
}

fn read(problem: &Value) -> Result<Pde, String> {
    serde_json::from_value(problem.clone()).map_err(|error| error.to_string())
}

#[test]
fn a_problem_is_written_in_full_and_read_back_as_itself() {
    let pde = read(&heat("heat-kept")).unwrap();
    assert_eq!("heat-kept".parse(), Ok(pde), "it is known by name from then on");
    let text = serde_json::to_string(&pde).unwrap();
    assert_eq!(serde_json::from_str::<Pde>(&text).unwrap(), pde);
    let facts = pde.descriptor();
    assert_eq!((facts.title, facts.shape), ("heat-kept", Some(GridShape { rows: 64, columns: 96 })));
    assert_eq!(pde.periodic(), [true, false]);
    assert_eq!(facts.extent.labels(), ["x (m)", "y (m)"]);
    assert_eq!(facts.fields.a.label(), "initial temperature (K)");
    assert_eq!(serde_json::to_string(&Pde::POISSON).unwrap(), "\"poisson\"", "built-in ones by name");
}

#[test]
fn a_name_means_one_problem() {
    read(&heat("heat-twice")).unwrap();
    let mut other = heat("heat-twice");
    other["fields"]["a"]["unit"] = json!("degC");
    assert!(read(&other).unwrap_err().contains("another problem called 'heat-twice'"));
    assert!(read(&heat("poisson")).unwrap_err().contains("another problem called 'poisson'"));
}

#[test]
fn a_problem_may_have_one_field() {
    let mut one = heat("one-field");
    one["fields"].as_object_mut().unwrap().remove("a");
    let pde = read(&one).unwrap();
    assert_eq!(pde.present(), PerChannel { a: false, u: true });
    one["fields"] = json!({});
    assert!(read(&one).unwrap_err().contains("state [fields.a], [fields.u] or both"));
}

#[test]
fn known_points_are_kept_in_runs() {
    let mut lake = heat("lake");
    lake["known"] = json!({"mask": [100, 50, 64 * 96 - 150], "value": 0.0, "u": 1.5});
    let pde = read(&lake).unwrap();
    let KnownRegion::Fixed(known) = pde.descriptor().known_region else { panic!("a fixed region") };
    assert_eq!(known.points().collect::<Vec<_>>(), (100..150).collect::<Vec<_>>());
    assert_eq!(known.values, PerChannel { a: 0.0, u: 1.5 });
    let mut each = heat("lakes");
    each["known"] = json!({"per_record": true, "value": 2.5});
    let pde = read(&each).unwrap();
    assert_eq!(pde.descriptor().known_region, KnownRegion::PerRecord(PerChannel::both(2.5)));
    assert_eq!(serde_json::to_value(pde).unwrap()["known"], each["known"]);
}

/// A change to the problem, and what its refusal must say.
type Wrong = (&'static str, Value, &'static str);

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    let wrong: [Wrong; 44] = [
        ("/name", json!(""), "1 to 80 printable letters"),
        ("/name", json!("Heat flow"), "lower-case letters"),
        ("/name", json!(7), "expected a string"),
        ("/nam", json!("x"), "unknown field `nam`"),
        ("/title", json!("a\nb"), "printable"),
        ("/fields/v", json!({"name": "v"}), "unknown field `v`"),
        ("/fields/a/name", json!(""), "1 to 80 printable letters"),
        ("/fields/a/name", json!("le\u{202e}vel"), "1 to 80 printable letters"),
        ("/fields/a/name", json!("\u{200b}"), "1 to 80 printable letters"),
        ("/fields/a/unit", json!("x".repeat(40)), "0 to 24 printable letters"),
        (
            "/fields/a/kind",
            json!("binary"),
            "unknown variant `binary`, expected `continuous` or `two-valued`",
        ),
        ("/fields/a/kind", json!("two-valued"), "state its two values"),
        ("/fields/a/values", json!([0.0, 1.0]), "leave them out, or state kind"),
        ("/fields/a/edge", json!(0.0), "state points = \"nodes\""),
        ("/fields/a/minimum", json!("low"), "expected f64"),
        ("/grid/rows", json!(0), "multiple of 8 from 32 to 4096"),
        ("/grid/rows", json!(100), "cut the fields to 96"),
        ("/grid/columns", json!(16), "resample"),
        ("/grid/columns", json!(-8), "invalid value"),
        ("/grid/points", json!("corners"), "expected \"nodes\""),
        ("/domain/x", json!([1.0, 1.0]), "the smaller one first"),
        ("/domain/x", json!([0.0]), "invalid length 1, expected two of them"),
        ("/domain/x", json!([0.0, 1.0, 2.0]), "invalid length 3, expected two of them"),
        ("/domain/names", json!(["x", "y", "z"]), "invalid length 3, expected two of them"),
        ("/fields/a/values", json!([0.0, 1.0, 2.0]), "invalid length 3, expected two of them"),
        ("/grid/points", json!(["cells", "cells", "cells"]), "or two of them"),
        ("/domain/x", json!([1e300, -1e300]), "domain.x is [1e300, -1e300]"),
        ("/domain/x", json!([1e16, 1.000_000_000_000_000_2e16]), "cannot be told apart"),
        ("/domain/names", json!(["u", "y"]), "for something else"),
        ("/domain/names", json!(["x, km", "y"]), "without commas"),
        ("/name", json!("x".repeat(81)), "1 to 80 printable letters"),
        (
            "/known",
            json!({"mask": [144, 6000], "value": 0.0, "a": 1.0, "u": 1.0}),
            "known.value has no effect",
        ),
        ("/domain/y", json!([3.0, -3.0]), "the smaller one first"),
        ("/domain/names", json!(["x", "x"]), "domain.names[0] and domain.names[1] are both \"x\""),
        ("/domain/names", json!(["East", "east"]), "are both \"east\", capitals and spaces aside"),
        ("/domain/names", json!(["Initial Temperature", "y"]), "domain.names[0] and fields.a.name are both"),
        ("/domain/names", json!(["y", "x"]), "calls the first axis y and the second x"),
        ("/fields/a/name", json!("Temperature after 0.1 s"), "fields.a.name and fields.u.name are both"),
        ("/known", json!({"mask": "land.npy", "value": 0.0}), "its mask is written out"),
        ("/known", json!({"mask": [3, 3], "value": 0.0}), "has 6 points, and the grid has 6144"),
        ("/known", json!({"mask": [6144], "value": 0.0}), "holds no point"),
        ("/known", json!({"mask": [144, 6000]}), "state known.value"),
        ("/known", json!({"value": 0.0}), "or per_record = true"),
        ("/known", json!({"mask": [144, 6000], "per_record": true, "value": 0.0}), "if they are the same"),
    ];
    for (at, value, expected) in wrong {
        let mut problem = heat("wrong");
        let (parent, key) = at.rsplit_once('/').unwrap();
        problem.pointer_mut(parent).unwrap()[key] = value;
        let refusal = read(&problem).unwrap_err();
        assert!(refusal.contains(expected), "{at}: {refusal}");
    }
}

#[test]
fn its_records_have_its_grid_and_nothing_makes_them() {
    let pde = read(&heat("heat-grid")).unwrap();
    assert_eq!(pde.require_grid(GridShape { rows: 64, columns: 96 }), Ok(()));
    assert!(pde.require_grid(96.into()).is_err());
    assert_eq!(Pde::POISSON.require_grid(64.into()), Ok(()));
    let rectangle = GridShape { rows: 64, columns: 96 };
    assert_eq!(Pde::POISSON.require_grid(rectangle), Err(PdeError::NotSquare(rectangle)));
    let identity = crate::Identity { pde, seed: 1, split: crate::Split::Train, resolution: 64 };
    assert_eq!(crate::Generator::new(identity).err(), Some(PdeError::NoSolver("heat-grid")));
}
