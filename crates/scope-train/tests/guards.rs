//! What stops a run, and what only raises a warning.

use crate::small_runs;

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use scope_data::{Dataset, Request, generate};
use scope_engine::{Device, EngineError, Tape, Tensor, Var};
use scope_model::{FieldModel, FieldNetwork, Model, Network, Operator, Preset};
use scope_pde::{Identity, Pde, Split};
use scope_train::{
    Callback, Conditions, DataLoader, Length, MetricsLine, Recipe, RunConfig, RunFolder, RunOptions,
    RunOutcome, RunRequest, SamplerConfig, TrainError, Trainer,
};
use small_runs::{Quiet, make};

const OPTIONS: RunOptions = RunOptions { threads: 1, milestones: 4, ..small_runs::OPTIONS };

/// The batches that steps are compared on.
const SAMPLER: SamplerConfig =
    SamplerConfig { conditions: Conditions::Mixed, sensors: None, seed: 3, batch: 4, first: 0 };

/// A network that is shown contexts which are not finite in one of its passes.
#[derive(Debug)]
struct Poisoned {
    network: Network,
    passes: AtomicU64,
    poisoned_pass: u64,
}

impl FieldNetwork for Poisoned {
    fn forward(&self, tape: &Tape<'_>, context: &Var) -> Result<Var, EngineError> {
        if self.passes.fetch_add(1, Ordering::Relaxed) + 1 != self.poisoned_pass {
            return self.network.forward(tape, context);
        }
        let poison = vec![f32::NAN; context.shape().iter().product()];
        let poison = Tensor::from_slice(tape.device(), context.shape(), &poison)?;
        self.network.forward(tape, &tape.input(poison))
    }
}

/// A trainer whose loss is not finite at one of its steps.
fn poisoned(config: &RunConfig, poisoned_step: u64) -> Trainer {
    let Model { config: sizes, network, params } = model(config);
    let network = Poisoned { network, passes: AtomicU64::new(0), poisoned_pass: poisoned_step };
    Trainer::field(FieldModel { architecture: sizes.into(), network: Box::new(network), params }).unwrap()
}

fn configuration(data: &Dataset, draws: u64) -> RunConfig {
    let settings = ["batch=4".to_owned(), "peak_rate=1e-4".to_owned()];
    let recipe = Recipe::resolve("fo", &settings).unwrap();
    let model = Preset::Tiny.config(32).into();
    let length = Some(Length::Draws(draws));
    let request = RunRequest { recipe, model, length, seed: 3, log_every: 1, from: None, adapt: None };
    scope_train::plan(request, data, &|_| Err(TrainError::Request("not timed".to_owned())), 1).unwrap()
}

fn model(config: &RunConfig) -> Model {
    Model::initial(config.model.scope().unwrap().clone(), config.seed, &Device::cpu(2)).unwrap()
}

fn trainer(config: &RunConfig) -> Trainer {
    Trainer::scope(model(config), config.stages[0].objective).unwrap()
}

fn newest_state(folder: &Path) -> Vec<u8> {
    let mut states: Vec<_> =
        fs::read_dir(folder.join("state")).unwrap().map(|entry| entry.unwrap().path()).collect();
    states.sort();
    fs::read(states.pop().unwrap().join("state.safetensors")).unwrap()
}

