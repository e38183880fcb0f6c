//! Several evaluations of one model: which of them supplies a figure.

use std::collections::BTreeMap;

use scope_data::observation::Condition;
use scope_eval::{
    DataIdentity, MaskIdentity, Measure, MethodIdentity, MethodKind, Provenance, Record, Scores, matching,
    report::{Choice, Format, Published, Runs, tables},
};
use scope_pde::{Pde, Split};

fn named(condition: &str) -> Condition {
    condition.parse().unwrap()
}

/// An evaluation of some records at uniform/500, whose errors lie about a figure.
fn evaluation(model: &str, protocol: &str, records: usize, seed: u64, error: f64) -> Record {
    let method = MethodIdentity {
        kind: MethodKind::Scope,
        model: None,
        recipe: Some(model.to_owned()),
        decoder: Some("native".to_owned()),
        parameters: 10,
        blake3: Some(format!("weights of {model}")),
        training: None,
    };
    let data = DataIdentity {
        blake3: "records".to_owned(),
        split: Split::Test,
        origin: "generated".to_owned(),
        generated: true,
        resolution: 128.into(),
        trained_on: false,
    };
    let mut record = Record::new(Provenance {
        pde: Pde::POISSON,
        protocol: protocol.to_owned(),
        records,
        method,
        data,
        masks: MaskIdentity { seed, ..MaskIdentity::default() },
        computed: "cpu f32".to_owned(),
        version: "0.1.0".to_owned(),
    });
    let values = || (0..records).map(|k| Some(error + (k % 3) as f64 / 8.0)).collect();
    for condition in ["forward/uniform/500", "inverse/uniform/500"] {
        let measures = BTreeMap::from([(Measure::A, values()), (Measure::U, values())]);
        record.add(named(condition), Scores { measures, masks: format!("{records} masks of {seed}") });
    }
    record
}

/// The lines of a table that have a word.
fn lines(name: &str, records: Vec<Record>, word: &str) -> Vec<String> {
    let choice = Choice::Named(vec![name.parse().unwrap()]);
    let tables = tables(&choice, &Published::read().unwrap(), &Runs::gather(records)).unwrap();
    let text = Format::Markdown.write(&tables);
    text.lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}

/// Two models, each on few records under all conditions and on more at uniform/500.
fn few_and_many(few: [usize; 2]) -> Vec<Record> {
    let of = |(model, few): (&str, usize)| {
        [evaluation(model, "all", few, 1, 2.0), evaluation(model, "uniform500", 60, 1, 3.0)]
    };
    [("full", few[0]), ("fo", few[1])].into_iter().flat_map(of).collect()
}

#[test]
fn all_tables_take_the_evaluation_with_the_most_records() {
    for few in [[10, 10], [10, 20]] {
        let paired = lines("paired", few_and_many(few), "Full - FO |");
        let ours: Vec<&String> = paired.iter().filter(|line| line.contains("| 60 |")).collect();
        assert_eq!(ours.len(), 2, "{few:?}: {paired:?}");
    }
    assert!(lines("channels", few_and_many([10, 10]), "ours: Full")[0].contains("| 60 |"));
    let runs = lines("runs", few_and_many([10, 10]), "| Full |");
    assert!(runs[0].contains("| 60 |"), "both conditions are of 60 records: {runs:?}");
}

#[test]
fn several_numbers_of_records_are_told_apart() {
    let mut all = evaluation("full", "all", 10, 1, 2.0);
    let scores =
        Scores { measures: all.values[&named("forward/uniform/500")].clone(), masks: "grid".to_owned() };
    all.add(named("forward/grid/500"), scores);
    let runs = lines("runs", vec![all, evaluation("full", "uniform500", 60, 1, 3.0)], "| Full |");
    assert!(runs[0].contains("| 60 (uniform500), 10 (all) |"), "{runs:?}");
}

