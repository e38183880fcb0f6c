//! The one call from sensors to fields, and the folder that it writes.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use scope::{
    Device, Network, NetworkOptions, PosteriorOptions, Recovered, Recovery, RecoveryError, SensorSet,
    data::{
        Channel, Constants, PerChannel,
        frame::StatedFrame,
        npy::MappedArray,
        observation::{Place, Sensor, SensorError, Spot},
        schedule::SensorMix,
    },
    eval::trust::Warning,
    model::{About, Model, Preset, Quantisation, Training},
    pde::{Generator, Identity, Pde, Split, cylinder::Disk},
    recovery::{Points, Progress, Remark, ResultFolder, Uncertainty, WithoutBandsReason},
};

const SIZE: usize = 32;

fn sensors(values: &[f64]) -> SensorSet {
    let sensor = |(k, value): (usize, &f64)| Sensor {
        channel: Channel::U,
        place: Place::Index(2 + 3 * k, 5 + k),
        value: *value,
    };
    SensorSet::new("mine", values.iter().enumerate().map(sensor).collect())
}

/// An untrained network for a problem, in a file.
fn network(folder: &Path, pde: Pde) -> Recovery {
    Recovery::open(weights(folder, pde, None), &Device::cpu(1)).unwrap()
}

/// The file of such a network, which says how it was trained.
fn weights(folder: &Path, pde: Pde, training: Option<Training>) -> PathBuf {
    let config = Preset::Tiny.config(SIZE);
    let model = Model::initial(config.clone(), 1, &Device::cpu(1)).unwrap();
    let about = About { pde, constants: Constants::generated(pde), config: config.into(), training };
    let path = folder.join("model.safetensors");
    model.save(&path, &about, Quantisation::F32).unwrap();
    path
}

/// A training with few and noisy sensors, or with exact ones only.
fn trained(with_noise: bool) -> Training {
    let mix = SensorMix { noise_share: 0.25, ..SensorMix::default() };
    Training {
        recipe: "full".into(),
        draws: 1,
        planned: 1,
        generated: true,
        seed: None,
        minutes: None,
        sensors: with_noise.then_some(mix),
        problem: None,
        adapted: None,
        from: None,
    }
}

#[test]
fn a_network_that_was_trained_with_noise_is_told_of_it() {
    let root = tempfile::tempdir().unwrap();
    let recovered = |with_noise: bool, noise: Option<f64>| {
        let path = weights(root.path(), Pde::POISSON, Some(trained(with_noise)));
        let options = NetworkOptions { noise: noise.map(PerChannel::both), ..NetworkOptions::default() };
        let network = Network::open(path, &Device::cpu(1)).unwrap();
        Recovery::with_network(network, options).unwrap().recover(&sensors(&[0.001, 0.002])).unwrap()
    };
    let sigma = Constants::generated(Pde::POISSON).u.sigma;
    let exact = recovered(true, None);
    assert_ne!(recovered(true, Some(0.05 * sigma)).fields, exact.fields, "readings count less");
    assert_eq!(recovered(false, Some(0.05 * sigma)).fields, recovered(false, None).fields);
    let warned = |with_noise: bool| {
        let warnings = recovered(with_noise, Some(0.3 * sigma)).trust.warnings;
        [Warning::TakenAsExact].iter().any(|warning| warnings.contains(warning))
    };
    assert!(!warned(true) && warned(false));
    let beyond = recovered(true, Some(0.3 * sigma)).trust;
    assert!(
        beyond.warnings.iter().any(|warning| matches!(warning, Warning::NoiseBeyond { channel: "u", .. }))
    );
    assert!((beyond.noise_percent.u.unwrap().stated.unwrap() - 30.0).abs() < 1e-9);
}

