//! A run that was stopped and resumed is the run that was never stopped, in every bit.

use crate::small_runs;

use std::{
    fs,
    path::{Path, PathBuf},
};

use scope_data::{Constants, Dataset, StagedFolder};
use scope_engine::Device;
use scope_model::{DecoderConfig, Model, View, WeightFile};
use scope_pde::{Pde, Split};
use scope_train::{
    AdaptConfig, Callback, InitialWeights, Length, MetricsLine, Recipe, RunConfig, RunFolder, RunOptions,
    RunOutcome, RunRequest, TrainError,
};
use small_runs::{KEPT, StopAfter, make, sizes};

const OPTIONS: RunOptions = RunOptions { milestones: 4, ..small_runs::OPTIONS };

/// Few and noisy sensors, often.
const SENSORS: [&str; 3] = ["fits.scales=[1.5]", "sensors.noise_share=0.5", "sensors.few_share=0.5"];

/// The draws of the milestones before the end, of 160 draws.
const MILESTONES: [u64; 3] = [40, 80, 120];

fn milestone(folder: &Path, draws: u64) -> PathBuf {
    folder.join("milestones").join(format!("{draws:015}.safetensors"))
}

fn request(recipe: &str, settings: &[&str], adapt: Option<AdaptConfig>) -> RunRequest {
    let mut all = vec!["batch=4".to_owned(), "peak_rate=1e-3".to_owned()];
    all.extend(settings.iter().map(|setting| (*setting).to_owned()));
    let recipe = Recipe::resolve(recipe, &all).unwrap();
    let recipe = if adapt.is_some() { recipe.for_head() } else { recipe };
    let model = recipe.network(sizes().into(), Pde::POISSON, &Constants::released(Pde::POISSON)).unwrap();
    let length = Some(Length::Draws(160));
    RunRequest { recipe, model, length, seed: 3, log_every: 1, from: None, adapt }
}

/// Trains until it is finished or has taken `steps` steps; a fresh process would do the same.
fn session(folder: &Path, data: &Dataset, request: &RunRequest, threads: usize, steps: u64) -> RunOutcome {
    conducted(OPTIONS, folder, data, request, threads, steps)
}

fn conducted(
    options: RunOptions,
    folder: &Path,
    data: &Dataset,
    request: &RunRequest,
    threads: usize,
    steps: u64,
) -> RunOutcome {
    let device = Device::cpu(threads);
    let make = |config: &RunConfig| {
        let begins = config.adapt.is_some() || config.from.is_some();
        let weights = begins.then(|| Model::initial(sizes(), 7, &device).unwrap().params);
        scope_train::build_trainer(config, &device, weights)
    };
    let folder = RunFolder::open(folder, true).unwrap();
    let config = scope_train::plan(request.clone(), data, &make, 1).unwrap();
    let mut trainer = make(&config).unwrap();
    scope_train::run(&folder, &config, data, &mut trainer, options, &mut StopAfter(steps)).unwrap()
}

/// Everything a run leaves that must not depend on how it was run.
fn left_behind(folder: &Path) -> Vec<Vec<u8>> {
    let mut files = small_runs::left_behind(folder, &KEPT);
    files.extend(MILESTONES.map(|draws| fs::read(milestone(folder, draws)).unwrap()));
    files
}

