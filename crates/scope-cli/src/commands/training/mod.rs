//! `scope train` and `scope adapt`.

mod adapt;
mod demo_model;
mod live;
mod processes;
pub(in crate::commands) mod team;
mod train;
mod weights;

use std::time::Duration;

use clap::Args;
use scope_data::{Dataset, write_atomic};
use scope_engine::Device;
use scope_eval::figure::{AxisLabel, Curve, CurveChart, Scale};
use scope_parallel::Launch;
use scope_pde::Split;
use scope_train::{
    Component, Length, MetricsLine, Recipe, RunConfig, RunFolder, RunOptions, RunOutcome, RunRequest,
    TrainError, Trainer,
};

pub(crate) use adapt::AdaptCommand;
pub(crate) use demo_model::{train_on_the_spot, train_tiny};
pub(crate) use train::TrainCommand;

use super::{Misuse, Outcome, device::DeviceArguments, up_to};
use crate::terminal::{grouped, notice, say, speak_as, warn};
use live::Live;
use weights::Weights;

/// Reads a length.
fn positive(text: &str) -> Result<f64, String> {
    let valid = |number: &f64| number.is_finite() && *number > 0.0;
    text.parse().ok().filter(valid).ok_or_else(|| "expected a finite number above zero".to_owned())
}

/// Reads a time in seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "expected a number of seconds, zero or more".to_owned())
}

/// What training and adaptation have in common.
#[derive(Debug, Args)]
struct RunArguments {
    /// The training set
    #[arg(long, value_name = "DIR")]
    data: std::path::PathBuf,
    /// Where the run is kept
    #[arg(long, value_name = "RUN")]
    out: std::path::PathBuf,
    /// Go on from the newest checkpoint; where there is no run yet, one begins
    #[arg(long)]
    resume: bool,
    /// Length in passes over the data, in the main stage
    #[arg(long, value_name = "N", group = "length", value_parser = positive)]
    epochs: Option<f64>,
    /// Length in examples, all stages together
    #[arg(long, value_name = "N", group = "length", value_parser = clap::value_parser!(u64).range(1..))]
    draws: Option<u64>,
    /// Length as what fits into this time on this machine
    #[arg(long, value_name = "M", group = "length", value_parser = positive)]
    minutes: Option<f64>,
    /// Replace a value of the recipe
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// The seed of initial parameters, batches and masks [default: 20260913, or the recipe's own]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    #[command(flatten)]
    device: DeviceArguments,
    /// Seconds between checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    save_every: Duration,
    /// Checkpoints to keep
    #[arg(long, value_name = "N", default_value_t = 2)]
    keep: usize,
    /// Checkpoints to keep for good, evenly over the run, each with its model in RUN/milestones for `scope evaluate`
    #[arg(long, value_name = "N", default_value_t = 0)]
    milestones: u64,
    /// Train in N processes on this machine, which share every batch; torchrun, srun and mpirun may start them too
    #[arg(long, value_name = "N", value_parser = up_to(MOST_PROCESSES))]
    processes: Option<usize>,
    /// With several processes: each takes its share of a batch in one piece; faster, with other bits for another number
    #[arg(long)]
    fast_reduction: bool,
    /// Steps between lines of metrics.jsonl
    #[arg(long, value_name = "STEPS", default_value_t = 10)]
    log_every: u64,
}

/// The most processes that one command starts.
const MOST_PROCESSES: u16 = 256;

/// The seed of runs whose recipe has none of its own.
const SEED: u64 = 20_260_913;

impl RunArguments {
    /// The seed that was named, or the recipe's, or the usual one.
    fn seed(&self, recipe: &Recipe) -> u64 {
        self.seed.or(recipe.seed).unwrap_or(SEED)
    }

    fn length(&self) -> Option<Length> {
        self.epochs
            .map(Length::Epochs)
            .or(self.draws.map(Length::Draws))
            .or(self.minutes.map(Length::Minutes))
    }

    /// A recipe with what --set replaces.
    fn set(&self, recipe: &Recipe) -> Result<Recipe, Misuse> {
        recipe.with_settings(&self.settings).map_err(Misuse::of)
    }

    fn options(&self, device: &Device) -> RunOptions {
        let threads = RunOptions::threads_for(device);
        RunOptions { threads, save_every: self.save_every, keep: self.keep, milestones: self.milestones }
    }

    /// Starts the processes that were asked for, and waits for them; none where this is one of them, or the only one.
    fn start_processes(&self) -> anyhow::Result<Option<Outcome>> {
        let launch = Launch::from_environment().map_err(Misuse::of)?;
        match (self.processes, launch) {
            (Some(count), None) => {
                self.require_countable(count)?;
                processes::start(count).map(Some)
            }
            (Some(count), Some(launch)) if count != launch.size => Err(Misuse::of(format!(
                "--processes is {count}, and whoever started this process says that there are {}: leave --processes out",
                launch.size
            ))
            .into()),
            (_, launch) => {
                launch.iter().for_each(|launch| speak_as(launch.rank));
                Ok(None)
            }
        }
    }

