//! `scope evaluate` and `scope doctor`, as a user types them.

use std::path::Path;

use crate::program::{refused, scope, succeed};

/// A folder with a short run of a tiny model on a problem, and a test set.
fn trained(pde: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (split, count, out) in [("train", "24", "train"), ("test", "10", "test")] {
        let generate = ["data", "generate", pde, "--resolution", "32", "--split", split, "--count", count];
        succeed(root.path(), &[&generate[..], &["--out", out]].concat());
    }
    let train =
        ["train", "--pde", pde, "--data", "train", "--recipe", "fo", "--model", "tiny", "--draws", "16"];
    let more = ["--set", "batch=4", "--milestones", "4", "--device", "cpu", "--out", "run"];
    succeed(root.path(), &[&train[..], &more].concat());
    root
}

fn evaluated(folder: &Path, more: &[&str]) -> serde_json::Value {
    let plain = ["evaluate", "--run", "run", "--data", "test", "--device", "cpu", "--json", "-"];
    serde_json::from_str(&succeed(folder, &[&plain[..], more].concat())).unwrap()
}

#[test]
fn all_conditions_are_evaluated_whatever_threads_and_batch() {
    let root = trained("poisson");
    let one = evaluated(root.path(), &["--protocol", "all", "--limit", "3", "--threads", "1"]);
    let three = ["--protocol", "all", "--limit", "3", "--threads", "3", "--batch", "2"];
    let three = evaluated(root.path(), &three);
    assert_eq!(one, three);
    assert_eq!(one["conditions"].as_object().unwrap().len(), 75);
    let primary = &one["conditions"]["forward/uniform/500"]["u"];
    assert_eq!((&primary["count"], &primary["undefined"]), (&3.into(), &0.into()));
    assert!(primary["mean"].as_f64().unwrap() > 0.0);
    let identity = &one["identity"];
    let training = &identity["method"]["training"];
    assert_eq!((&training["draws"], &training["cut_short"]), (&16.into(), &false.into()));
    assert_eq!((&training["generated"], &identity["data"]["generated"]), (&true.into(), &true.into()));
}

#[test]
fn results_go_beside_the_run_and_darcy_has_bit_errors() {
    let root = trained("darcy");
    let plain = ["evaluate", "--run", "run", "--data", "test", "--device", "cpu"];
    let text = succeed(root.path(), &plain);
    assert!(text.contains("inverse/uniform/500  ber"), "{text}");
    assert!(root.path().join("run/eval/uniform500.json").is_file());
    let fewer = refused(root.path(), &[&plain[..], &["--limit", "3"]].concat(), 1);
    assert!(fewer.contains("holds an evaluation of 10 records"));
    succeed(root.path(), &[&plain[..], &["--limit", "3", "--out", "few", "--figures", "1"]].concat());
    assert!(root.path().join("few/figures/inverse-uniform-500-record-0.png").is_file());
    let none = refused(root.path(), &[&plain[..], &["--limit", "0", "--out", "none"]].concat(), 2);
    assert!(none.contains("--limit") && !root.path().join("none").exists(), "{none}");
    let benchmark = [&plain[..], &["--protocol", "benchmark"]].concat();
    let said = refused(root.path(), &benchmark, 1);
    assert!(said.contains("for the cylinder only"));
}

