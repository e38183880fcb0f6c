//! Runs of several ranks: one model in every bit for any number of them, and the step of a whole batch.

use crate::small_runs;

use std::{fs, path::Path, thread};

use scope_data::{Constants, Dataset};
use scope_engine::Device;
use scope_model::Operator;
use scope_parallel::{Communicator, ParallelError, Threads};
use scope_pde::{Pde, Split};
use scope_train::{
    Callback, Component, Length, MetricsLine, Recipe, RunConfig, RunFolder, RunOptions, RunOutcome,
    RunRequest, Team, TrainError,
};
use small_runs::{StopAfter, make, sizes};

const OPTIONS: RunOptions = RunOptions { threads: 1, ..small_runs::OPTIONS };

/// Ten steps; two of pretraining and eight of joint training where there are both.
fn request(recipe: &str, settings: &[&str]) -> RunRequest {
    let usual = ["batch=8", "peak_rate=1e-3", "main.epochs=4"];
    let mut all: Vec<String> = usual.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
    if ["full", "fjvg"].contains(&recipe) {
        all.push("pretrain.epochs=1".to_owned());
    }
    let recipe = Recipe::resolve(recipe, &all).unwrap();
    let model = recipe.network(sizes().into(), Pde::POISSON, &Constants::released(Pde::POISSON)).unwrap();
    let length = Some(Length::Draws(80));
    RunRequest { recipe, model, length, seed: 3, log_every: 1, from: None, adapt: None }
}

/// What a rank does in a thread of its own, as a process would: rank 0 keeps the run.
fn as_rank(
    ranks: Box<dyn Communicator>,
    folder: &Path,
    data: &Dataset,
    request: &RunRequest,
    steps: u64,
) -> Result<RunOutcome, TrainError> {
    as_rank_with(OPTIONS, ranks, folder, data, request, steps)
}

/// The same with other options than the usual ones.
fn as_rank_with(
    options: RunOptions,
    ranks: Box<dyn Communicator>,
    folder: &Path,
    data: &Dataset,
    request: &RunRequest,
    steps: u64,
) -> Result<RunOutcome, TrainError> {
    let device = Device::cpu(1);
    let build = |config: &RunConfig| scope_train::build_trainer(config, &device, None);
    let config = scope_train::plan(request.clone(), data, &build, 1)?;
    let rank = ranks.rank();
    let team = Team::new(ranks, config.recipe.parts, config.recipe.batch)?;
    let mut trainer = build(&config)?.in_team(team);
    let callback: &mut dyn Callback = &mut StopAfter(steps);
    if rank == 0 {
        let folder = RunFolder::open(folder, true)?;
        scope_train::run(&folder, &config, data, &mut trainer, options, callback)
    } else {
        scope_train::follow(&config, data, &mut trainer, options, callback)
    }
}

/// A run of so many ranks, which all end alike.
fn session(folder: &Path, data: &Dataset, request: &RunRequest, size: usize, steps: u64) -> RunOutcome {
    let outcomes = thread::scope(|scope| {
        let ranks = Threads::ranks(size).into_iter();
        let started: Vec<_> = ranks
            .map(|rank| scope.spawn(move || as_rank(Box::new(rank), folder, data, request, steps)))
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect::<Vec<_>>()
    });
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]));
    outcomes[0]
}

fn left_behind(folder: &Path) -> Vec<Vec<u8>> {
    small_runs::left_behind(folder, &["config.toml", "metrics.jsonl", "model.safetensors"])
}

