//! `scope recover`, `scope model list | pack | card` and `scope demo`, as a user types them.

use std::{fmt::Write, fs, path::Path};

use scope_data::{Constants, npy::MappedArray};
use scope_engine::Device;
use scope_model::{About, Fields, Model, Preset, Quantisation};
use scope_pde::Pde;
use serde_json::Value;

use crate::program::{refused, scope, succeed};

pub(crate) const SIZE: usize = 32;

fn recover(folder: &Path, sensors: &str, out: &str, more: &[&str]) -> Value {
    let plain =
        ["recover", "--model", "model.safetensors", "--sensors", sensors, "--out", out, "--device", "cpu"];
    let summary: Value =
        serde_json::from_str(&succeed(folder, &[&plain[..], &["--json"], more].concat())).unwrap();
    let written: Value =
        serde_json::from_slice(&fs::read(folder.join(out).join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary, written);
    summary
}

/// A folder with an untrained model.
pub(crate) fn with_model(pde: Pde) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let config = Preset::Tiny.config(SIZE);
    let model = Model::initial(config.clone(), 1, &Device::cpu(1)).unwrap();
    let about = About { pde, constants: Constants::generated(pde), config: config.into(), training: None };
    model.save(&root.path().join("model.safetensors"), &about, Quantisation::F32).unwrap();
    root
}

pub(crate) fn field(path: &Path) -> Vec<f32> {
    MappedArray::open(path).unwrap().as_f32().unwrap().to_vec()
}

/// The pixel of sensor k.
fn pixel(k: usize) -> (usize, usize) {
    (k % SIZE, (5 * k + k / SIZE) % SIZE)
}

/// The value of sensor k of a problem.
fn value(problem: usize, k: usize) -> f64 {
    0.003 * ((problem * 31 + k) as f64 * 0.7).sin()
}

#[test]
fn command_library_and_any_batch_give_the_same_bits() {
    let root = with_model(Pde::POISSON);
    let count = 40;
    let each = 33;
    let mut table = String::from("problem,i,j,u\n");
    for problem in 0..count {
        for k in 0..each {
            let (i, j) = pixel(k);
            writeln!(table, "p{problem},{i},{j},{}", value(problem, k)).unwrap();
        }
    }
    fs::write(root.path().join("many.csv"), &table).unwrap();
    recover(root.path(), "many.csv", "many", &[]);
    let [a, u] = ["a.npy", "u.npy"].map(|name| field(&root.path().join("many").join(name)));
    assert_eq!(
        MappedArray::open(&root.path().join("many/a.npy")).unwrap().header().shape,
        [count, SIZE, SIZE]
    );

    let path = root.path().join("model.safetensors");
    let recovery = scope::Recovery::open(&path, &Device::cpu(1)).unwrap();
    let file = scope::SensorFile::open(root.path().join("many.csv")).unwrap();
    let mut fields = Vec::new();
    for index in 0..file.len() {
        let set = file.set(index).unwrap();
        assert_eq!(set.name, format!("p{index}"));
        fields.push(recovery.recover(&set).unwrap().fields);
    }
    let joined = |of: fn(&Fields) -> &Vec<f32>| fields.iter().flat_map(of).copied().collect::<Vec<f32>>();
    assert!(a == joined(|fields| &fields.a) && u == joined(|fields| &fields.u));

    for problem in [0, 39] {
        let rows = table.lines().filter(|line| line.starts_with(&format!("p{problem},")));
        let text: String = rows.map(|line| format!("{}\n", line.split_once(',').unwrap().1)).collect();
        let mut command = scope(root.path(), &["recover", "--model", "model.safetensors", "--sensors", "-"]);
        let out = format!("one-{problem}");
        command.args(["--out", &out, "--threads", "2", "--device", "cpu"]);
        command.write_stdin(format!("i,j,u\n{text}")).assert().success();
        let alone = field(&root.path().join(out).join("u.npy"));
        assert!(alone == u[problem * SIZE * SIZE..][..SIZE * SIZE], "problem {problem}");
    }
}