    /// Plans the run, or takes up the one in the folder, and trains, alone or with other processes. `weights` is what
    /// it begins with: the base of an adaptation, or what it goes on from.
    fn train(
        &self,
        request: RunRequest,
        data: &Dataset,
        weights: Option<&Weights>,
    ) -> anyhow::Result<Outcome> {
        if data.meta().split == Split::Test {
            warn(&format!(
                "{} is a test split: what is measured on it afterwards says nothing of records that the model has not seen",
                self.data.display()
            ));
        }
        match Launch::from_environment().map_err(Misuse::of)? {
            None => self.train_alone(request, data, weights),
            Some(launch) => self.train_in_team(&launch, request, data, weights),
        }
    }

    /// The same without other processes.
    fn train_alone(
        &self,
        request: RunRequest,
        data: &Dataset,
        weights: Option<&Weights>,
    ) -> anyhow::Result<Outcome> {
        anyhow::ensure!(
            !self.fast_reduction,
            Misuse::of("--fast-reduction is for several processes: start them with --processes")
        );
        let device = self.device.open()?;
        weights.map_or(Ok(()), |weights| weights.require_outside(&self.out))?;
        let folder = RunFolder::open(&self.out, self.resume)?;
        let build = |config: &RunConfig| build_trainer(config, &device, weights);
        let options = self.options(&device);
        if self.resume && !folder.config().exists() {
            notice(&format!("{} holds no run to go on with: a new one begins", self.out.display()));
        }
        let config = scope_train::plan_or_resume(&folder, request, data, &build, options.threads)?;
        let mut trainer = build(&config)?;
        let mut live = Live::new(&config)?;
        let ending = scope_train::run(&folder, &config, data, &mut trainer, options, &mut live);
        live.finish();
        finish(&folder, &config, ending?)
    }
}

/// A run's trainer, with the weights that it begins with, if any.
fn build_trainer(
    config: &RunConfig,
    device: &Device,
    weights: Option<&Weights>,
) -> Result<Trainer, TrainError> {
    let params = weights.map(|weights| weights.params(device)).transpose()?;
    scope_train::build_trainer(config, device, params)
}

/// Says how a run ended, and draws its curves.
fn finish(folder: &RunFolder, config: &RunConfig, ending: RunOutcome) -> anyhow::Result<Outcome> {
    let total = grouped(config.total() as usize);
    let shown = folder.path().display();
    match ending {
        RunOutcome::Interrupted => {
            say(&format!("stopped; the state is saved in {shown}: go on with --resume"));
            return Ok(Outcome::Interrupted);
        }
        RunOutcome::WasFinished if folder.curves().exists() => {
            say(&format!("{shown} is finished: {total} draws; nothing was changed"));
        }
        RunOutcome::WasFinished => {
            draw_curves(folder)?;
            say(&format!("{shown} is finished: {total} draws; its curves were missing"));
        }
        RunOutcome::ModelWritten => {
            draw_curves(folder)?;
            let model = folder.model();
            say(&format!(
                "{shown} is finished: {total} draws; {} was missing or not of the last state, and is written",
                model.display()
            ));
        }
        RunOutcome::Finished => {
            draw_curves(folder)?;
            say(&format!("{total} draws; the model is {}", folder.model().display()));
        }
    }
    Ok(Outcome::Success)
}

/// Writes `curves.svg` from `metrics.jsonl`. A log that cannot be read costs the curves, not the run.
fn draw_curves(folder: &RunFolder) -> anyhow::Result<()> {
    let lines = match MetricsLine::read_all(&folder.metrics()) {
        Ok(lines) => lines,
        Err(error) => {
            warn(&format!("no curves are drawn: {error}"));
            return Ok(());
        }
    };
    let series = |name: String, value: &dyn Fn(&MetricsLine) -> Option<f64>| Curve {
        name,
        points: lines.iter().filter_map(|line| Some((line.draws as f64, value(line)?))).collect(),
    };
    let loss = |component: Component| {
        series(format!("loss {}", component.letter()), &|line| line.report.losses.get(&component).copied())
    };
    let mut curves: Vec<Curve> =
        Component::ALL.into_iter().map(loss).filter(|curve| !curve.points.is_empty()).collect();
    curves.push(series("gradient norm".to_owned(), &|line| Some(line.report.norm)));
    curves.push(series("latent spread".to_owned(), &|line| line.report.latent_std));
    let title = folder.path().display().to_string();
    let x = AxisLabel::new("draws", Scale::Linear);
    let y = AxisLabel::new("value", Scale::Log);
    let chart = CurveChart { title, x, y, curves, levels: Vec::new() };
    write_atomic(&folder.curves(), chart.draw().to_svg()?.as_bytes())?;
    Ok(())
}