#[test]
fn any_number_of_ranks_gives_the_same_bits_and_resumes_the_same_run() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let cases = [
        ("full", request("full", &["parts=8"])),
        ("fo", request("fo", &["parts=8"])),
        ("full-muon", request("full", &["parts=8", "optimizer=muon"])),
        ("fo-muon", request("fo", &["parts=8", "optimizer=muon"])),
        ("cap", request("fjvg", &["parts=8", "cap_every=4"])),
        ("uneven", request("fo", &["parts=3", "batch=10"])),
        ("fits", request("muon-fits", &["parts=8", "fits.scales=[1.5]", "sensors.noise_share=0.5"])),
    ];
    for (name, request) in cases {
        let folder = |kind: &str| root.path().join(format!("{name}-{kind}"));
        assert_eq!(session(&folder("1"), &data, &request, 1, u64::MAX), RunOutcome::Finished);
        let alone = left_behind(&folder("1"));
        let most = request.recipe.parts.unwrap();
        for size in [2, 3, 4, 8].into_iter().filter(|size| *size <= most) {
            let run = folder(&size.to_string());
            assert_eq!(session(&run, &data, &request, size, u64::MAX), RunOutcome::Finished);
            assert!(left_behind(&run) == alone, "{name} with {size} ranks");
        }
        let stopped = folder("stopped");
        for (size, steps) in [(2, 3), (most.min(8), 4), (1, u64::MAX)] {
            let outcome = session(&stopped, &data, &request, size, steps);
            assert_eq!(outcome == RunOutcome::Finished, steps == u64::MAX);
        }
        assert!(left_behind(&stopped) == alone, "{name}, stopped and resumed");
        assert_eq!(session(&stopped, &data, &request, 2, u64::MAX), RunOutcome::WasFinished);
    }
}

/// What is measured and how far a step goes are those of the whole batch, but for rounding.
#[test]
fn parts_take_the_step_of_the_whole_batch() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    // A floor that no latent reaches: its gradient is there in every step.
    let floor = "main.objective.spread=10";
    for recipe in ["full", "fo"] {
        let whole = request(recipe, &[floor]);
        let logs = [(1, whole.clone()), (4, request(recipe, &[floor, "parts=4"])), (3, whole)];
        let logs = logs.map(|(ranks, request)| {
            let folder = root.path().join(format!("{recipe}-{ranks}"));
            session(&folder, &data, &request, ranks, u64::MAX);
            MetricsLine::read_all(&folder.join("metrics.jsonl")).unwrap()
        });
        for (step, whole) in logs[0].iter().enumerate() {
            for parts in &logs[1..] {
                let close = |whole: f64, part: f64| (whole - part).abs() <= 2e-3 * whole.abs() + 1e-9;
                let [before, now] = [&whole.report, &parts[step].report];
                let same = before.losses.iter().all(|(component, loss)| close(*loss, now.losses[component]));
                assert!(same, "{recipe}, step {step}: {:?} and {:?}", before.losses, now.losses);
                assert!(
                    close(before.norm, now.norm) && close(before.alpha, now.alpha),
                    "{recipe}, step {step}"
                );
                assert!(close(before.latent_std.unwrap(), now.latent_std.unwrap()));
                let norms =
                    |report: &scope_train::StepReport| report.norms.get(&Component::Variance).copied();
                let pair = norms(before).zip(norms(now));
                assert!(pair.is_none_or(|(before, now)| close(before[0], now[0]) && before[0] > 0.0));
            }
        }
    }
}

/// Passes messages on until some exchange, and is gone.
#[derive(Debug)]
struct Dying(Threads, usize);

impl Communicator for Dying {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError> {
        if self.1 == 0 {
            return Err(ParallelError::Lost { rank: 1, size: 3, reason: "it was killed".to_owned() });
        }
        self.1 -= 1;
        self.0.exchange(messages)
    }
    fn abort(&mut self, _: &str) {}
}

/// Whenever a rank is lost, all end, and the run goes on with other ranks as if nothing had happened.
#[test]
fn a_lost_rank_ends_all_and_the_run_goes_on_without_it() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let request = request("fo", &["parts=8", "optimizer=muon"]);
    let straight = root.path().join("straight");
    session(&straight, &data, &request, 1, u64::MAX);
    // A step exchanges whether to stop, losses, sums, totals and matrices: the rank is lost at each of them.
    for exchange in 12..17 {
        let run = root.path().join(format!("lost-{exchange}"));
        let errors = thread::scope(|scope| {
            let mut ranks = Threads::ranks(3);
            let last = ranks.pop().unwrap();
            let dying = Dying(ranks.pop().unwrap(), exchange);
            let (run, data, request) = (&run, &data, &request);
            let start = |rank: Box<dyn Communicator>| {
                scope.spawn(move || as_rank(rank, run, data, request, u64::MAX).unwrap_err().to_string())
            };
            let first = start(Box::new(ranks.pop().unwrap()));
            let others = [start(Box::new(dying)), start(Box::new(last))];
            others.into_iter().for_each(|thread| drop(thread.join().unwrap()));
            first.join().unwrap()
        });
        assert!(errors.contains("rank 1 of 3 is lost"), "{errors}");
        assert_eq!(session(&run, &data, &request, 2, u64::MAX), RunOutcome::Finished);
        assert!(left_behind(&run) == left_behind(&straight), "lost at exchange {exchange}");
    }
}

