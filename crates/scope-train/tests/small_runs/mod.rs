//! Small data sets, models, requests and callbacks, for tests of whole runs.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use scope_data::{Dataset, Request, generate};
use scope_engine::Device;
use scope_model::{Architecture, DecoderConfig, ModelConfig, Preset, Transformer};
use scope_pde::{Identity, Pde, Split};
use scope_train::{
    Callback, Length, MetricsLine, Recipe, RunConfig, RunFolder, RunOptions, RunOutcome, RunRequest,
};

/// The options of runs that are stopped and resumed by steps and never by the clock.
pub(crate) const OPTIONS: RunOptions =
    RunOptions { threads: 2, save_every: Duration::from_secs(600), keep: 2, milestones: 0 };

/// A SCOPE network with little of everything, for a grid of 32 x 32 points.
pub(crate) fn sizes() -> ModelConfig {
    ModelConfig {
        latent: 16,
        encoder: Transformer { width: 32, depth: 1, heads: 2 },
        predictor: Transformer { width: 16, depth: 1, heads: 1 },
        decoder: DecoderConfig { mlp: vec![24], conv: vec![8] },
        ..Preset::Tiny.config(32)
    }
}

/// Twenty steps of four records.
pub(crate) fn request(model: Architecture, recipe: &str, peak_rate: f64) -> RunRequest {
    let settings = ["batch=4".to_owned(), format!("peak_rate={peak_rate}")];
    let recipe = Recipe::resolve(recipe, &settings).unwrap();
    let length = Some(Length::Draws(80));
    RunRequest { recipe, model, length, seed: 3, log_every: 1, from: None, adapt: None }
}

/// Trains from initial parameters until the run is finished or has taken `steps` steps; a fresh process would do the
/// same.
fn session(folder: &Path, data: &Dataset, request: &RunRequest, threads: usize, steps: u64) -> RunOutcome {
    let device = Device::cpu(threads);
    let build = |config: &RunConfig| scope_train::build_trainer(config, &device, None);
    let folder = RunFolder::open(folder, true).unwrap();
    let config = scope_train::plan(request.clone(), data, &build, 1).unwrap();
    let mut trainer = build(&config).unwrap();
    scope_train::run(&folder, &config, data, &mut trainer, OPTIONS, &mut StopAfter(steps)).unwrap()
}

/// The last state that a run has left, and those of its files that are named.
pub(crate) fn left_behind(folder: &Path, names: &[&str]) -> Vec<Vec<u8>> {
    let states = fs::read_dir(folder.join("state")).unwrap();
    let last = states.map(|entry| entry.unwrap().path()).max().unwrap().join("state.safetensors");
    let named = names.iter().map(|name| folder.join(name));
    [last].into_iter().chain(named).map(|file| fs::read(file).unwrap()).collect()
}

/// The files that must not depend on how a run was run.
pub(crate) const KEPT: [&str; 2] = ["metrics.jsonl", "model.safetensors"];

/// A set of fresh records at resolution 32.
pub(crate) fn make(root: &Path, name: &str, pde: Pde, split: Split, count: usize) -> Dataset {
    let out = root.join(name);
    let identity = Identity { pde, seed: 5, split, resolution: 32 };
    generate(&Request { identity, count, shard: None }, &out, |_| true).unwrap();
    Dataset::open(&out).unwrap()
}

/// Watches nothing and never asks to stop.
pub(crate) struct Quiet;

impl Callback for Quiet {
    fn on_warning(&mut self, text: &str) {
        assert!(text.is_empty(), "a warning: {text}");
    }
}

/// Trains straight on, and again with a stop on the way and other numbers of threads: both must leave the same bits.
/// Gives back the folder of the first.
pub(crate) fn resumes_in_every_bit(root: &Path, name: &str, data: &Dataset, request: &RunRequest) -> PathBuf {
    let [straight, stopped] = ["straight", "stopped"].map(|how| root.join(format!("{name}-{how}")));
    assert_eq!(session(&straight, data, request, 2, u64::MAX), RunOutcome::Finished);
    assert_eq!(session(&stopped, data, request, 1, 7), RunOutcome::Interrupted);
    assert_eq!(session(&stopped, data, request, 3, u64::MAX), RunOutcome::Finished);
    assert!(left_behind(&straight, &KEPT) == left_behind(&stopped, &KEPT), "{name}");
    straight
}

/// Asks to stop after some steps.
pub(crate) struct StopAfter(pub(crate) u64);

impl Callback for StopAfter {
    fn on_step(&mut self, _: &MetricsLine, _: u64, _: u64) {
        self.0 -= 1;
    }
    fn should_stop(&self) -> bool {
        self.0 == 0
    }
}