#[test]
fn arrays_and_json_give_what_tables_give() {
    let root = with_model(Pde::POISSON);
    let mut table = String::from("i,j,a\n");
    let mut json = Vec::new();
    let mut context = vec![0.0_f64; 4 * SIZE * SIZE];
    for k in 0..35 {
        let ((i, j), value) = (pixel(k), value(3, k));
        writeln!(table, "{i},{j},{value}").unwrap();
        json.push(format!("{{\"i\":{i},\"j\":{j},\"channel\":\"a\",\"value\":{value}}}"));
        context[i * SIZE + j] = value;
        context[SIZE * SIZE + i * SIZE + j] = 1.0;
    }
    let mut npy = scope_data::npy::Header::new(scope_data::npy::Dtype::F64, &[4, SIZE, SIZE]).to_bytes();
    npy.extend(context.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(root.path().join("sensors.csv"), table).unwrap();
    fs::write(root.path().join("sensors.json"), format!("[{}]", json.join(","))).unwrap();
    fs::write(root.path().join("sensors.npy"), npy).unwrap();
    for name in ["sensors.csv", "sensors.json", "sensors.npy"] {
        recover(root.path(), name, name.split_once('.').unwrap().1, &[]);
    }
    let read = |kind: &str| field(&root.path().join(kind).join("a.npy"));
    assert!(read("csv") == read("json") && read("csv") == read("npy"));
}

#[test]
fn what_is_wrong_among_several_problems_names_its_problem() {
    let root = with_model(Pde::POISSON);
    let problem = |name: &str, x: f64| {
        format!(
            r#"{{"name": "{name}", "sensors": [{{"x": {x}, "y": 0.5, "channel": "u", "value": 0.001}}]}}"#
        )
    };
    let json = format!(r#"{{"problems": [{}, {}]}}"#, problem("dry", 0.5), problem("wet", 1.5));
    fs::write(root.path().join("s.json"), json).unwrap();
    let plain = ["recover", "--model", "model.safetensors", "--device", "cpu", "--out", "x", "--sensors"];
    let told = refused(root.path(), &[&plain[..], &["s.json"]].concat(), 1);
    assert!(
        told.contains("s.json, problem wet, sensor 1: (1.5, 0.5) lies outside the unit square"),
        "{told}"
    );
}

#[test]
fn how_a_file_was_read_is_told_and_kept() {
    let root = with_model(Pde::POISSON);
    fs::write(root.path().join("bare.csv"), "3,4,u,0.001\n5,6,u,0.002\n").unwrap();
    let note = "coordinates are whole numbers, so they are read as pixels (i, j)";
    assert_eq!(recover(root.path(), "bare.csv", "kept", &[])["notes"], serde_json::json!([note]));
    let plain = ["recover", "--model", "model.safetensors", "--device", "cpu", "--sensors", "bare.csv"];
    let output = scope(root.path(), &plain).args(["--out", "told"]).assert().success().get_output().clone();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(&format!("note: {note}\n")), "{told}");
    fs::write(root.path().join("named.csv"), "i,j,u\n3,4,0.001\n").unwrap();
    assert_eq!(recover(root.path(), "named.csv", "named", &[])["notes"], serde_json::json!([]));
}

#[test]
fn as_many_pictures_are_told_of_as_were_drawn() {
    let root = with_model(Pde::POISSON);
    fs::write(root.path().join("s.csv"), "problem,x,y,u\np,0.5,0.5,0.001\nq,0.5,0.5,0.001\n").unwrap();
    let plain = ["recover", "--model", "model.safetensors", "--device", "cpu", "--sensors", "s.csv"];
    for (pictures, told) in
        [("0", "u.npy, summary"), ("1", "a picture, summary"), ("7", "2 pictures, summary")]
    {
        let said = succeed(root.path(), &[&plain[..], &["--out", pictures, "--pictures", pictures]].concat());
        assert!(said.contains(told), "{said}");
        let drawn = fs::read_dir(root.path().join(pictures)).unwrap();
        let drawn = drawn.filter(|file| file.as_ref().unwrap().path().extension() == Some("png".as_ref()));
        assert_eq!(drawn.count(), pictures.parse::<usize>().unwrap().min(2));
    }
}

#[test]
fn what_is_there_is_never_overwritten() {
    let root = with_model(Pde::POISSON);
    fs::write(root.path().join("s.csv"), "x,y,u\n0.5,0.5,0.001\n").unwrap();
    fs::create_dir(root.path().join("mine")).unwrap();
    fs::write(root.path().join("mine/a.npy"), "precious").unwrap();
    let plain = ["recover", "--model", "model.safetensors", "--sensors", "s.csv", "--out", "mine"];
    assert!(refused(root.path(), &plain, 1).contains("mine already exists and is not empty"));
    assert_eq!(fs::read(root.path().join("mine/a.npy")).unwrap(), b"precious");
}

#[test]
fn a_cylinder_wants_its_disk_and_others_have_none() {
    let root = with_model(Pde::CYLINDER);
    fs::write(root.path().join("s.csv"), "x,y,a\n0.5,0.5,2\n0.1,0.9,1.5\n").unwrap();
    let warnings = |summary: &Value| summary["problems"][0]["warnings"].to_string();
    let missing = "the disk is not given";
    assert!(warnings(&recover(root.path(), "s.csv", "without", &[])).contains(missing));
    let with = recover(root.path(), "s.csv", "with", &["--geometry", "10,12,3"]);
    assert!(!warnings(&with).contains(missing));
    assert_eq!(with["problems"][0]["coverage"]["a"]["sensors"], 2, "the disk is no sensor");
    let plain = ["recover", "--model", "model.safetensors", "--sensors", "s.csv", "--out", "x", "--geometry"];
    assert!(refused(root.path(), &[&plain[..], &["10,12"]].concat(), 2).contains("expected three numbers"));
    let told = refused(root.path(), &[&plain[..], &["1,12,3"]].concat(), 1);
    let outside = "the disk at (1, 12) with radius 3 does not lie inside 32 x 32 pixels";
    assert!(told.contains(&format!("error: --geometry: {outside}; give row and column")), "{told}");
    let told = refused(root.path(), &[&plain[..], &["0.3,0.5,0.05"]].concat(), 1);
    assert!(told.contains("covers no pixel of the 32 x 32 grid; give row and column"), "{told}");
    assert!(told.contains("its radius, in pixels"), "{told}");
    let json = r#"{"geometry": [1, 12, 3], "sensors": [{"i": 5, "j": 5, "channel": "a", "value": 2}]}"#;
    fs::write(root.path().join("s.json"), json).unwrap();
    let own = ["recover", "--model", "model.safetensors", "--sensors", "s.json", "--out", "x", "--geometry"];
    let told = refused(root.path(), &[&own[..], &["10,12,3"]].concat(), 1);
    assert!(told.contains(&format!("error: s.json: {outside}; give row and column")), "{told}");
    let poisson = with_model(Pde::POISSON);
    fs::write(poisson.path().join("s.csv"), "x,y,a\n0.5,0.5,2\n").unwrap();
    let told = refused(poisson.path(), &[&plain[..], &["10,12,3"]].concat(), 1);
    assert!(told.contains("poisson has no geometry: leave --geometry out"), "{told}");
    fs::write(poisson.path().join("s.json"), json).unwrap();
    let told = refused(poisson.path(), &own[..own.len() - 1], 1);
    assert!(told.contains("s.json: poisson has no geometry: leave it out of the file"), "{told}");
}

/// Data, a short run, packed weights, an evaluation and a card; then the model is used by its name.
#[test]
fn a_model_with_a_card_is_used_by_name_and_trusted_by_its_errors() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    for (split, count, out) in [("train", "24", "train"), ("test", "6", "test")] {
        let generate =
            ["data", "generate", "poisson", "--resolution", "32", "--split", split, "--count", count];
        succeed(here, &[&generate[..], &["--out", out]].concat());
    }
    let train = [
        "train", "--pde", "poisson", "--data", "train", "--recipe", "fo", "--model", "tiny", "--draws", "16",
    ];
    succeed(here, &[&train[..], &["--set", "batch=8", "--device", "cpu", "--out", "run"]].concat());
    fs::create_dir(here.join("models")).unwrap();
    let weights = "models/small-town.safetensors";
    let pack = ["model", "pack", "--run", "run", "--out", weights, "--data"];
    let pointless = refused(here, &[&pack[..], &["train", "--kind", "bf16"]].concat(), 2);
    assert!(pointless.contains("int8 and int16"), "{pointless}");
    succeed(here, &["data", "generate", "darcy", "--resolution", "32", "--count", "2", "--out", "other"]);
    let other = refused(here, &[&pack[..], &["other", "--kind", "int8"]].concat(), 1);
    assert!(other.contains("holds darcy, and the model was trained on poisson"), "{other}");
    let packed = succeed(here, &[&pack[..], &["train", "--kind", "int8"]].concat());
    assert!(packed.contains("in int8"), "{packed}");
    let evaluate = ["evaluate", "--data", "test", "--device", "cpu", "--protocol", "uniform500"];
    succeed(here, &[&evaluate[..], &["--run", weights, "--out", "evals"]].concat());
    succeed(here, &[&evaluate[..], &["--run", "run"]].concat());
    let card = ["model", "card", "--model", weights, "--run", "run", "--data", "train", "--eval"];
    let other = refused(here, &[&card[..], &["run/eval/uniform500.json"]].concat(), 1);
    assert!(other.contains("evaluate this very file"), "{other}");
    succeed(here, &[&card[..], &["evals/uniform500.json", "--trained-on", "a laptop"]].concat());

    fs::write(here.join("models/notes.toml"), "not = \"a card\"").unwrap();
    let listed: Value = serde_json::from_str(&succeed(here, &["model", "list", "--json"])).unwrap();
    let entry = &listed[0]["card"];
    assert_eq!((&entry["name"], &entry["pde"]), (&"small-town".into(), &"poisson".into()));
    assert_eq!((&entry["size"], &entry["weights"]["kind"]), (&"tiny".into(), &"int8".into()));
    assert_eq!(entry["training"]["draws"], 16);
    let table = succeed(here, &["model", "list"]);
    assert!(table.contains("small-town") && table.contains("tiny, int8"), "{table}");

    let stored = field(&here.join("test/fields.npy"));
    let mut sensors = String::from("i,j,u\n");
    let mut made_up = sensors.clone();
    // Scattered as uniform sensors are: a lattice has other gaps, and its errors would not be those of the card.
    let scattered = |k: u32| f64::from(k.wrapping_mul(2_654_435_761) >> 8) / f64::from(1_u32 << 24);
    (0..31).for_each(|k| {
        let [i, j] = [scattered(2 * k as u32 + 1), scattered(977 * k as u32 + 5)]
            .map(|x| (x * (SIZE - 1) as f64).round() as usize);
        // u of the second record, whose values training has seen.
        let of_record = stored[3 * SIZE * SIZE + i * SIZE + j];
        writeln!(sensors, "{i},{j},{}", Constants::generated(Pde::POISSON).u.physical(of_record)).unwrap();
        writeln!(made_up, "{i},{j},{}", value(1, k)).unwrap();
    });
    fs::write(here.join("s.csv"), sensors).unwrap();
    fs::write(here.join("made-up.csv"), made_up).unwrap();
    let recover = ["recover", "--sensors", "s.csv", "--json", "--device", "cpu"];
    let by_name = succeed(here, &[&recover[..], &["--model", "small-town", "--out", "by-name"]].concat());
    let by_name: Value = serde_json::from_str(&by_name).unwrap();
    let problem = &by_name["problems"][0];
    assert_eq!(problem["task"], "inverse");
    assert_eq!(problem["nearest"]["condition"], "inverse/uniform/500");
    let held_out = &entry["held_out"]["conditions"]["inverse/uniform/500"];
    assert_eq!(&problem["held_out_percent"], held_out, "{}", problem["warnings"]);
    // Values that no field of the problem has get no error.
    let unlike =
        ["recover", "--sensors", "made-up.csv", "--json", "--device", "cpu", "--model", "small-town"];
    let unlike = succeed(here, &[&unlike[..], &["--out", "unlike"]].concat());
    let unlike: Value = serde_json::from_str(&unlike).unwrap();
    assert!(unlike["problems"][0]["held_out_percent"].is_null(), "{unlike}");
    let warnings = unlike["problems"][0]["warnings"].to_string();
    assert!(warnings.contains("rougher or noisier than those of this problem's own fields"), "{warnings}");
    // A run's own evaluations serve as well.
    let of_run = succeed(here, &[&recover[..], &["--model", "run", "--out", "of-run"]].concat());
    let of_run: Value = serde_json::from_str(&of_run).unwrap();
    assert!(of_run["problems"][0]["held_out_percent"]["a"].is_number());

    calibrated(here, weights);
    let banded = succeed(here, &[&recover[..], &["--model", "small-town", "--out", "banded"]].concat());
    let banded: Value = serde_json::from_str(&banded).unwrap();
    assert_eq!(banded["problems"][0]["bands"]["levels"], serde_json::json!([0.68, 0.95]));
    assert!(here.join("banded/u_band95.npy").is_file());

    let typo = refused(here, &[&recover[..], &["--model", "smal-town", "--out", "x"]].concat(), 1);
    assert!(typo.contains("did you mean small-town?"), "{typo}");
    let mut bytes = fs::read(here.join(weights)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(here.join(weights), bytes).unwrap();
    let changed = refused(here, &[&recover[..], &["--model", "small-town", "--out", "x"]].concat(), 1);
    assert!(changed.contains("its card says"), "{changed}");
}

/// Gives a model with a card error bands, from records that neither training nor its evaluation has seen.
fn calibrated(here: &Path, weights: &str) {
    let calibrate = ["model", "calibrate", "--model", weights, "--device", "cpu", "--data"];
    let trained = refused(here, &[&calibrate[..], &["train"]].concat(), 1);
    assert!(trained.contains("train holds records that the model was trained on"), "{trained}");
    let tested = refused(here, &[&calibrate[..], &["test"]].concat(), 1);
    assert!(
        tested.contains("test holds records that the card's held-out errors were measured on"),
        "{tested}"
    );
    let generate = ["data", "generate", "poisson", "--resolution", "32", "--split", "test", "--seed", "9"];
    succeed(here, &[&generate[..], &["--count", "40", "--out", "others"]].concat());
    let card = || fs::read_to_string(here.join("models/small-town.toml")).unwrap();
    let before = card();
    // The same evaluation once more changes nothing; one that lacks a condition of the card is refused.
    let renew = ["model", "card", "--model", weights, "--eval"];
    succeed(here, &[&renew[..], &["evals/uniform500.json"]].concat());
    assert_eq!(card(), before);
    let evaluate = ["evaluate", "--run", weights, "--data", "test", "--device", "cpu", "--out", "evals"];
    succeed(here, &[&evaluate[..], &["--protocol", "full-observation"]].concat());
    let lost = refused(here, &[&renew[..], &["evals/full-observation.json"]].concat(), 1);
    assert!(lost.contains("has errors at forward/uniform/500 too"), "{lost}");
    let said = succeed(here, &[&calibrate[..], &["others"]].concat());
    assert!(said.contains("bands for 15 tasks and layouts, measured on 30 records"), "{said}");
    let added = card().strip_prefix(&before).map(str::to_owned);
    assert!(added.unwrap().trim_start().starts_with("[bands]"), "the rest of the card stays as it was");
    let no_card = refused(here, &["model", "calibrate", "--model", "run", "--data", "others"], 1);
    assert!(no_card.contains("run has no card that bands could be written into"), "{no_card}");
    let evaluate = ["evaluate", "--data", "test", "--device", "cpu", "--run", weights, "--out", "within"];
    let told = succeed(here, &evaluate);
    assert!(told.contains("forward/uniform/500  a/within68"), "{told}");
    assert!(succeed(here, &["report", "within", "--tables", "bands"]).contains("inverse/uniform"));
}

/// The demo's own advice works as it is printed.
#[test]
fn the_demo_prints_commands_that_work() {
    let root = with_model(Pde::POISSON);
    let here = root.path();
    fs::create_dir(here.join("models")).unwrap();
    // A card is needed for a name; the errors it states are of no matter here.
    let weights = here.join("models/poisson.safetensors");
    fs::rename(here.join("model.safetensors"), &weights).unwrap();
    let hash = blake3::hash(&fs::read(&weights).unwrap());
    let card = include_str!("card.toml").replace("BLAKE3", &hash.to_string());
    fs::write(here.join("models/poisson.toml"), card).unwrap();
    let recover_as_printed = |said: &str| {
        let command = said.lines().find_map(|line| line.trim().strip_prefix("scope recover")).unwrap();
        let arguments: Vec<&str> = std::iter::once("recover").chain(command.split_whitespace()).collect();
        succeed(here, &arguments);
    };
    let said = succeed(here, &["demo"]);
    assert!(said.contains("31 points of a (forward)") && said.contains("31 points of u (inverse)"), "{said}");
    assert!(said.contains("over 1,000 other records: forward 4.4% for u, inverse 100.0% for a"), "{said}");
    let png = fs::read(here.join("scope-demo/demo.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    recover_as_printed(&said);
    assert!(here.join("scope-demo-recovered-poisson-0/fields.png").is_file());
    recover_as_printed(&succeed(here, &["demo", "--record", "7"]));
    let json: Value = serde_json::from_str(&succeed(here, &["demo", "--json"])).unwrap();
    assert!(
        json["errors_percent"]["forward/uniform/500"]["u"].is_number(),
        "a second demo replaces the first"
    );
    fs::remove_file(here.join("scope-demo/demo.json")).unwrap();
    assert!(refused(here, &["demo"], 1).contains("scope-demo exists and no demo made it"));
}

/// A model and its card in a folder `models` are all that `demo` needs, for every problem.
#[test]
fn the_demo_uses_whatever_models_are_dropped_in() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    fs::create_dir(here.join("models")).unwrap();
    for pde in Pde::ALL {
        let name = pde.name();
        let from = with_model(pde);
        let weights = fs::read(from.path().join("model.safetensors")).unwrap();
        let card = include_str!("card.toml").replace("poisson", name);
        let card = card.replace("BLAKE3", &blake3::hash(&weights).to_string());
        fs::write(here.join(format!("models/{name}.safetensors")), weights).unwrap();
        fs::write(here.join(format!("models/{name}.toml")), card).unwrap();
        let demo: Value = serde_json::from_str(&succeed(here, &["demo", "--pde", name, "--json"])).unwrap();
        assert_eq!((&demo["pde"], &demo["model"]), (&name.into(), &name.into()));
        assert!(demo["errors_percent"]["inverse/uniform/500"]["a"].is_number(), "{demo}");
    }
    let listed: Value = serde_json::from_str(&succeed(here, &["model", "list", "--json"])).unwrap();
    let place = |name: &str| {
        let entry = listed.as_array().unwrap().iter().find(|entry| entry["card"]["name"] == name);
        entry.unwrap()["place"].as_str().unwrap().to_owned()
    };
    assert!(Pde::ALL.iter().all(|pde| place(pde.name()) == format!("models/{}.safetensors", pde.name())));
    succeed(here, &["data", "generate", "cylinder", "--resolution", "32", "--count", "1", "--out", "flow"]);
    let calibrate = ["model", "calibrate", "--model", "cylinder", "--data", "flow", "--device", "cpu"];
    let few = refused(here, &calibrate, 1);
    assert!(few.contains("bands need 40 records, and there are 1"), "{few}");
}

#[test]
fn the_terminal_has_manners() {
    let root = tempfile::tempdir().unwrap();
    let typo = refused(root.path(), &["recovr"], 2);
    assert!(typo.contains("'recover'"), "{typo}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(succeed(root.path(), &["completions", shell]).contains("recover"), "{shell}");
    }
    succeed(root.path(), &["man", "--out", "pages/man1"]);
    for (page, says) in
        [("scope", "scope\\-recover(1)"), ("scope-recover", "sensors"), ("scope-data-import", "problem")]
    {
        let page = fs::read_to_string(root.path().join(format!("pages/man1/{page}.1"))).unwrap();
        assert!(page.contains(".TH") && page.contains(says), "{page}");
    }
    let colours = |when: &str| {
        let output = scope(root.path(), &["--color", when, "--help"]).output().unwrap().stdout;
        String::from_utf8(output).unwrap().contains('\u{1b}')
    };
    assert!(colours("always") && !colours("never") && !colours("auto"));
    let commands =
        ["demo", "recover", "data generate", "data merge", "data import", "data check", "data info", "mask"];
    let more = [
        "train",
        "adapt",
        "evaluate",
        "compare",
        "model list",
        "model info",
        "model pack",
        "model card",
        "model calibrate",
    ];
    for command in
        commands.iter().chain(&more).chain(&["doctor", "bench infer", "bench train", "completions", "man"])
    {
        let arguments: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        assert!(succeed(root.path(), &arguments).contains("Example"), "{command}");
    }
}