#[test]
fn few_and_noisy_sensors_have_results_of_their_own() {
    let root = trained("poisson");
    let few = |more: &[&str]| evaluated(root.path(), &[&["--protocol", "few"], more].concat());
    let mean = |results: &serde_json::Value| {
        assert_eq!(results["conditions"].as_object().unwrap().len(), 15);
        results["conditions"]["joint/uniform/100"]["u"]["mean"].as_f64().unwrap()
    };
    let exact = few(&[]);
    let nothing = few(&["--noise", "0"]);
    assert_eq!((&exact, exact["identity"]["masks"].get("noise")), (&nothing, None));
    let noisy = few(&["--noise", "20%,0.00417478", "--batch", "3"]);
    assert_eq!(noisy["identity"]["masks"]["noise"], serde_json::json!({ "levels": [0.2, 1.0] }));
    let untold = few(&["--noise", "20%,100%", "--untold"]);
    assert_eq!(untold["identity"]["masks"]["noise"]["untold"], true);
    assert!(mean(&exact) != mean(&noisy) && mean(&noisy) != mean(&untold));
    for name in ["few", "few-noise-0.2-1", "few-noise-0.2-1-untold"] {
        for kind in ["json", "npz"] {
            assert!(root.path().join(format!("run/eval/{name}.{kind}")).is_file(), "{name}.{kind}");
        }
    }
    // Readings with noise are no held-out errors of a model.
    let card = ["model", "card", "--model", "run/model.safetensors", "--eval"];
    let said = refused(root.path(), &[&card[..], &["run/eval/few-noise-0.2-1.json"]].concat(), 1);
    assert!(said.contains("its readings are noisy"), "{said}");
    let alone = ["evaluate", "--run", "run", "--data", "test", "--untold"];
    assert!(refused(root.path(), &alone, 2).contains("--noise"));
}

#[test]
fn destinations_are_checked_before_anything_is_measured() {
    let root = trained("poisson");
    let plain = ["evaluate", "--data", "test", "--device", "cpu", "--run"];
    let cases: [(&[&str], &str); 3] = [
        (&["run", "--json", "nowhere/x.json"], "there is no folder nowhere"),
        (&["run", "--json", "run"], "run is a folder, and a file is to be written there"),
        (&["run", "--out", "test/meta.json"], "test/meta.json is a file: name another folder"),
    ];
    for (more, expected) in cases {
        let said = refused(root.path(), &[&plain[..], more].concat(), 1);
        assert!(said.contains(expected) && !said.contains("evaluating"), "{said}");
    }
    assert!(!root.path().join("run/eval").exists(), "nothing was made either");
    succeed(root.path(), &[&plain[..], &["run", "--out", "new", "--json", "new/copy.json"]].concat());
    assert!(root.path().join("new/uniform500.json").is_file() && root.path().join("new/copy.json").is_file());
}

/// The lock of another process is one that the test itself holds.
#[test]
fn two_evaluations_do_not_write_the_same_results_at_once() {
    let root = trained("poisson");
    let folder = root.path().join("results");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join(".uniform500.lock"), "4711\n").unwrap();
    let other = std::fs::File::open(folder.join(".uniform500.lock")).unwrap();
    other.lock().unwrap();
    let evaluate = ["evaluate", "--run", "run", "--data", "test", "--device", "cpu", "--out", "results"];
    let said = refused(root.path(), &evaluate, 1);
    assert!(said.contains("another evaluation, process 4711: wait for it, or keep both"), "{said}");
    succeed(root.path(), &[&evaluate[..], &["--protocol", "full-observation"]].concat());
    // Dropped, it would stay locked for as long as a child of another test has not begun its program.
    other.unlock().unwrap();
    succeed(root.path(), &evaluate);
    assert!(folder.join("uniform500.json").is_file());
}

/// What is known of a run, whichever of the two sets it was evaluated on first.
#[test]
fn training_records_never_stand_in_for_held_out_ones() {
    let root = trained("poisson");
    let evaluate = |data: &'static str| ["evaluate", "--run", "run", "--device", "cpu", "--data", data];
    let recover = ["recover", "--model", "run", "--sensors", "sensors.csv", "--json", "--out"];
    let recovered = |out: &'static str| -> serde_json::Value {
        serde_json::from_str(&succeed(root.path(), &[&recover[..], &[out]].concat())).unwrap()
    };
    std::fs::write(root.path().join("sensors.csv"), "x,y,u\n0.3,0.4,0.001\n0.7,0.6,0.002\n").unwrap();
    succeed(root.path(), &evaluate("train"));
    assert_eq!(recovered("first")["method"].get("held_out_records"), None, "they were trained on");
    succeed(root.path(), &evaluate("test"));
    assert_eq!(recovered("second")["method"]["held_out_records"], 10, "fewer, but held out");
    let said = refused(root.path(), &evaluate("train"), 1);
    assert!(said.contains("on held-out records, and this one would be on training records"), "{said}");
}