#[test]
fn a_number_that_is_not_finite_stops_the_run_and_spoils_nothing() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let bad = root.path().join("bad");
    let config = configuration(&data, 40);
    let folder = RunFolder::open(&bad, false).unwrap();
    let mut poisoned = poisoned(&config, 7);
    let error = scope_train::run(&folder, &config, &data, &mut poisoned, OPTIONS, &mut Quiet).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("the loss F is NaN at step 7 (after 24 draws) on records ["), "{message}");
    // The state that was kept is the one after six steps.
    let mut plain = trainer(&config);
    let schedule = config.schedule(&config.stages[0]);
    let mut loader = DataLoader::new(&data, &Device::cpu(1), SAMPLER, 1).unwrap();
    for step in 0..6 {
        let batch = loader.next_batch().unwrap();
        plain.train_on_batch(&loader, &batch, schedule.at(4 * step)).unwrap();
    }
    let kept =
        safetensors::SafeTensors::deserialize(Box::leak(newest_state(&bad).into_boxed_slice())).unwrap();
    for (name, tensor) in plain.buffers() {
        let bytes: Vec<u8> = tensor.to_vec::<f32>().unwrap().iter().flat_map(|x| x.to_le_bytes()).collect();
        assert!(kept.tensor(name).unwrap().data() == bytes, "{name}");
    }
    assert_eq!(fs::read_to_string(bad.join("metrics.jsonl")).unwrap().lines().count(), 6);
}

/// Counts warnings.
#[derive(Default)]
struct Warnings(Vec<String>);

impl Callback for Warnings {
    fn on_warning(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

#[test]
fn latents_that_are_all_the_same_raise_an_alarm_within_a_hundred_steps() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let config = configuration(&data, 400);
    let folder = RunFolder::open(&root.path().join("run"), false).unwrap();
    let mut collapsed = trainer(&config);
    let zeros = vec![0.0_f32; collapsed.params.layout().len()];
    let zeros = Tensor::from_slice(collapsed.params.device(), &[zeros.len()], &zeros).unwrap();
    collapsed.params.set_flat(zeros).unwrap();
    let mut warnings = Warnings::default();
    let ending = scope_train::run(&folder, &config, &data, &mut collapsed, OPTIONS, &mut warnings).unwrap();
    assert_eq!((ending, warnings.0.len()), (RunOutcome::Finished, 1));
    assert!(warnings.0[0].contains("may have collapsed"));
}

#[test]
fn milestones_stay_and_older_checkpoints_go() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let config = configuration(&data, 80);
    let folder = RunFolder::open(&root.path().join("run"), false).unwrap();
    let options = RunOptions { save_every: Duration::ZERO, keep: 2, ..OPTIONS };
    scope_train::run(&folder, &config, &data, &mut trainer(&config), options, &mut Quiet).unwrap();
    let mut kept: Vec<u64> = fs::read_dir(folder.state())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().parse().unwrap())
        .collect();
    kept.sort_unstable();
    assert_eq!(kept, [20, 40, 60, 76, 80]);
}

#[test]
fn a_second_process_is_refused_by_the_first_ones_number() {
    let root = tempfile::tempdir().unwrap();
    let first = RunFolder::open(root.path(), false).unwrap();
    let error = RunFolder::open(root.path(), true).unwrap_err().to_string();
    assert!(error.contains(&format!("is being trained by process {}", std::process::id())), "{error}");
    drop(first);
    RunFolder::open(root.path(), true).unwrap();
}

#[test]
fn a_folder_of_somebody_else_s_is_refused_and_kept() {
    let root = tempfile::tempdir().unwrap();
    let model = root.path().join("model.safetensors");
    fs::write(&model, "precious").unwrap();
    for resume in [false, true] {
        let error = RunFolder::open(root.path(), resume).unwrap_err().to_string();
        assert!(error.contains("holds something that is no run"), "{error}");
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing was added");
    // What a run leaves that was killed before it began is no obstacle.
    fs::rename(&model, root.path().join(".config.toml.123.partial")).unwrap();
    fs::write(root.path().join(".lock"), "123").unwrap();
    RunFolder::open(root.path(), false).unwrap();
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let [run, diary] = ["run", "diary.txt"].map(|name| root.path().join(name));
    fs::create_dir(&run).unwrap();
    fs::write(&diary, "precious").unwrap();
    std::os::unix::fs::symlink("../diary.txt", run.join(".lock")).unwrap();
    for begun in [false, true] {
        if begun {
            fs::write(run.join("config.toml"), "").unwrap();
        }
        let error = RunFolder::open(&run, true).unwrap_err().to_string();
        assert!(error.contains("run/.lock is a link"), "{error}");
        assert_eq!(fs::read_to_string(&diary).unwrap(), "precious");
    }
    fs::remove_file(run.join(".lock")).unwrap();
    fs::write(run.join(".lock"), "precious").unwrap();
    let error = RunFolder::open(&run, true).unwrap_err().to_string();
    assert!(error.contains("and holds something else"), "{error}");
    assert_eq!(fs::read_to_string(run.join(".lock")).unwrap(), "precious");
}

#[test]
fn a_run_that_does_not_begin_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let new = root.path().join("new");
    let empty = root.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for folder in [&new, &empty] {
        drop(RunFolder::open(folder, false).unwrap());
    }
    assert!(!new.exists());
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0, "it was there before");
}

