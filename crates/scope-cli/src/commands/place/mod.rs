//! `scope place`: where the next sensors say most.

use std::path::{Path, PathBuf};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope::{
    SensorFile,
    placement::{Candidates, PlacementOptions, PlacementSummary, SensorPlacement, place},
};
use scope_data::{
    Channel, Constants, PerChannel,
    frame::StatedNoise,
    sensors::{ProblemColumns, TableOptions},
};
use scope_eval::{PosteriorMethod, RecoveryMethod};
use scope_exact::{PosteriorError, Stage, Step};

use super::{
    Misuse, Outcome,
    method::{ChosenMethod, MethodArguments},
    resolution, up_to,
};
use crate::terminal::{Interrupt, Progress, Table, grouped, notice, print_json, say, warn};
use scope::recovery::RecoveryError;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope place --method exact --pde poisson --count 10 --out placed
  scope place --method exact --pde poisson --count 5 --given sensors.csv --noise 1% --for a --out placed
  scope place --method exact --pde helmholtz --count 10 --allowed allowed.npy --random-layouts 1000 --out placed
  scope place --method linear --fit heat.safetensors --count 30 --noise 2% --out placed

A table of places (.csv) has columns x, y in the unit square, or in the coordinates of a problem of your own, called as
its file calls them; a mask (.npy) has the shape of the grid and not zero where sensors may be.
What sensors say does not matter to where the next one is best: of --given, places and channels are used.";

/// Points along each axis if nothing is said.
const RESOLUTION: usize = 128;

/// The most sensors that are placed at once.
const MOST: u16 = 1000;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PlaceCommand {
    #[command(flatten)]
    method: MethodArguments,
    /// How many sensors
    #[arg(long, value_name = "N", value_parser = up_to(MOST))]
    count: usize,
    /// Sensors that are there already: CSV, JSON, .npy or .npz, as for recover
    #[arg(long, value_name = "SENSORS")]
    given: Option<PathBuf>,
    /// The fields that are to be known well [default: both; a for the exact posterior of ns]
    #[arg(long = "for", value_name = "FIELDS", value_parser = ["a", "u", "both"])]
    target: Option<String>,
    /// What the new sensors measure [default: u; a for the exact posterior of ns]
    #[arg(long, value_parser = channels())]
    channel: Option<Channel>,
    /// Where they may be: a table of points (.csv) or a mask (.npy) [default: every pixel]
    #[arg(long, value_name = "FILE")]
    allowed: Option<PathBuf>,
    /// The standard deviation of the measurements' errors, as for recover [default: rounding to float32]
    #[arg(long, value_name = "S[,S]")]
    noise: Option<StatedNoise>,
    /// Points along each axis for --method exact [default: 128]; a fit has its own
    #[arg(long, value_name = "S", conflicts_with = "fit", value_parser = resolution)]
    resolution: Option<usize>,
    /// Compare with N random layouts of as many sensors
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    random_layouts: u16,
    /// The seed of the random layouts
    #[arg(long, default_value_t = 20_261_013)]
    seed: u64,
    /// A new folder for sensors.csv, summary.json, placement.png and expected-error.png
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print summary.json
    #[arg(long)]
    json: bool,
}

fn channels() -> impl TypedValueParser<Value = Channel> {
    let named = |name: String| Channel::BOTH.into_iter().find(|channel| channel.name() == name);
    PossibleValuesParser::new(["a", "u"]).try_map(move |name| named(name).ok_or("a or u"))
}