/// A set made to test with is no test of a model that was trained on it; run, weights and milestones all know.
#[test]
fn records_that_a_run_was_trained_on_are_known_whatever_their_split() {
    let root = trained("poisson");
    let train =
        ["train", "--pde", "poisson", "--data", "test", "--recipe", "fo", "--model", "tiny", "--draws", "8"];
    let more = ["--set", "batch=4", "--milestones", "2", "--device", "cpu", "--out", "other"];
    succeed(root.path(), &[&train[..], &more].concat());
    let evaluate = |run: &str| {
        let arguments = ["evaluate", "--data", "test", "--limit", "2", "--device", "cpu", "--run", run];
        let output = scope(root.path(), &arguments).assert().success().get_output().stderr.clone();
        String::from_utf8(output).unwrap()
    };
    let milestone = "other/milestones/000000000000004.safetensors";
    for model in ["other", "other/model.safetensors", milestone] {
        let said = evaluate(model);
        assert!(said.contains("test holds the very records that the model was trained on"), "{said}");
    }
    let text = std::fs::read_to_string(root.path().join("other/eval/uniform500.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(results["identity"]["data"]["trained_on"], true);
    let said = evaluate("run");
    assert!(!said.contains("trained on"), "{said}");
}

/// A folder that happens to have a model's name is not where that model's results belong.
#[test]
fn results_of_a_named_model_go_to_no_folder_of_its_name() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("poisson")).unwrap();
    succeed(
        root.path(),
        &["data", "generate", "poisson", "--split", "test", "--count", "1", "--out", "test"],
    );
    succeed(root.path(), &["evaluate", "--run", "poisson", "--data", "test", "--device", "cpu"]);
    assert!(!root.path().join("poisson/eval").exists());
}

#[test]
fn milestones_are_evaluated_apart_and_make_a_learning_curve() {
    let root = trained("darcy");
    let plain = ["evaluate", "--data", "test", "--limit", "4", "--device", "cpu", "--run"];
    let evaluate = |run: &'static str, out: &'static str| [&plain[..], &[run, "--out", out]].concat();
    let [first, third] = ["run/milestones/000000000000004", "run/milestones/000000000000012"];
    let weights =
        ["run/milestones/000000000000004.safetensors", "run/milestones/000000000000012.safetensors"];
    succeed(root.path(), &evaluate("run", "run/eval"));
    let said = succeed(root.path(), &evaluate(weights[0], first));
    assert!(said.contains("4 draws, cut short"), "{said}");
    let said = refused(root.path(), &evaluate(weights[0], "run/eval"), 1);
    assert!(said.contains("after more draws than this model has seen"), "{said}");
    let curve = root.path().join("figures/draws-darcy-inverse-ber.png");
    succeed(root.path(), &["report", "run", first, "--figures", "figures"]);
    assert!(!curve.exists(), "two points make no curve");
    succeed(root.path(), &evaluate(weights[1], third));
    succeed(root.path(), &["report", "run", first, third, "--figures", "figures"]);
    assert!(curve.is_file() && root.path().join("figures/draws-darcy-forward-u.svg").is_file());
}

/// A card has errors against sensors, and a chart is drawn again from the data beside it, in every bit.
#[test]
fn charts_are_drawn_from_cards_and_from_their_own_data() {
    let root = tempfile::tempdir().unwrap();
    let card = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/poisson.toml");
    succeed(root.path(), &["report", card, "--tables", "main", "--figures", "figures"]);
    let data = "figures/sensors-poisson-inverse-a.chart.json";
    succeed(root.path(), &["report", data, "--tables", "main", "--figures", "again"]);
    for ending in ["svg", "png", "chart.json"] {
        let read = |folder: &str| {
            std::fs::read(root.path().join(format!("{folder}/sensors-poisson-inverse-a.{ending}"))).unwrap()
        };
        assert!(read("figures") == read("again"), "{ending}");
    }
    assert!(refused(root.path(), &["report", data], 1).contains("--figures"));
    std::fs::write(root.path().join(data), "{}").unwrap();
    let said = refused(root.path(), &["report", data, "--figures", "again"], 1);
    assert!(said.contains("is not the data of a chart: missing field"), "{said}");
}

