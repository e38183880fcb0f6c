//! The one call from sensors to fields, and the folder that it writes.

use std::{collections::BTreeSet, fs, path::Path};

use scope::{
    Device, ExactOptions, Recovery, RecoveryError, SensorSet,
    data::{
        Channel, Constants,
        npy::MappedArray,
        observation::{Place, Sensor, SensorError},
    },
    model::{About, Model, Preset, Quantisation},
    pde::{Pde, cylinder::Disk},
    recovery::{Progress, Uncertainty, WithoutBandsReason},
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
    let config = Preset::Tiny.config(SIZE);
    let model = Model::initial(config.clone(), 1, &Device::cpu(1)).unwrap();
    let about = About { pde, constants: Constants::generated(pde), config: config.into(), training: None };
    let path = folder.join("model.safetensors");
    model.save(&path, &about, Quantisation::F32).unwrap();
    Recovery::open(path, &Device::cpu(1)).unwrap()
}

fn files(folder: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_network_gives_fields_trust_and_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let recovered = network(root.path(), Pde::Poisson).recover(&sensors(&[0.001, 0.002])).unwrap();
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

#[test]
fn the_exact_posterior_gives_deviations_and_draws() {
    let root = tempfile::tempdir().unwrap();
    let options = ExactOptions { resolution: SIZE, samples: 2, ..ExactOptions::default() };
    let recovered =
        Recovery::exact(Pde::Poisson, options).unwrap().recover(&sensors(&[0.001, 0.002])).unwrap();
    let Uncertainty::Deviation(deviation) = &recovered.uncertainty else { panic!("it knows its deviations") };
    let point = 2 * SIZE + 5;
    assert!((recovered.fields.u[point] - 0.001).abs() < 1e-6 && deviation.u[point] < 1e-6);
    assert_eq!(recovered.samples.len(), 2);
    let out = root.path().join("out");
    recovered.write(&out).unwrap();
    assert!(files(&out).is_superset(&["a_sd.npy", "u_samples.npy"].map(str::to_owned).into()));
}

#[test]
fn sensors_that_cannot_be_used_are_refused_by_number() {
    let recovery =
        Recovery::exact(Pde::Poisson, ExactOptions { resolution: SIZE, ..Default::default() }).unwrap();
    let refusal = |set: &SensorSet| recovery.recover(set).unwrap_err();
    assert!(matches!(refusal(&sensors(&[])), RecoveryError::NothingMeasured));
    let huge = refusal(&sensors(&[0.001, 1e300]));
    assert!(matches!(huge, RecoveryError::TooLarge { sensor: 1, channel: "u", .. }), "{huge}");
    assert!(huge.describe(|sensor| format!("line {}", sensor + 2)).starts_with("line 3: u is 1e300"));
    let nan = refusal(&sensors(&[f64::NAN]));
    assert!(matches!(nan, RecoveryError::Sensors(SensorError::NotFinite { sensor: 0, .. })), "{nan}");
    let mut with_disk = sensors(&[0.001]);
    with_disk.disk = Some(Disk { cx: 10.0, cy: 10.0, r: 3.0 });
    assert!(matches!(refusal(&with_disk), RecoveryError::NoGeometry(pde) if pde == Pde::Poisson));
}

#[test]
fn who_is_told_of_progress_can_stop_the_work() {
    let root = tempfile::tempdir().unwrap();
    let recovery = network(root.path(), Pde::Poisson);
    let problem = recovery.place(&sensors(&[0.001])).unwrap();
    let stop = |progress: Progress| !matches!(progress, Progress::Fields { problems: 2 });
    let two = vec![problem.clone(), problem.clone()];
    assert!(matches!(recovery.recover_all(two, &stop), Err(RecoveryError::Data(_))));
    assert_eq!(recovery.recover_all(vec![problem], &stop).unwrap().len(), 1);
}

/// The README and the page on sensors show the call that this crate's documentation tests.
#[test]
fn documents_show_the_call_that_is_tested() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = fs::read_to_string(here.join("src/lib.rs")).unwrap();
    let call = library.split("//! ```no_run\n").nth(1).unwrap().split("//! # Ok").next().unwrap();
    let call: String =
        call.lines().map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start())).collect();
    for document in ["README.md", "docs/sensors.md"] {
        let text = fs::read_to_string(here.join("../..").join(document)).unwrap();
        assert!(text.contains(&format!("```rust\n{call}```")), "{document} does not show\n{call}");
    }
}
