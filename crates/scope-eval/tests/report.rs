//! Tables from made-up evaluations, as they are written. After a change that is meant: `UPDATE=1 cargo test -p scope-eval`.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, path::PathBuf};

use scope_eval::{
    Budget, DataIdentity, Identity, MaskIdentity, MethodIdentity, PerRecord, Record, Scores,
    report::{Format, Published, Run, TABLES, table},
};

/// An evaluation whose errors are round numbers about `scale`.
fn evaluation(pde: &str, recipe: &str, decoder: &str, scale: f64) -> Record {
    let head_draws = (decoder != "native").then_some(320_000);
    let method = MethodIdentity {
        name: "scope".to_owned(),
        model: Some("small".to_owned()),
        recipe: Some(recipe.to_owned()),
        decoder: Some(decoder.to_owned()),
        parameters: 6_786_178,
        blake3: Some(format!("{recipe}{decoder}{pde}0123456789")),
        training: Some(Budget {
            draws: 952_288,
            head_draws,
            cut_short: recipe == "fo",
            generated: true,
            seed: Some(1),
            minutes: Some(4.2),
        }),
    };
    let data = DataIdentity {
        blake3: format!("{pde}-records"),
        split: "test".to_owned(),
        origin: "generated: fresh draws from the released distribution".to_owned(),
        generated: true,
        resolution: 128,
    };
    let masks = MaskIdentity { seed: 20_261_013, blake3: BTreeMap::new() };
    let mut record = Record::new(Identity {
        pde: pde.to_owned(),
        protocol: "uniform500".to_owned(),
        records: 4,
        method,
        data,
        masks,
        computed: "cuda bf16".to_owned(),
        version: "0.1.0".to_owned(),
    });
    let layouts: &[&str] =
        if pde == "cylinder" { &["uniform/500", "benchmark_uniform/100"] } else { &["uniform/500"] };
    for layout in layouts {
        for task in ["forward", "inverse"] {
            record.add(
                format!("{task}/{layout}"),
                scores(pde, scale, if task == "forward" { 1.0 } else { 3.0 }),
            );
        }
    }
    record
}

fn scores(pde: &str, scale: f64, factor: f64) -> Scores {
    let values =
        |by: f64| -> PerRecord { [0.75, 1.0, 1.125, 1.25].map(|x| Some(scale * factor * by * x)).to_vec() };
    let mut measures = BTreeMap::from([("a".to_owned(), values(2.0)), ("u".to_owned(), values(1.0))]);
    measures.insert("a/rmse".to_owned(), values(0.01));
    measures.insert("u/rmse".to_owned(), values(0.01));
    if pde == "darcy" {
        measures.insert("ber".to_owned(), values(0.5));
    }
    if pde == "poisson" {
        for (measure, share) in
            [("a/within68", 67.5), ("a/within95", 94.75), ("u/within68", 70.0), ("u/within95", 95.5)]
        {
            measures.insert(
                measure.to_owned(),
                vec![Some(share - factor), Some(share + factor), None, Some(share)],
            );
        }
    }
    if pde == "cylinder" {
        // A zero target: no relative error, but an absolute one.
        measures.get_mut("u").unwrap()[2] = None;
    }
    Scores { measures, masks: format!("masks of {pde}") }
}

fn runs() -> Vec<Run> {
    Run::gather(vec![
        evaluation("poisson", "full", "native", 2.0),
        evaluation("poisson", "full", "sp-10m", 1.999),
        evaluation("poisson", "fo", "native", 2.5),
        evaluation("darcy", "full", "native", 3.0),
        evaluation("cylinder", "full", "native", 1.0),
    ])
}

#[test]
fn tables_are_written_as_they_were() {
    let (published, runs) = (Published::read().unwrap(), runs());
    let tables: Vec<_> =
        TABLES.iter().filter_map(|name| table(name, &published, &runs, false).unwrap()).collect();
    assert_eq!(tables.len(), TABLES.len(), "each has a row of ours");
    for format in Format::ALL {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/snapshots/report")
            .with_extension(format.name());
        let text = format.write(&tables);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert!(text == std::fs::read_to_string(&path).unwrap(), "{} differs", path.display());
    }
}

#[test]
fn tables_without_a_row_of_ours_are_left_out_unless_asked_for() {
    let published = Published::read().unwrap();
    let poisson = Run::gather(vec![evaluation("poisson", "full", "native", 2.0)]);
    let shown = |name: &str, always| table(name, &published, &poisson, always).unwrap().is_some();
    assert!(shown("main", false) && shown("parameters", false));
    assert!(!shown("darcy-ber", false) && !shown("capacity", false) && shown("capacity", true));
    assert!(table("no-such", &published, &poisson, false).unwrap_err().to_string().contains("main, recipes"));
}

#[test]
fn what_is_written_is_read_back_and_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("uniform500.json");
    let record = evaluation("cylinder", "full", "native", 1.0);
    record.write(&path).unwrap();
    assert_eq!(Record::read(&path).unwrap(), record);
    let other = evaluation("cylinder", "full", "native", 2.0);
    std::fs::write(&path, serde_json::to_vec(&other.results).unwrap()).unwrap();
    let refused = Record::read(&path).unwrap_err().to_string();
    assert!(refused.contains("are not those summarised in"), "{refused}");
}
