//! Training.

use std::{path::PathBuf, time::Duration};

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use scope::{
    model::{Architecture, Operator, Preset},
    train::{
        Callback, Length, MetricsLine, Recipe, RunConfig, RunFolder, RunOptions, RunOutcome, RunRequest,
        build_trainer, plan_or_resume, run,
    },
};

use crate::{
    data::Dataset,
    error::{invalid, json, refused},
    method::open_device,
    work::{Watch, work},
};

/// What is trained: a dictionary with every key.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TrainOptions {
    out: PathBuf,
    model: String,
    recipe: Option<String>,
    epochs: Option<f64>,
    draws: Option<u64>,
    minutes: Option<f64>,
    settings: Vec<String>,
    seed: u64,
    resume: bool,
    save_every: f64,
    keep: usize,
    milestones: u64,
    log_every: u64,
    device: String,
    threads: Option<usize>,
}

/// Trains a network on the records of a set, or goes on with the run of a folder: how it ended, and what was warned of.
/// `listener` hears of steps, as JSON. A signal, or what the listener raises, ends the run with its state saved.
#[pyfunction]
pub(crate) fn train(
    py: Python<'_>,
    data: PyRef<'_, Dataset>,
    options: TrainOptions,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<(&'static str, Vec<String>)> {
    let choice = options
        .device
        .parse()
        .map_err(|expected| invalid(format!("device is \"{}\": {expected}", options.device)))?;
    let set = &data.set;
    work(py, listener, |watch| {
        let request = options.request(set.meta())?;
        let device = open_device(choice, options.threads)?;
        let folder = RunFolder::open(&options.out, options.resume).map_err(refused)?;
        let build = |config: &RunConfig| build_trainer(config, &device, None);
        let run_options = options.run_options(&device)?;
        let config = plan_or_resume(&folder, request, set, &build, run_options.threads).map_err(refused)?;
        let mut trainer = build(&config).map_err(refused)?;
        let mut heard = Heard { watch, warnings: Vec::new() };
        let ending = run(&folder, &config, set, &mut trainer, run_options, &mut heard).map_err(refused)?;
        match ending {
            RunOutcome::Finished => Ok(("finished", heard.warnings)),
            RunOutcome::WasFinished => Ok(("was finished", heard.warnings)),
            RunOutcome::ModelWritten => Ok(("model written", heard.warnings)),
            // Whoever stopped it raises what stopped it; this is for nobody.
            RunOutcome::Interrupted => Err(PyKeyboardInterrupt::new_err("stopped; the state is saved")),
        }
    })
}

impl TrainOptions {
    fn request(&self, meta: &scope::data::Meta) -> PyResult<RunRequest> {
        let model = network(&self.model, meta.resolution)?;
        model.validate().map_err(refused)?;
        let usual = if model.scope().is_some() { "full" } else { "operator" };
        let recipe = Recipe::resolve(self.recipe.as_deref().unwrap_or(usual), &[]).map_err(refused)?;
        let recipe = recipe.with_settings(&self.settings).map_err(refused)?;
        let model = recipe.network(model, meta.pde, &meta.constants()).map_err(refused)?;
        let request = RunRequest {
            recipe,
            model,
            length: self.length()?,
            seed: self.seed,
            log_every: self.log_every,
            from: None,
            adapt: None,
        };
        request.require_fit(meta.pde).map_err(refused)?;
        Ok(request)
    }

    fn length(&self) -> PyResult<Option<Length>> {
        let sound = |number: &f64| number.is_finite() && *number > 0.0;
        let stated: Vec<Length> = [
            self.epochs.map(Length::Epochs),
            self.draws.map(Length::Draws),
            self.minutes.map(Length::Minutes),
        ]
        .into_iter()
        .flatten()
        .collect();
        match stated[..] {
            [] => Ok(None),
            [Length::Epochs(number) | Length::Minutes(number)] if !sound(&number) => {
                Err(invalid("a length is a finite number above zero"))
            }
            [Length::Draws(0)] => Err(invalid("draws is 0: expected a whole number from 1 up")),
            [length] => Ok(Some(length)),
            _ => Err(invalid("epochs, draws and minutes are three ways to say one thing: give one of them")),
        }
    }

    fn run_options(&self, device: &scope::Device) -> PyResult<RunOptions> {
        let save_every = Duration::try_from_secs_f64(self.save_every)
            .map_err(|_| invalid("save_every is a number of seconds, zero or more"))?;
        let threads = RunOptions::threads_for(device);
        Ok(RunOptions { threads, save_every, keep: self.keep, milestones: self.milestones })
    }
}

/// A network by name, on a grid.
fn network(name: &str, grid: scope::pde::GridShape) -> PyResult<Architecture> {
    if let Ok(preset) = name.parse::<Preset>() {
        return Ok(preset.config(grid).into());
    }
    match name.parse::<Operator>() {
        Ok(operator) => Ok(operator.architecture(grid)),
        Err(_) => {
            let names = Preset::ALL.map(Preset::name).into_iter().chain(Operator::ALL.map(Operator::name));
            let names: Vec<&str> = names.collect();
            Err(invalid(format!("\"{name}\" is no network: expected one of {}", names.join(", "))))
        }
    }
}

/// Tells of steps, and asks whether to stop.
struct Heard<'a> {
    watch: &'a Watch,
    warnings: Vec<String>,
}

impl Callback for Heard<'_> {
    fn on_step(&mut self, line: &MetricsLine, draws: u64, total: u64) {
        self.watch.tell(|| {
            let line = json(line).unwrap_or_else(|_| "null".to_owned());
            format!("{{\"draws\": {draws}, \"total\": {total}, \"step\": {line}}}")
        });
    }

    fn on_warning(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    fn should_stop(&self) -> bool {
        !self.watch.go_on()
    }
}
