//! Tables from made-up evaluations, as they are written. After a change that is meant:
//! `UPDATE=1 cargo test -p scope-eval`.

use std::{collections::BTreeMap, path::PathBuf};

use scope_data::Channel;
use scope_eval::{
    Budget, DataIdentity, MaskIdentity, Measure, MethodIdentity, MethodKind, PerRecord, Provenance, Record,
    Scores,
    report::{Choice, Format, Published, Runs, TableName, learning_charts, tables},
};
use scope_pde::{Pde, Split, descriptor::Descriptor, elliptic::POISSON};

/// An evaluation whose errors are round numbers about `scale`.
fn evaluation(pde: &str, recipe: &str, decoder: &str, scale: f64) -> Record {
    let head_draws = (decoder != "native").then_some(320_000);
    let method = MethodIdentity {
        kind: MethodKind::Scope,
        model: Some("small".to_owned()),
        recipe: Some(recipe.to_owned()),
        decoder: Some(decoder.to_owned()),
        parameters: 6_786_178,
        blake3: Some(format!("{recipe}{decoder}{pde}0123456789")),
        training: Some(Budget {
            draws: 952_288,
            head_draws,
            planned: Some(if recipe == "fo" { 1_000_000 } else { 952_288 }),
            cut_short: recipe == "fo",
            generated: true,
            seed: Some(1),
            minutes: Some(4.2),
        }),
    };
    let data = DataIdentity {
        blake3: format!("{pde}-records"),
        split: Split::Test,
        origin: "generated: fresh draws from the released distribution".to_owned(),
        generated: true,
        resolution: 128.into(),
        trained_on: false,
    };
    let masks = MaskIdentity { seed: 20_261_013, ..MaskIdentity::default() };
    let mut record = Record::new(Provenance {
        pde: pde.parse().unwrap(),
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
                format!("{task}/{layout}").parse().unwrap(),
                scores(pde, scale, if task == "forward" { 1.0 } else { 3.0 }),
            );
        }
    }
    record
}

fn scores(pde: &str, scale: f64, factor: f64) -> Scores {
    let values =
        |by: f64| -> PerRecord { [0.75, 1.0, 1.125, 1.25].map(|x| Some(scale * factor * by * x)).to_vec() };
    let mut measures = BTreeMap::from([(Measure::A, values(2.0)), (Measure::U, values(1.0))]);
    measures.insert(Measure::Absolute(Channel::A), values(0.01));
    measures.insert(Measure::Absolute(Channel::U), values(0.01));
    if pde == "darcy" {
        measures.insert(Measure::BitErrorRate, values(0.5));
    }
    if pde == "poisson" {
        for (measure, share) in
            [("a/within68", 67.5), ("a/within95", 94.75), ("u/within68", 70.0), ("u/within95", 95.5)]
        {
            measures.insert(
                measure.parse().unwrap(),
                vec![Some(share - factor), Some(share + factor), None, Some(share)],
            );
        }
    }
    if pde == "cylinder" {
        // A zero target: no relative error, but an absolute one.
        measures.get_mut(&Measure::U).unwrap()[2] = None;
    }
    Scores { measures, masks: format!("masks of {pde}") }
}

fn runs() -> Runs {
    Runs::gather(vec![
        evaluation("poisson", "full", "native", 2.0),
        evaluation("poisson", "full", "sp-10m", 1.999),
        evaluation("poisson", "fo", "native", 2.5),
        evaluation("darcy", "full", "native", 3.0),
        evaluation("cylinder", "full", "native", 1.0),
    ])
}

/// A problem that the paper has not.
static SIXTH: Descriptor = Descriptor { name: "sixth", title: "Sixth", ..POISSON };