#[test]
fn stopping_and_resuming_changes_no_bit() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let head = |view| {
        let head = DecoderConfig { mlp: vec![20; 3], conv: vec![6; 4] };
        Some(AdaptConfig { base: "initial".to_owned(), trained: None, view, continued: false, head })
    };
    // Forty steps: twenty of pretraining and twenty of joint training in the first two.
    let half = ["pretrain.epochs=1", "main.epochs=1"];
    let cases = [
        ("joint", request("full", &half, None)),
        ("fjvg", request("fjvg", &[&half[..], &["cap_every=4"]].concat(), None)),
        ("field", request("fo", &[], None)),
        ("muon", request("full", &[&half[..], &["optimizer=muon"]].concat(), None)),
        ("fits", request("muon-fits", &["fits.scales=[1.5]"], None)),
        ("sensors", request("muon-fits", &SENSORS, None)),
        (
            "going on",
            RunRequest {
                from: Some(InitialWeights { weights: "initial".to_owned(), trained: None, problem: None }),
                ..request("full", &[], None)
            },
        ),
        ("sparse", request("fo", &[], head(View::Sparse))),
        ("complete", request("fo", &[], head(View::Complete))),
    ];
    for (name, request) in cases {
        let [straight, stopped] =
            ["straight", "stopped"].map(|kind| root.path().join(format!("{name}-{kind}")));
        assert_eq!(session(&straight, &data, &request, 2, u64::MAX), RunOutcome::Finished);
        assert_eq!(session(&stopped, &data, &request, 1, 13), RunOutcome::Interrupted);
        assert_eq!(session(&stopped, &data, &request, 3, 20), RunOutcome::Interrupted);
        assert_eq!(session(&stopped, &data, &request, 2, u64::MAX), RunOutcome::Finished);
        assert!(left_behind(&straight) == left_behind(&stopped), "{name}");
        assert_eq!(session(&stopped, &data, &request, 2, u64::MAX), RunOutcome::WasFinished);
    }
}

#[test]
fn few_and_noisy_sensors_are_part_of_what_a_run_was_begun_with() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let folder = root.path().join("run");
    session(&folder, &data, &request("muon-fits", &SENSORS, None), 1, 2);
    let begun = RunConfig::read(&folder.join("config.toml")).unwrap();
    let device = Device::cpu(1);
    let make = |config: &RunConfig| scope_train::build_trainer(config, &device, None);
    let refused = |settings: &[&str]| {
        let now = scope_train::plan(request("muon-fits", settings, None), &data, &make, 1).unwrap();
        begun.require_same(&now, &folder).map_err(|error| error.to_string())
    };
    assert_eq!(refused(&SENSORS), Ok(()));
    let without = refused(&SENSORS[..1]).unwrap_err();
    assert!(without.contains("was begun with recipe.sensors"), "{without}");
    let other = refused(&[&SENSORS[..2], &["sensors.few_share=0.25"]].concat()).unwrap_err();
    assert!(other.contains("was begun with recipe.sensors.few_share = 0.5"), "{other}");
}

#[test]
fn milestones_are_models_of_their_moment_and_stay_as_they_are() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let folder = root.path().join("run");
    let request = request("fo", &[], None);
    assert_eq!(session(&folder, &data, &request, 2, 15), RunOutcome::Interrupted);
    let trained = |path: &Path| {
        let training = WeightFile::read(path).unwrap().about.training.clone().unwrap();
        (training.draws, training.planned)
    };
    assert_eq!(trained(&milestone(&folder, 40)), (40, 160));
    // A process that ended between a milestone's model and its checkpoint has left the model; other bytes show who
    // wrote it.
    fs::write(milestone(&folder, 80), "left alone").unwrap();
    assert_eq!(session(&folder, &data, &request, 2, u64::MAX), RunOutcome::Finished);
    assert_eq!(fs::read(milestone(&folder, 80)).unwrap(), b"left alone");
    assert_eq!(trained(&milestone(&folder, 120)), (120, 160));
    assert_eq!(trained(&folder.join("model.safetensors")), (160, 160));
    assert!(!milestone(&folder, 160).exists(), "the end is model.safetensors");
}