#[test]
fn evaluations_are_compared_on_the_same_records_and_masks_only() {
    let root = trained("poisson");
    let adapt =
        ["adapt", "--base", "run", "--data", "train", "--head", "1m", "--draws", "8", "--set", "batch=8"];
    succeed(root.path(), &[&adapt[..], &["--device", "cpu", "--out", "head"]].concat());
    for run in ["run", "head"] {
        succeed(root.path(), &["evaluate", "--run", run, "--data", "test", "--device", "cpu"]);
    }
    let lines = succeed(root.path(), &["compare", "head", "run", "--json"]);
    let lines: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(lines.as_array().unwrap().len(), 4);
    assert_eq!((&lines[1]["condition"], &lines[1]["measure"]), (&"forward/uniform/500".into(), &"u".into()));
    assert_eq!(lines[1]["count"], 10);
    let mean = |run: &str| {
        let text = std::fs::read_to_string(root.path().join(run).join("eval/uniform500.json")).unwrap();
        let results: serde_json::Value = serde_json::from_str(&text).unwrap();
        results["conditions"]["forward/uniform/500"]["u"]["mean"].as_f64().unwrap()
    };
    assert!((lines[1]["difference"].as_f64().unwrap() - (mean("head") - mean("run"))).abs() < 1e-9);
    let text = succeed(root.path(), &["compare", "head", "run", "--condition", "inverse/uniform/500"]);
    assert!(text.contains("A = FO / SP-1M (tiny), B = FO (tiny)"), "{text}");
    for (run, limit) in [("run", "3"), ("head", "4")] {
        let few = ["evaluate", "--run", run, "--data", "test", "--device", "cpu", "--limit", limit];
        succeed(root.path(), &[&few[..], &["--protocol", "all"]].concat());
    }
    let lines = succeed(root.path(), &["compare", "head", "run", "--json"]);
    let lines: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert!(lines.as_array().unwrap().iter().all(|line| line["count"] == 10), "{lines}");
    succeed(root.path(), &["evaluate", "--run", "run", "--data", "test", "--device", "cpu", "--seed", "7"]);
    let said = refused(root.path(), &["compare", "head", "run", "--condition", "forward/uniform/500"], 1);
    assert!(said.contains("differ in their masks (seed 20261013 and seed 7)"), "{said}");
}

#[test]
fn records_of_another_problem_are_refused() {
    let root = trained("poisson");
    let other = ["data", "generate", "ns", "--resolution", "32", "--count", "1", "--out", "other"];
    succeed(root.path(), &other);
    let evaluate = ["evaluate", "--run", "run", "--data", "other", "--device", "cpu"];
    let said = refused(root.path(), &evaluate, 1);
    assert!(said.contains("other holds ns, and the model was trained on poisson"));
}

#[test]
fn the_doctor_says_what_is_there() {
    let root = tempfile::tempdir().unwrap();
    let text = succeed(root.path(), &["doctor"]);
    assert!(text.contains("processor: ") && text.contains("GPU: "), "{text}");
    let json: serde_json::Value = serde_json::from_str(&succeed(root.path(), &["doctor", "--json"])).unwrap();
    assert!(json["threads"].as_u64().unwrap() >= 1);
    assert!(json["card"].is_null() != json["without_card"].is_null());
    if cfg!(target_os = "linux") {
        assert!(text.contains("memory: "), "{text}");
        let memory = |name: &str| json["memory"][name].as_f64().unwrap();
        assert!(memory("available_gib") > 0.0 && memory("available_gib") <= memory("total_gib"));
    }
    for option in ["--gpu", "--card"] {
        succeed(root.path(), &["doctor", option, "0"]);
    }
    if json["card"].is_null() {
        let said = refused(root.path(), &["doctor", "--selftest"], 1);
        assert!(said.contains("no GPU can be used") && !said.contains("--device"), "{said}");
    }
}