impl PlaceCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let method = self.posterior()?;
        let table = TableOptions::default().of_problem(method.pde());
        let given = self.given.as_ref().map(|file| SensorFile::open_with(file, &table)).transpose()?;
        given.iter().flat_map(SensorFile::notes).for_each(|line| notice(line));
        if let Some(file) = given.as_ref().filter(|file| file.len() != 1) {
            anyhow::bail!("{} holds {} problems: expected one", file.name(), grouped(file.len()));
        }
        let set = given.as_ref().map(|file| file.set(0)).transpose()?;
        let candidates = match &self.allowed {
            Some(path) => Candidates::open(path, method.pde())?,
            None => Candidates::Grid,
        };
        let interrupt = Interrupt::listen()?;
        let progress = Progress::new("placing sensors", 1);
        let step = |step: Step| {
            let stage = match step.stage {
                Stage::Samples => "random layouts",
                Stage::Residuals => "given sensors",
                _ => "candidates",
            };
            progress.note(&format!("{stage}, {}%", 100 * step.done / step.of.max(1)));
            !interrupt.requested()
        };
        let options = self.options(&method);
        let placed = place(&method, options, &candidates, set.as_deref(), &step);
        progress.finish();
        let placed = placed.map_err(|error| self.explain(error, set.as_deref()))?;
        let summary = placed.write(&self.out)?;
        if self.json {
            print_json(&summary)?;
        } else {
            self.report(&placed, &summary);
        }
        Ok(Outcome::Success)
    }

    /// The posterior that sensors are placed for, with their noise.
    fn posterior(&self) -> anyhow::Result<PosteriorMethod> {
        let chosen = self.method.open()?.ok_or_else(|| Misuse::of("name a method with --method"))?;
        let noise = self.noise.map(|noise| noise.physical(&chosen.constants()));
        let method = match chosen {
            ChosenMethod::Exact(pde) => {
                let size = self.resolution.unwrap_or(RESOLUTION);
                PosteriorMethod::exact(pde, Constants::generated(pde), size).map_err(Misuse::of)?
            }
            ChosenMethod::Linear(prior) => PosteriorMethod::linear(*prior),
        };
        Ok(method.with_noise(noise.unwrap_or_default()))
    }

    fn options(&self, method: &PosteriorMethod) -> PlacementOptions {
        let linear = method.prior().is_linear();
        let default = if linear && method.pde().present().u { Channel::U } else { Channel::A };
        let wanted = self.target.as_deref().unwrap_or(if linear { "both" } else { "a" });
        let target = PerChannel { a: wanted != "u", u: wanted != "a" };
        PlacementOptions {
            count: self.count,
            channel: self.channel.unwrap_or(default),
            target,
            random_layouts: self.random_layouts.into(),
            seed: self.seed,
        }
    }

    /// What the command line alone shows to be wrong is misuse; sensors are called as their file does.
    fn explain(&self, error: RecoveryError, given: Option<&scope::SensorSet>) -> anyhow::Error {
        match (error, given) {
            (RecoveryError::Posterior(error @ PosteriorError::NonlinearTarget(_)), _) => {
                Misuse::of(error).into()
            }
            (RecoveryError::Posterior(error @ PosteriorError::NonlinearSensors(_)), None) => {
                Misuse::of(error).into()
            }
            (error @ RecoveryError::CandidateGrid { .. }, _) => {
                anyhow::Error::from(error).context("--allowed and --resolution do not go together")
            }
            (error @ RecoveryError::Sensors(_), Some(set)) => {
                let file = self.given.as_deref().unwrap_or(Path::new("--given")).display();
                anyhow::anyhow!("{file}, {}", error.describe(|sensor| set.label(sensor)))
            }
            (error, _) => error.into(),
        }
    }

    fn report(&self, placed: &SensorPlacement, summary: &PlacementSummary) {
        let percent = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}%"));
        let [x, y] = ProblemColumns::of(placed.pde).axes;
        let mut table = Table::new(&["sensor", &x, &y, "expected a", "expected u"]);
        let before = placed.before_percent;
        table.row(["none".to_owned(), "-".into(), "-".into(), percent(before.a), percent(before.u)]);
        for (k, sensor) in placed.sensors.iter().enumerate() {
            let place = |x: f64| format!("{x:.4}");
            let expected = sensor.expected_percent;
            let [a, u] = [expected.a, expected.u].map(percent);
            table.row([(k + 1).to_string(), place(sensor.x), place(sensor.y), a, u]);
        }
        say(&format!(
            "{}, {} sensors of {} placed among {} places, {} given\n\n{table}",
            placed.pde,
            placed.sensors.len(),
            summary.channel,
            grouped(placed.candidates),
            grouped(placed.given)
        ));
        if placed.sensors.len() < self.count {
            warn(&format!(
                "there are no other places: {} of {} sensors were placed",
                placed.sensors.len(),
                self.count
            ));
        }
        if let Some(random) = &placed.random {
            say(&format!(
                "expected error in L2 for {}: {:.2}%; of {} random layouts the best has {:.2}%, the best tenth up to {:.2}%, half of them \
                 up to {:.2}%",
                summary.target.join(" and "),
                summary.expected_percent,
                grouped(random.layouts),
                random.best_percent,
                random.best_decile_percent,
                random.median_percent
            ));
        }
        say(&format!("wrote {}: sensors.csv, two pictures, summary.json", self.out.display()));
    }
}