#[test]
fn the_checkpoint_that_a_run_goes_on_from_becomes_the_milestone_that_it_is() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let ([straight, asked_later], request) =
        (["straight", "later"].map(|name| root.path().join(name)), request("fo", &[], None));
    session(&straight, &data, &request, 2, u64::MAX);
    // Forty draws, when nobody has asked for milestones.
    let without = RunOptions { milestones: 0, ..OPTIONS };
    assert_eq!(conducted(without, &asked_later, &data, &request, 2, 10), RunOutcome::Interrupted);
    assert!(!milestone(&asked_later, 40).exists());
    assert_eq!(session(&asked_later, &data, &request, 2, u64::MAX), RunOutcome::Finished);
    assert!(left_behind(&straight) == left_behind(&asked_later));
    let kept = |run: &Path| fs::read(run.join(format!("state/{:015}/checkpoint.json", 40))).unwrap();
    assert!(kept(&straight) == kept(&asked_later), "its checkpoint is kept for good");
}

#[test]
fn a_run_whose_last_save_was_cut_short_gets_its_model() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let folder = root.path().join("run");
    let request = request("full", &["pretrain.epochs=1", "main.epochs=1"], None);
    assert_eq!(session(&folder, &data, &request, 2, 20), RunOutcome::Interrupted);
    let model = folder.join("model.safetensors");
    let stale = fs::read(&model).unwrap();
    assert_eq!(session(&folder, &data, &request, 2, u64::MAX), RunOutcome::Finished);
    let last = fs::read(&model).unwrap();
    let strays = [".model.safetensors.123.partial", "milestones/.000000000000040.safetensors.123.partial"]
        .map(|name| folder.join(name));
    let theirs = [".notes.txt.123.partial", "milestones/.notes.123.partial"].map(|name| folder.join(name));
    theirs.iter().for_each(|file| fs::write(file, "precious").unwrap());
    for left in [Some(stale), Some(b"half".to_vec()), None] {
        match left {
            Some(bytes) => fs::write(&model, bytes).unwrap(),
            None => fs::remove_file(&model).unwrap(),
        }
        strays.iter().for_each(|stray| fs::write(stray, "half").unwrap());
        assert_eq!(session(&folder, &data, &request, 2, u64::MAX), RunOutcome::ModelWritten);
        assert!(fs::read(&model).unwrap() == last);
        assert!(strays.iter().all(|stray| !stray.exists()), "what killed processes left is removed");
        assert!(theirs.iter().all(|file| file.exists()), "and nothing else");
        assert_eq!(session(&folder, &data, &request, 2, u64::MAX), RunOutcome::WasFinished);
    }
}

/// Keeps what it is told, with the draws of the run's model at that moment.
struct Witness {
    model: PathBuf,
    told: Vec<(String, u64)>,
}

impl Callback for Witness {
    fn on_warning(&mut self, text: &str) {
        let trained = WeightFile::read(&self.model).unwrap().about.training.clone().unwrap();
        self.told.push((text.to_owned(), trained.draws));
    }
}

/// Goes on with a run in this process.
fn go_on(folder: &Path, data: &Dataset, callback: &mut dyn Callback) -> Result<RunOutcome, TrainError> {
    let config = RunConfig::read(&folder.join("config.toml")).unwrap();
    let mut trainer = scope_train::build_trainer(&config, &Device::cpu(2), None).unwrap();
    let open = RunFolder::open(folder, true).unwrap();
    scope_train::run(&open, &config, data, &mut trainer, OPTIONS, callback)
}

#[test]
fn a_damaged_older_checkpoint_is_passed_over_and_named() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let [straight, folder] = ["straight", "run"].map(|name| root.path().join(name));
    let request = request("fo", &[], None);
    session(&straight, &data, &request, 2, u64::MAX);
    for steps in [3, 3] {
        session(&folder, &data, &request, 2, steps);
    }
    let marker = folder.join("state").join(format!("{:015}", 12)).join("checkpoint.json");
    fs::write(&marker, "spoilt").unwrap();
    let mut witness = Witness { model: folder.join("model.safetensors"), told: Vec::new() };
    assert_eq!(go_on(&folder, &data, &mut witness).unwrap(), RunOutcome::Finished);
    let [(said, draws)] = &witness.told[..] else { panic!("said once: {:?}", witness.told) };
    assert!(said.contains("000000000000012") && said.contains("passed over and stays"), "{said}");
    assert_eq!(*draws, 40, "the model is written before older checkpoints are removed");
    assert_eq!(fs::read(&marker).unwrap(), b"spoilt");
    assert!(left_behind(&straight) == left_behind(&folder));
}