#[test]
fn muon_is_refused_where_no_hidden_matrices_are_marked() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 4);
    let recipe = Recipe::resolve("operator", &["optimizer=muon".to_owned(), "batch=2".to_owned()]).unwrap();
    let model = Operator::DeepOnet.architecture(32);
    let length = Some(Length::Draws(4));
    let request = RunRequest { recipe, model, length, seed: 1, log_every: 1, from: None, adapt: None };
    let build = |config: &RunConfig| scope_train::build_trainer(config, &Device::cpu(1), None);
    let config = scope_train::plan(request, &data, &build, 1).unwrap();
    let refused = build(&config).err().unwrap().to_string();
    assert!(refused.contains("optimizer = \"adamw\""), "{refused}");
}

/// Damages the records once the run has taken so many draws.
struct Damage<'a> {
    after: u64,
    damage: &'a dyn Fn(),
}

impl Callback for Damage<'_> {
    fn on_step(&mut self, _: &MetricsLine, draws: u64, _: u64) {
        if draws == self.after {
            (self.damage)();
        }
    }
}

#[test]
fn records_that_are_cut_short_end_the_run_with_its_checkpoint_and_it_can_be_resumed() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 50);
    let config = configuration(&data, 40);
    let run = |name: &str, data: &Dataset, callback: &mut dyn Callback| {
        let folder = RunFolder::open(&root.path().join(name), true).unwrap();
        scope_train::run(&folder, &config, data, &mut trainer(&config), OPTIONS, callback)
    };
    run("whole", &data, &mut Quiet).unwrap();
    let fields = root.path().join("data/fields.npy");
    let right = fs::read(&fields).unwrap();
    // The file itself is cut, as a full disk or a careless script does.
    let cut = || fs::File::options().write(true).open(&fields).unwrap().set_len(10_000).unwrap();
    let error = run("cut", &data, &mut Damage { after: 24, damage: &cut }).unwrap_err().to_string();
    let checkpoint = root.path().join("cut/state/000000000000024");
    assert!(error.contains("fields.npy has changed while it was being read: it had"), "{error}");
    let kept = format!("can be resumed from {}, the state after 24 draws", checkpoint.display());
    assert!(error.contains(&kept) && checkpoint.join("checkpoint.json").is_file(), "{error}");
    fs::write(&fields, &right).unwrap();
    let again = Dataset::open(&root.path().join("data")).unwrap();
    assert_eq!(run("cut", &again, &mut Quiet).unwrap(), RunOutcome::Finished);
    assert!(newest_state(&root.path().join("cut")) == newest_state(&root.path().join("whole")));
}

#[test]
fn nothing_is_learnt_from_no_records() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("data");
    let identity = Identity { pde: Pde::POISSON, seed: 5, split: Split::Train, resolution: 32 };
    generate(&Request { identity, count: 0, shard: None }, &out, |_| true).unwrap();
    let data = Dataset::inspect(&out).unwrap();
    let error = DataLoader::new(&data, &Device::cpu(1), SAMPLER, 1).err().unwrap().to_string();
    assert!(error.contains("data holds 0 records"), "{error}");
}