#[test]
fn what_is_known_is_imposed_and_the_network_s_own_fields_are_kept_on_request() {
    let root = tempfile::tempdir().unwrap();
    let options = NetworkOptions { unprojected: true, ..NetworkOptions::default() };
    let network = Network::open(weights(root.path(), Pde::POISSON, None), &Device::cpu(1)).unwrap();
    let recovery = Recovery::with_network(network, options).unwrap();
    let recovered = recovery.recover(&sensors(&[0.001, 0.002])).unwrap();
    let own = recovered.unprojected.as_ref().unwrap();
    assert!(recovered.fields.u[..SIZE].iter().all(|x| *x == 0.0) && own.u[..SIZE].iter().any(|x| *x != 0.0));
    assert_eq!((&own.a, own.u[5 * SIZE + 5]), (&recovered.fields.a, recovered.fields.u[5 * SIZE + 5]));
    let out = root.path().join("out");
    recovered.write(&out).unwrap();
    assert!(files(&out).is_superset(&["a_unprojected.npy", "u_unprojected.npy"].map(str::to_owned).into()));
    let darcy = network_of_darcy(root.path());
    let map = darcy.two_valued.as_ref().unwrap();
    assert!(map.map.iter().all(|value| [3.0, 12.0].contains(value)));
    assert!(darcy.fields.a.iter().all(|value| (3.0..=12.0).contains(value)));
    darcy.write(root.path().join("darcy")).unwrap();
    let written = files(&root.path().join("darcy"));
    assert!(
        written.contains("a_map.npy") && !written.contains("a_probability.npy"),
        "its bands are not known"
    );
}