/// Names that are like ours, and are not.
#[cfg(unix)]
#[test]
fn what_others_keep_beside_checkpoints_stays_and_does_not_matter() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let [straight, folder] = ["straight", "run"].map(|name| root.path().join(name));
    let request = request("fo", &[], None);
    session(&straight, &data, &request, 2, u64::MAX);
    session(&folder, &data, &request, 2, 5);
    let state = folder.join("state");
    let own = state.join(format!("{:015}", 20));
    let files = ["123.txt", "000000000000012.txt", "40", "000000000000008"].map(|name| state.join(name));
    files.iter().for_each(|file| fs::write(file, "precious").unwrap());
    let folders =
        ["000040.bak", "000000000000016.bak", "000040", "+24", "notes.partial"].map(|name| state.join(name));
    for copy in &folders {
        fs::create_dir(copy).unwrap();
        for name in ["state.safetensors", "checkpoint.json"] {
            fs::copy(own.join(name), copy.join(name)).unwrap();
        }
    }
    // An older checkpoint on another disk, and a note beside one of ours.
    let elsewhere = root.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("checkpoint.json"), "precious").unwrap();
    std::os::unix::fs::symlink(&elsewhere, state.join("000000000000004")).unwrap();
    fs::write(own.join("notes.txt"), "precious").unwrap();
    assert_eq!(session(&folder, &data, &request, 2, u64::MAX), RunOutcome::Finished);
    assert!(files.iter().all(|file| fs::read(file).unwrap() == b"precious"));
    assert!(folders.iter().all(|copy| copy.join("checkpoint.json").is_file()));
    assert!(elsewhere.join("checkpoint.json").is_file() && state.join("000000000000004").is_symlink());
    let kept: Vec<_> = fs::read_dir(&own).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["notes.txt"], "the checkpoint was removed, the note was not");
    let model = |run: &Path| fs::read(run.join("model.safetensors")).unwrap();
    assert!(model(&straight) == model(&folder));
}

#[test]
fn what_killed_processes_left_of_checkpoints_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let folder = root.path().join("run");
    let request = request("fo", &[], None);
    session(&folder, &data, &request, 2, 5);
    let state = folder.join("state");
    let at = |name: &str| state.join(name);
    let own = at("000000000000020");
    // Killed while it was removed, and while it was written.
    fs::create_dir(at("000000000000008")).unwrap();
    fs::copy(own.join("state.safetensors"), at("000000000000008/state.safetensors")).unwrap();
    let mut staged = StagedFolder::create(&at("000000000000032")).unwrap();
    staged.write("state.safetensors", b"half").unwrap();
    let list = fs::read(at("000000000000032.partial/.scope-unfinished")).unwrap();
    drop(staged);
    fs::create_dir(at("000000000000032.partial")).unwrap();
    fs::write(at("000000000000032.partial/state.safetensors"), "half").unwrap();
    fs::write(at("000000000000032.partial/.scope-unfinished"), list).unwrap();
    fs::write(at(".000000000000036.scope-lock"), "123\n").unwrap();
    let mut told = Told(Vec::new());
    assert_eq!(go_on(&folder, &data, &mut told).unwrap(), RunOutcome::Interrupted);
    let left: Vec<_> = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!((left, told.0), (vec!["000000000000020".into()], Vec::new()));
}

/// A checkpoint under the name of another would be taken for it.
#[test]
fn a_checkpoint_under_another_s_name_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let folder = root.path().join("run");
    session(&folder, &data, &request("fo", &[], None), 2, 5);
    let state = folder.join("state");
    fs::rename(state.join("000000000000020"), state.join("000000000000028")).unwrap();
    let refused = go_on(&folder, &data, &mut Told(Vec::new())).unwrap_err().to_string();
    assert!(refused.contains("it is of 20 draws"), "{refused}");
}

