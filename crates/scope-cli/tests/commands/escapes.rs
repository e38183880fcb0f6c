//! Text of others is never obeyed by the terminal: whatever a file or a name holds, what the program prints has no
//! control characters but line breaks.

use std::{fs, path::Path};

use scope_data::npz::{Array, npz_bytes};

use crate::program::{scope, succeed};

/// Sets a terminal's title; and turns the direction of writing.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}";
/// How it begins when it is shown.
const SHOWN: &str = "\\u{1b}]0;owned\\u{7}\\u{9b}2J\\u{202e}";

/// What a command prints on both streams, which must show the hostile text and hold no control character.
fn shown(folder: &Path, arguments: &[&str]) -> String {
    let output = scope(folder, arguments).output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let control = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    assert!(!text.contains(control), "{arguments:?} printed {text:?}");
    text
}

fn recover<'a>(sensors: &'a str, out: &'a str) -> [&'a str; 11] {
    [
        "recover",
        "--method",
        "exact",
        "--pde",
        "poisson",
        "--resolution",
        "32",
        "--sensors",
        sensors,
        "--out",
        out,
    ]
}

#[test]
fn of_sensor_files() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let write = |name: &str, bytes: &[u8]| fs::write(here.join(name), bytes).unwrap();
    write("cell.csv", format!("x,y,channel,value\n0.5,0.5,u,{HOSTILE}\n").as_bytes());
    // A semicolon in the header would separate its cells.
    let name = HOSTILE.replace(';', "");
    write("header.csv", format!("x,y,channel,value,{name}\n0.5,0.5,u,0.1,1\n").as_bytes());
    let array = Array { name: HOSTILE.to_owned(), shape: vec![1], values: vec![0.0] };
    write("names.npz", &npz_bytes(&[array]).unwrap());
    write("key.json", format!("[{{\"{}\": 1}}]", "\\u001b]0;owned\\u0007\\u009b2J\\u202e").as_bytes());
    write(HOSTILE, b"");
    for (number, file) in ["cell.csv", "header.csv", "names.npz", "key.json", HOSTILE].into_iter().enumerate()
    {
        let said = shown(here, &recover(file, &format!("out-{number}")));
        assert!(said.contains("\\u{1b}]0"), "{file:?}: {said}");
    }
}

#[test]
fn of_cards_and_recipes() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    fs::create_dir(here.join("models")).unwrap();
    let card = include_str!("card.toml");
    let broken = card.replace("size = \"tiny\"", &format!("size = \"tiny\" {HOSTILE}"));
    fs::write(here.join("models/broken.toml"), broken).unwrap();
    let escaped = "\\u001b]0;owned\\u0007\\u009b2J\\u202e";
    let named = card.replace("name = \"poisson\"", &format!("name = \"{escaped}\""));
    fs::write(here.join("models/named.toml"), named).unwrap();
    for weights in ["broken.safetensors", "named.safetensors"] {
        fs::write(here.join("models").join(weights), b"").unwrap();
    }
    assert!(shown(here, &["model", "list"]).contains(SHOWN));
    shown(here, &["model", "list", "--json"]);

    succeed(here, &["data", "generate", "poisson", "--resolution", "32", "--count", "4", "--out", "set"]);
    fs::write(here.join("r.toml"), format!("name = \"x\"\n{HOSTILE} = 1\n")).unwrap();
    fs::write(here.join("k.toml"), format!("name = \"x\"\n\"{escaped}\" = 1\n")).unwrap();
    for recipe in ["r.toml", "k.toml"] {
        let train = ["train", "--pde", "poisson", "--data", "set", "--recipe", recipe, "--out", "run"];
        assert!(shown(here, &train).contains("\\u{1b}]0;owned"), "{recipe}");
    }
}

#[test]
fn of_data_sets_and_matlab_variables() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scope-data/tests/fixtures");
    let mut mat = fs::read(fixtures.join("poisson_v5.mat")).unwrap();
    let at = mat.windows(6).position(|name| name == b"f_data").unwrap();
    mat[at..at + 6].copy_from_slice(b"\x1b]0;a\x07");
    fs::write(here.join("named.mat"), mat).unwrap();
    let said = shown(here, &["data", "import", "poisson", "--from", "named.mat", "--out", "set"]);
    assert!(said.contains("\\u{1b}]0;a\\u{7}"), "{said}");

    fs::copy(fixtures.join("poisson_v5.mat"), here.join(HOSTILE)).unwrap();
    shown(here, &["data", "import", "poisson", "--from", HOSTILE, "--out", "set"]);
    shown(here, &["data", "info", "set"]);
    let json = shown(here, &["data", "info", "set", "--json"]);
    let meta: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(meta.to_string().contains("owned"), "{meta}");
}

#[test]
fn of_arguments() {
    let root = tempfile::tempdir().unwrap();
    assert!(shown(root.path(), &["data", "info", HOSTILE]).contains(SHOWN));
    shown(root.path(), &["data", HOSTILE]);
    shown(root.path(), &["mask", "--family", HOSTILE, "--color", "always"]);
}