#[test]
fn a_problem_of_ones_own_has_columns_after_the_paper_s() {
    Pde::declare(&SIXTH).unwrap();
    let runs = Runs::gather(vec![evaluation("sixth", "full", "native", 2.0)]);
    let tables = tables(&Choice::WithOurs, &Published::read().unwrap(), &runs).unwrap();
    let text = Format::Markdown.write(&tables);
    assert!(text.contains("| Cylinder fwd | Cylinder inv | Sixth fwd | Sixth inv |"), "{text}");
    assert!(text.contains("| — | — | 2.0625 | 12.3750 |"), "{text}");
}

#[test]
fn tables_are_written_as_they_were() {
    let published = Published::read().unwrap();
    let runs = runs();
    let tables = tables(&Choice::All, &published, &runs).unwrap();
    assert_eq!(tables.len(), TableName::ALL.len(), "each has rows");
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
fn orderings_over_seeds_have_the_deviation_of_trainings() {
    let seeded = |recipe: &str, seed: u64, factor: f64| {
        let mut record = evaluation("poisson", recipe, "native", factor);
        let method = &mut record.results.identity.method;
        method.training.as_mut().unwrap().seed = Some(seed);
        method.blake3 = Some(format!("{recipe} of seed {seed}"));
        record
    };
    let written = |records: Vec<Record>| {
        let choice = Choice::Named(vec![TableName::Orderings]);
        let tables = tables(&choice, &Published::read().unwrap(), &Runs::gather(records)).unwrap();
        Format::Csv.write(&tables)
    };
    let first = || vec![seeded("full", 1, 2.0), seeded("fo", 1, 2.5)];
    assert!(!written(first()).contains("seeds"), "one seed has no deviation");
    let text = written([first(), vec![seeded("full", 2, 2.25), seeded("fo", 2, 2.375)]].concat());
    let of = |line: &&str| line.contains("Full - FO") && line.contains(",Poisson,ours: forward,");
    let cells = |line: &str| -> Vec<f64> {
        line.rsplit(',')
            .take(3)
            .filter_map(|cell| cell.parse().ok())
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect()
    };
    let rows: Vec<Vec<f64>> = text.lines().filter(of).map(cells).collect();
    let [[one], [two], [mean, sd]] = [&rows[0][..], &rows[1][..], &rows[2][..]] else { panic!("{rows:?}") };
    assert!((mean - (one + two) / 2.0).abs() < 1e-9 && (sd - (one - two).abs() / 2_f64.sqrt()).abs() < 1e-9);
    assert!(text.contains("over 2 seeds"));
}

#[test]
fn tables_without_a_row_of_ours_are_left_out_unless_asked_for() {
    let published = Published::read().unwrap();
    let poisson = Runs::gather(vec![evaluation("poisson", "full", "native", 2.0)]);
    let shown = |choice: Choice| -> Vec<TableName> {
        tables(&choice, &published, &poisson).unwrap().iter().map(|table| table.name).collect()
    };
    let ours = shown(Choice::WithOurs);
    assert!(ours.contains(&TableName::Main) && ours.contains(&TableName::Parameters), "{ours:?}");
    assert!(!ours.contains(&TableName::DarcyBer) && !ours.contains(&TableName::Capacity), "{ours:?}");
    assert_eq!(shown(Choice::Named(vec![TableName::Capacity])), [TableName::Capacity]);
}

/// The rows of a table, as lines of CSV: a line a figure.
fn lines(name: TableName, runs: &Runs) -> Vec<String> {
    let tables = tables(&Choice::Named(vec![name]), &Published::read().unwrap(), runs).unwrap();
    Format::Csv.write(&tables).lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn without_runs_all_tables_of_the_paper_have_its_rows() {
    let none = Runs::gather(Vec::new());
    let shown = tables(&Choice::All, &Published::read().unwrap(), &none).unwrap();
    let names: Vec<TableName> = shown.iter().map(|table| table.name).collect();
    let ours = [TableName::Bands, TableName::Runs];
    assert_eq!(names, TableName::ALL.into_iter().filter(|name| !ours.contains(name)).collect::<Vec<_>>());
    for format in Format::ALL {
        assert!(format.write(&shown).contains("1.6804"), "Poisson, Full, forward u");
    }
}

#[test]
fn problems_without_a_run_of_ours_keep_the_papers_rows() {
    let poisson = Runs::gather(vec![evaluation("poisson", "full", "sp-10m", 2.0)]);
    for name in [TableName::Channels, TableName::Capacity] {
        for pde in ["Darcy", "Poisson", "Helmholtz", "NS", "Cylinder"] {
            let of_paper = format!("{},{pde},the paper: SP-10M,", name.name());
            let lines = lines(name, &poisson);
            assert!(lines.iter().any(|line| line.starts_with(&of_paper)), "{of_paper} in {lines:#?}");
            let ours = lines.iter().any(|line| line.contains(&format!(",{pde},ours: ")));
            assert_eq!(ours, pde == "Poisson", "{pde}");
        }
    }
    let paired = |runs: &Runs| lines(TableName::Paired, runs).len();
    assert_eq!(paired(&poisson), paired(&Runs::gather(Vec::new())));
}

#[test]
fn darcys_classification_has_all_ten_rows_of_the_paper() {
    let rates: Vec<String> = lines(TableName::DarcyBer, &Runs::gather(Vec::new()));
    let rates: Vec<&String> = rates.iter().filter(|line| line.contains("bit error rate")).collect();
    assert_eq!(rates.len(), 10, "{rates:#?}");
    for (method, rate, sd) in
        [("DeepONet + G", 5.8548, 2.1429), ("FNO", 3.6251, 1.7206), ("SP-15M", 1.5498, 0.7717)]
    {
        let row = format!(",{method},");
        let figure = format!("{rate},{sd}");
        assert!(
            rates.iter().any(|line| line.contains(&row) && line.contains(&figure)),
            "{method}: {rates:#?}"
        );
    }
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

/// A model of Poisson or Darcy after some of 4,000 draws.
fn moment(pde: &str, draws: u64, change: impl Fn(&mut Budget)) -> Record {
    let mut record = evaluation(pde, "full", "native", 40_000.0 / draws as f64);
    let method = &mut record.results.identity.method;
    let budget = method.training.as_mut().unwrap();
    *budget = Budget { draws, planned: Some(4_000), cut_short: draws < 4_000, ..budget.clone() };
    change(budget);
    method.blake3 = Some(format!("{pde} after {draws} of {:?}, {:?}", budget.planned, budget.seed));
    record
}

fn figures(records: Vec<Record>) -> Vec<(String, String)> {
    let charts = learning_charts(&Published::read().unwrap(), &Runs::gather(records));
    charts.into_iter().map(|(name, chart)| (name, chart.draw().to_svg().unwrap())).collect()
}

#[test]
fn three_moments_of_a_training_make_a_curve_beside_the_papers_endpoints() {
    let of = |pde| [2_000, 4_000, 1_000].map(|draws| moment(pde, draws, |_| ()));
    let drawn = figures([of("poisson"), of("darcy")].concat());
    let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "draws-darcy-forward-u",
        "draws-darcy-inverse-ber",
        "draws-poisson-forward-u",
        "draws-poisson-inverse-a",
    ];
    assert_eq!(names, expected);
    let svg = &drawn[2].1;
    for text in ["Full (small)", "the paper: Full, 1.68", "the paper: FO, 1.83", "1000", "50"] {
        assert_eq!(svg.matches(&format!(">{text}<")).count(), 1, "{text} in {svg}");
    }
    assert!(svg.contains(">Poisson, uniform/500: forward u, 4 records<"));
    let places = dots(svg);
    assert_eq!(places.len(), 3);
    assert!(places.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "right, and down as errors fall: {places:?}");
}

/// Where the dots of the curves are, from their upper left corner.
fn dots(svg: &str) -> Vec<(f64, f64)> {
    let paths = svg.split("<path d=\"M").filter(|path| path.contains("stroke-width=\"5\""));
    let place = |path: &str| {
        let mut words = path.split(' ').map(|word| word.parse().unwrap());
        (words.next().unwrap(), words.next().unwrap())
    };
    paths.map(place).collect()
}

#[test]
fn curves_are_means_over_the_records_that_all_points_have() {
    let of = |[a, b, c]: [usize; 3]| {
        let moments = [(1_000, a), (2_000, b), (4_000, c)].map(|(draws, records)| {
            let mut record = moment("poisson", draws, |_| ());
            for (condition, measures) in std::mem::take(&mut record.values) {
                let first = |(measure, values): (Measure, PerRecord)| (measure, values[..records].to_vec());
                let measures = measures.into_iter().map(first).collect();
                record.add(condition, Scores { measures, masks: "masks".to_owned() });
            }
            record
        });
        figures(moments.to_vec()).remove(0).1
    };
    let few = of([2, 2, 2]);
    let some = of([2, 2, 4]);
    assert!(some.contains("forward u, 2 records<"));
    assert_eq!(dots(&few), dots(&some));
    assert_ne!(dots(&few), dots(&of([4, 4, 4])));
}

#[test]
fn other_evaluations_make_no_curve() {
    let plain = |draws| moment("poisson", draws, |_| ());
    assert!(figures(vec![plain(1_000), plain(4_000)]).is_empty(), "two");
    assert!(
        figures(vec![plain(1_000), plain(4_000), moment("darcy", 2_000, |_| ())]).is_empty(),
        "another problem"
    );
    let seed = moment("poisson", 2_000, |budget| budget.seed = Some(2));
    assert!(figures(vec![plain(1_000), plain(4_000), seed]).is_empty(), "another seed");
    let planned = moment("poisson", 2_000, |budget| budget.planned = Some(8_000));
    assert!(figures(vec![plain(1_000), plain(4_000), planned]).is_empty(), "another schedule");
    let mut records = plain(2_000);
    records.results.identity.data.blake3 = "others".to_owned();
    assert!(figures(vec![plain(1_000), plain(4_000), records]).is_empty(), "other records");
    let whole = |draws| {
        moment("poisson", draws, |budget| {
            (budget.planned, budget.cut_short) = (Some(draws), false);
        })
    };
    let drawn = figures([1_000, 2_000, 4_000].map(whole).to_vec());
    assert!(drawn.len() == 2 && drawn[0].1.contains(">Full (small), finished runs<"), "finished runs do");
    let timed = |draws| {
        let mut record = whole(draws);
        let budget = record.results.identity.method.training.as_mut().unwrap();
        budget.minutes = Some(draws as f64 / 1_000.0);
        record
    };
    let drawn = figures([1_000, 2_000, 4_000].map(timed).to_vec());
    let names: Vec<&str> = drawn.iter().map(|(name, _)| name.as_str()).collect();
    let both = ["draws-poisson-forward-u", "minutes-poisson-forward-u"];
    assert_eq!(names[..2], both, "runs that were given times have curves against minutes too");
    assert!(drawn[1].1.contains(">minutes of training<"));
}

#[test]
fn tables_show_the_latest_of_each_training() {
    let shorter =
        moment("poisson", 3_000, |budget| (budget.planned, budget.cut_short) = (Some(3_000), false));
    let records =
        [[1_000, 4_000, 2_000].map(|draws| moment("poisson", draws, |_| ())).to_vec(), vec![shorter]]
            .concat();
    let runs = Runs::gather(records);
    let rows = |name: TableName| -> Vec<String> {
        lines(name, &runs).into_iter().filter(|line| line.contains("draws")).collect()
    };
    let told = |name: TableName| {
        [1_000, 2_000, 3_000, 4_000]
            .map(|draws| rows(name).iter().any(|line| line.contains(&format!("{draws} draws"))))
    };
    assert_eq!(told(TableName::Main), [false, false, true, true]);
    assert_eq!(told(TableName::Recipes), [false, false, true, true]);
    assert_eq!(told(TableName::Runs), [true; 4]);
}