#[cfg(unix)]
#[test]
fn a_log_that_is_a_link_is_refused_and_what_it_leads_to_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let folder = root.path().join("run");
    session(&folder, &data, &request("fo", &[], None), 2, 5);
    let diary = root.path().join("diary.txt");
    fs::write(&diary, "precious".repeat(1000)).unwrap();
    let metrics = folder.join("metrics.jsonl");
    fs::remove_file(&metrics).unwrap();
    std::os::unix::fs::symlink(&diary, &metrics).unwrap();
    let refused = go_on(&folder, &data, &mut Told(Vec::new())).unwrap_err().to_string();
    assert!(refused.contains("metrics.jsonl is a link"), "{refused}");
    assert_eq!(fs::read_to_string(&diary).unwrap(), "precious".repeat(1000));
}

/// Asks to stop at once, and keeps what it is told.
struct Told(Vec<String>);

impl Callback for Told {
    fn on_warning(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
    fn should_stop(&self) -> bool {
        true
    }
}

#[test]
fn a_log_that_is_lost_or_cut_costs_its_lines_and_not_the_run() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let request = request("fo", &[], None);
    let straight = root.path().join("straight");
    session(&straight, &data, &request, 2, u64::MAX);
    for (name, kept) in [("cut", Some(2)), ("lost", None)] {
        let folder = root.path().join(name);
        session(&folder, &data, &request, 2, 5);
        let metrics = folder.join("metrics.jsonl");
        let whole = fs::read_to_string(&metrics).unwrap();
        match kept {
            // In the middle of the line after those.
            Some(lines) => fs::write(&metrics, &whole[..whole.len() * (2 * lines + 1) / 10]).unwrap(),
            None => fs::remove_file(&metrics).unwrap(),
        }
        let mut told = Told(Vec::new());
        go_on(&folder, &data, &mut told).unwrap();
        assert!(told.0.len() == 1 && told.0[0].contains("some lines are lost"), "{:?}", told.0);
        assert_eq!(session(&folder, &data, &request, 2, u64::MAX), RunOutcome::Finished);
        assert_eq!(MetricsLine::read_all(&metrics).unwrap().len(), 35 + kept.unwrap_or(0));
        let [own, other] = [&folder, &straight].map(|run| fs::read(run.join("model.safetensors")).unwrap());
        assert!(own == other, "{name}");
    }
}

#[test]
fn damaged_checkpoints_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let folder = root.path().join("run");
    let request = request("fo", &[], None);
    session(&folder, &data, &request, 2, 5);
    let state = folder.join("state").join(format!("{:015}", 20));
    let refused = |what: String| {
        let open = RunFolder::open(&folder, true).unwrap();
        let device = Device::cpu(1);
        let make = |config: &RunConfig| scope_train::build_trainer(config, &device, None);
        let config = scope_train::plan(request.clone(), &data, &make, 1).unwrap();
        let mut trainer = make(&config).unwrap();
        let outcome = scope_train::run(&open, &config, &data, &mut trainer, OPTIONS, &mut StopAfter(1));
        let message = outcome.expect_err(&what).to_string();
        assert!(message.contains("state/000000000000020"), "{what}: {message}");
    };
    for name in ["state.safetensors", "checkpoint.json"] {
        let path = state.join(name);
        let whole = fs::read(&path).unwrap();
        for k in 0..500_usize {
            let mut damaged = whole.clone();
            let at = k * 7_919 % whole.len();
            damaged[at] ^= 1 << (k % 8);
            fs::write(&path, &damaged).unwrap();
            refused(format!("{name}, byte {at}"));
        }
        for k in 0..50 {
            fs::write(&path, &whole[..whole.len() * k / 50]).unwrap();
            refused(format!("{name}, cut at {k}/50"));
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(session(&folder, &data, &request, 2, u64::MAX), RunOutcome::Finished);
}