/// Passes messages on, and once garbles the sums that a rank gives to all.
#[derive(Debug)]
struct Garbling(Threads, usize);

impl Communicator for Garbling {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn exchange(&mut self, messages: &[&[u8]]) -> Result<Vec<Vec<u8>>, ParallelError> {
        let mut received = self.0.exchange(messages)?;
        self.1 = self.1.saturating_sub(1);
        // Latents are shorter, and slices that are yet to be summed differ from rank to rank.
        let to_all = messages.iter().all(|message| *message == messages[0]) && self.1 == 0;
        if let Some(message) = received.first_mut().filter(|message| to_all && message.len() > 40_000) {
            message.as_chunks_mut::<4>().0.iter_mut().take(5000).for_each(|number| number[3] ^= 0x80);
            self.1 = usize::MAX;
        }
        Ok(received)
    }
    fn abort(&mut self, why: &str) {
        self.0.abort(why);
    }
}

/// Ranks that no longer have one model say so when they would save it, and what was saved before stands.
#[test]
fn ranks_that_drift_apart_are_found_out_before_anything_is_saved() {
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let options = RunOptions { milestones: 5, ..OPTIONS };
    for optimizer in ["adamw", "muon"] {
        let request = request("fo", &["parts=8", &format!("optimizer={optimizer}")]);
        let [straight, run] = ["straight", "run"].map(|name| root.path().join(format!("{optimizer}-{name}")));
        session(&straight, &data, &request, 1, u64::MAX);
        let errors = thread::scope(|scope| {
            let mut ranks = Threads::ranks(2);
            // In the fifth step or a little later, after the second milestone and before the last.
            let garbling = Box::new(Garbling(ranks.pop().unwrap(), 26));
            let sound = Box::new(ranks.pop().unwrap());
            let (run, data, request) = (&run, &data, &request);
            let start = |rank: Box<dyn Communicator>| {
                scope.spawn(move || as_rank_with(options, rank, run, data, request, u64::MAX).unwrap_err())
            };
            [start(sound), start(garbling)].map(|thread| thread.join().unwrap())
        });
        for error in errors {
            let TrainError::Diverged { rank: 1, size: 2, draws } = error else { panic!("{error}") };
            assert!((48..80).contains(&draws), "{draws}");
            let said = error.to_string();
            assert!(said.contains("rank 1 of 2 has other parameters than rank 0"), "{said}");
        }
        let saved = fs::read_dir(run.join("state")).unwrap().count();
        assert!(saved >= 2, "the milestones before it stand");
        assert_eq!(session(&run, &data, &request, 2, u64::MAX), RunOutcome::Finished);
        assert!(left_behind(&run) == left_behind(&straight), "{optimizer}");
    }
}

#[test]
fn what_parts_cannot_do_is_refused() {
    let refused = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Recipe::resolve("fo", &settings).unwrap_err().to_string()
    };
    assert!(refused(&["parts=0"]).contains("parts = 0 must lie between 1 and the batch, 32"));
    assert!(refused(&["parts=33"]).contains("parts = 33"));
    let ranks = |size| Box::new(Threads::ranks(size).swap_remove(0));
    let few = Team::new(ranks(5), Some(4), 32).unwrap_err().to_string();
    assert!(few.contains("4 parts of a batch cannot be divided among 5 processes"), "{few}");
    assert!(
        Team::new(ranks(5), None, 4).unwrap_err().to_string().contains("a batch of 4 cannot be cut into 5")
    );
    let root = tempfile::tempdir().unwrap();
    let data = make(root.path(), "data", Pde::POISSON, Split::Train, 20);
    let settings = ["batch=8".to_owned(), "parts=8".to_owned()];
    let request = RunRequest {
        recipe: Recipe::resolve("operator", &settings).unwrap(),
        model: Operator::Cno.architecture(32),
        ..request("fo", &[])
    };
    let rank = Box::new(Threads::ranks(1).swap_remove(0));
    let error = as_rank(rank, &root.path().join("cno"), &data, &request, u64::MAX).unwrap_err().to_string();
    assert!(error.contains("normalises over whole batches"), "{error}");
}