/// Recovers a problem of one's own with these fields, and writes its tables: `at.csv` for one pixel, and `fields.csv`.
fn with_tables(folder: &Path, name: &str, fields: &str) -> (Recovered, [String; 2]) {
    let problem =
        format!(r#"{{"name": "{name}", "fields": {fields}, "grid": {{"rows": {SIZE}, "columns": {SIZE}}}}}"#);
    let pde: Pde = serde_json::from_str(&problem).unwrap();
    let recovered = network(folder, pde).recover(&sensors(&[0.1, 0.2])).unwrap();
    let out = folder.join(name);
    let mut results = ResultFolder::create(&out, 1).unwrap();
    results.add_pixels(&recovered.method).unwrap();
    let points = Points::new(&[Place::Index(2, 5)], vec![Spot::pixel(2, 5)]);
    results.add_points(&recovered.method, points).unwrap();
    results.add(&recovered).unwrap();
    results.finish(&recovered.method, "mine", &[]).unwrap();
    let tables = ["at.csv", "fields.csv"].map(|table| fs::read_to_string(out.join(table)).unwrap());
    (recovered, tables)
}

/// Columns go by what the fields of a problem are, and by the names that it gives them, whoever declared it.
#[test]
fn tables_of_a_problem_of_ones_own_have_the_columns_of_its_fields() {
    let root = tempfile::tempdir().unwrap();
    let rock = r#"{"name": "rock", "kind": "two-valued", "values": [1.0, 4.0]}"#;
    let head = r#"{"name": "head"}"#;
    let (recovered, [at, pixels]) =
        with_tables(root.path(), "layers", &format!(r#"{{"a": {rock}, "u": {head}}}"#));
    let columns = "rock,rock_map,rock_probability,head,head_band68,head_band95";
    assert_eq!(at.lines().next(), Some(&*format!("i,j,{columns}")));
    assert_eq!(pixels.lines().next(), Some(&*format!("x,y,{columns}")));
    let map: f32 = at.lines().nth(1).unwrap().split(',').nth(3).unwrap().parse().unwrap();
    assert_eq!(map, recovered.two_valued.unwrap().map[2 * SIZE + 5]);
    let (_, [at, _]) = with_tables(root.path(), "lone", &format!(r#"{{"u": {head}}}"#));
    assert_eq!(
        at.lines().next(),
        Some("i,j,head,head_band68,head_band95"),
        "a field that is absent has no columns"
    );
}

/// What an untrained network makes of Darcy.
fn network_of_darcy(folder: &Path) -> Recovered {
    network(folder, Pde::DARCY).recover(&sensors(&[0.001, 0.002])).unwrap()
}

fn files(folder: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_network_gives_fields_trust_and_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let recovered = network(root.path(), Pde::POISSON).recover(&sensors(&[0.001, 0.002])).unwrap();
    assert_eq!((recovered.fields.a.len(), recovered.fields.u.len()), (SIZE * SIZE, SIZE * SIZE));
    assert_eq!(recovered.trust.task, "inverse");
    assert!(!recovered.trust.warnings.is_empty(), "it was never trained");
    let Uncertainty::Unknown(without) = &recovered.uncertainty else { panic!("it has no card") };
    assert_eq!((&without.reason, without.can_be_measured), (&WithoutBandsReason::NotInCard, true));
    let out = root.path().join("out");
    recovered.write(&out).unwrap();
    let expected = ["a.npy", "fields.png", "summary.json", "u.npy"];
    assert_eq!(files(&out), expected.map(str::to_owned).into());
    assert_eq!(MappedArray::open(&out.join("u.npy")).unwrap().header().shape, [SIZE, SIZE]);
    assert!(matches!(recovered.write(&out), Err(RecoveryError::Data(_))), "nothing is overwritten");
}

/// Sensors on pixels and between them, exact and noisy, with a faulty one that is left out.
#[test]
fn fields_alone_are_those_of_a_whole_recovery() {
    let root = tempfile::tempdir().unwrap();
    let mut sets = vec![sensors(&[0.001, 0.002]), sensors(&[0.003])];
    sets[1].sensors[0].place = Place::Point(0.31, 0.42);
    let many = (0..64).map(|k| Sensor {
        channel: Channel::U,
        place: Place::Index(3 + k / 8 * 3, 3 + k % 8 * 3),
        value: if k == 20 { 1.0 } else { 0.001 * (k as f64).sin() },
    });
    sets.push(SensorSet::new("faulty", many.collect()));
    let noise = Some(PerChannel::both(1e-4));
    let network = Arc::new(
        Network::open(weights(root.path(), Pde::DARCY, Some(trained(true))), &Device::cpu(1)).unwrap(),
    );
    let mut all: Vec<Recovery> = [false, true]
        .map(|drop_suspects| NetworkOptions { noise, drop_suspects, ..NetworkOptions::default() })
        .map(|options| Recovery::with_network(Arc::clone(&network), options).unwrap())
        .into();
    all.extend([false, true].map(|drop_suspects| {
        let options = PosteriorOptions { noise, drop_suspects, ..PosteriorOptions::default() };
        Recovery::exact(Pde::POISSON, SIZE, options).unwrap()
    }));
    for recovery in all {
        let problems: Vec<_> = sets.iter().map(|set| recovery.place(set).unwrap()).collect();
        let whole = recovery.recover_all(problems.clone(), &|_| true).unwrap();
        let fields = recovery.fields_of_all(problems, &|_| true).unwrap();
        assert!(fields.iter().eq(whole.iter().map(|recovered| &recovered.fields)));
    }
}

#[test]
fn fields_come_before_what_is_said_of_them() {
    let root = tempfile::tempdir().unwrap();
    let recovery = network(root.path(), Pde::POISSON);
    let first = RefCell::new(None);
    let set = sensors(&[0.001, 0.002]);
    let recovered =
        recovery.recover_fields_first(&set, &|fields| *first.borrow_mut() = Some(fields)).unwrap();
    assert_eq!(first.into_inner().as_ref(), Some(&recovered.fields));
    assert_eq!(recovered.trust, recovery.recover(&set).unwrap().trust);
}

#[test]
fn the_exact_posterior_gives_deviations_and_draws() {
    let root = tempfile::tempdir().unwrap();
    let options = PosteriorOptions { samples: 2, ..PosteriorOptions::default() };
    let recovered =
        Recovery::exact(Pde::POISSON, SIZE, options).unwrap().recover(&sensors(&[0.001, 0.002])).unwrap();
    let Uncertainty::Deviation(deviation) = &recovered.uncertainty else { panic!("it knows its deviations") };
    let point = 2 * SIZE + 5;
    assert!((recovered.fields.u[point] - 0.001).abs() < 1e-6 && deviation.u[point] < 1e-6);
    assert_eq!(recovered.samples.len(), 2);
    let out = root.path().join("out");
    recovered.write(&out).unwrap();
    assert!(files(&out).is_superset(&["a_sd.npy", "u_samples.npy"].map(str::to_owned).into()));
}

/// Readings that are written with two digits are off by more than single precision, and agree with the problem where
/// that counts as noise; who says that they are exact is told that they are not.
#[test]
fn few_digits_count_as_noise_unless_one_is_stated() {
    let identity = Identity { pde: Pde::POISSON, seed: 7, split: Split::Test, resolution: SIZE };
    let record = Generator::new(identity).unwrap().record(0).unwrap();
    let sensor = |k: usize| {
        let [i, j] = [1 + 7 * k % 30, 1 + 11 * k % 29];
        let written: f64 = format!("{:.1e}", record.fields.u[i * SIZE + j]).parse().unwrap();
        // In millimetres, where ours are metres: rounding has the user's unit too.
        Sensor { channel: Channel::U, place: Place::Index(i, j), value: 1000.0 * written }
    };
    let set = SensorSet::new("written", (0..200).map(sensor).collect());
    let scale = Some("u=1000".parse().unwrap());
    let frame = StatedFrame { scale, ..StatedFrame::default() }.of_problem(Pde::POISSON).unwrap();
    let recovered = |noise| {
        let options = PosteriorOptions { noise, frame, ..PosteriorOptions::default() };
        Recovery::exact(Pde::POISSON, SIZE, options).unwrap().recover(&set).unwrap()
    };
    let agreed = recovered(None);
    assert_eq!(agreed.trust.warnings, []);
    let said = |remark: &Remark| matches!(remark, Remark::FewDigits(PerChannel { a: None, u: Some(_) }));
    assert!(agreed.remarks.iter().any(said), "{:?}", agreed.remarks);
    let stated_exact = recovered(Some(PerChannel::both(0.0)));
    assert!(stated_exact.trust.is_contradicted());
    assert!(!stated_exact.remarks.iter().any(said));
}

#[test]
fn sensors_that_cannot_be_used_are_refused_by_number() {
    let recovery = Recovery::exact(Pde::POISSON, SIZE, PosteriorOptions::default()).unwrap();
    let refusal = |set: &SensorSet| recovery.recover(set).unwrap_err();
    assert!(matches!(refusal(&sensors(&[])), RecoveryError::NothingMeasured));
    let huge = refusal(&sensors(&[0.001, 1e300]));
    assert!(matches!(huge, RecoveryError::TooLarge { sensor: 1, channel: "u", .. }), "{huge}");
    assert!(huge.describe(|sensor| format!("line {}", sensor + 2)).starts_with("line 3: u is 1e300"));
    let nan = refusal(&sensors(&[f64::NAN]));
    assert!(matches!(nan, RecoveryError::Sensors(SensorError::NotFinite { sensor: 0, .. })), "{nan}");
    let mut with_disk = sensors(&[0.001]);
    with_disk.region = Some(Disk { cx: 10.0, cy: 10.0, r: 3.0 }.into());
    assert!(matches!(refusal(&with_disk), RecoveryError::NoGeometry(pde) if pde == Pde::POISSON));
}

#[test]
fn who_is_told_of_progress_can_stop_the_work() {
    let root = tempfile::tempdir().unwrap();
    let recovery = network(root.path(), Pde::POISSON);
    let problem = recovery.place(&sensors(&[0.001])).unwrap();
    let stop = |progress: Progress| !matches!(progress, Progress::Fields { problems: 2 });
    let two = vec![problem.clone(), problem.clone()];
    assert!(matches!(recovery.recover_all(two, &stop), Err(RecoveryError::Data(_))));
    assert_eq!(recovery.recover_all(vec![problem], &stop).unwrap().len(), 1);
}

/// The statements of a piece of code, without comments and line breaks.
fn statements(code: &str) -> String {
    let of_line = |line: &str| {
        line.split("//").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    code.lines().map(|line| of_line(line.trim_start().trim_start_matches("//!"))).collect()
}

/// Code in the README and on the page on sensors is the code that this crate's documentation compiles.
#[test]
fn documents_have_the_code_that_is_compiled() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = fs::read_to_string(here.join("src/lib.rs")).unwrap();
    let compiled = library.split("//! ```no_run\n").nth(1).unwrap().split("//! # Ok").next().unwrap();
    for document in ["README.md", "docs/sensors.md"] {
        let text = fs::read_to_string(here.join("../..").join(document)).unwrap();
        let mut blocks = text.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        assert!(blocks.any(|block| statements(block) == statements(compiled)), "{document}");
    }
}