#[test]
fn mask_seeds_and_precisions_have_rows_of_their_own() {
    let one = || evaluation("full", "uniform500", 12, 1, 2.0);
    let two = evaluation("full", "uniform500", 12, 2, 3.0);
    let runs = lines("runs", vec![one(), two.clone()], "Full");
    assert!(runs.len() == 2 && runs[0].contains("| Full, mask seed 1 |"), "{runs:?}");
    let channels = lines("channels", vec![one(), two], "ours: Full, mask seed 2");
    assert!(channels[0].contains("| 3.125"), "{channels:?}");
    let mut coarse = one();
    coarse.results.identity.data.resolution = 32.into();
    let runs = lines("runs", vec![coarse], "Full");
    assert!(runs[0].contains("| Full, 32 x 32 grid, 31 points for 500 |"), "{runs:?}");
    let mut card = one();
    card.results.identity.computed = "cuda bf16".to_owned();
    let runs = lines("runs", vec![one(), card], "Full");
    assert!(runs.len() == 2 && runs[1].contains("| Full, cuda bf16 |"), "{runs:?}");
}

/// Names in a folder, and what is read of the evaluation there.
fn held(folder: &std::path::Path) -> (Vec<String>, Record) {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    (names, Record::read(&folder.join("all.json")).unwrap())
}

/// The moments are rebuilt from the files that a whole writing leaves.
#[test]
fn stopped_at_any_moment_the_old_or_the_new_evaluation_is_whole() {
    let old = evaluation("full", "all", 5, 1, 2.0);
    let new = evaluation("full", "all", 9, 1, 3.0);
    let root = tempfile::tempdir().unwrap();
    let apart = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    new.write(&apart.path().join("all.json")).unwrap();
    let [json, npz] = ["all.json", "all.npz"].map(|name| std::fs::read(apart.path().join(name)).unwrap());
    let waiting = format!("all.{}.npz", &blake3::hash(&npz).to_hex()[..16]);
    old.write(&at("all.json")).unwrap();
    assert_eq!(held(root.path()), (vec!["all.json".to_owned(), "all.npz".to_owned()], old.clone()));
    std::fs::write(at(&waiting), &npz).unwrap();
    assert_eq!(held(root.path()).1, old, "after the new values");
    std::fs::write(at("all.json"), &json).unwrap();
    assert_eq!(held(root.path()).1, new, "after the new summaries");
    old.write(&at("all.json")).unwrap();
    assert_eq!(held(root.path()), (vec!["all.json".to_owned(), "all.npz".to_owned()], old.clone()));
    std::fs::write(at(&waiting), b"left behind").unwrap();
    std::fs::write(at("all.other.npz"), b"a stranger's").unwrap();
    old.write(&at("all.json")).unwrap();
    assert!(!at(&waiting).exists() && at("all.other.npz").exists());
}

#[test]
fn older_results_without_a_hash_are_read() {
    let root = tempfile::tempdir().unwrap();
    let record = evaluation("full", "all", 5, 1, 2.0);
    let path = root.path().join("all.json");
    record.write(&path).unwrap();
    std::fs::write(&path, serde_json::to_vec(&record.results).unwrap()).unwrap();
    assert_eq!(Record::read(&path).unwrap(), record);
}

/// The hash becomes part of a file's name, so it must be one.
#[test]
fn a_hash_that_is_a_path_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("all.json");
    evaluation("full", "all", 5, 1, 2.0).write(&path).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for hash in ["../../x", "", "a/b"] {
        let mut written = written.clone();
        written["values_blake3"] = hash.into();
        std::fs::write(&path, serde_json::to_vec(&written).unwrap()).unwrap();
        let refused = Record::read(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("values_blake3 is \"{hash}\", and no hash")), "{refused}");
    }
}

#[test]
fn pairs_without_a_match_are_counted_below_the_table() {
    let records =
        vec![evaluation("full", "uniform500", 12, 1, 2.0), evaluation("fo", "uniform500", 12, 2, 3.0)];
    assert_eq!(lines("paired", records.clone(), "under the same masks: 1.").len(), 1);
    let refused =
        matching(&records[..1], &records[1..], named("forward/uniform/500")).unwrap_err().to_string();
    assert!(refused.contains("differ in their masks (seed 1 and seed 2)"), "{refused}");
}
