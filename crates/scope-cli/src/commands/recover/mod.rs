//! `scope recover`: complete fields from someone's own sensors.

mod bands;
mod exact;
mod folder;
mod method;
mod picture;
mod summary;
mod watch;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::{Args, builder::TypedValueParser};
use scope_data::{
    observation::{Sensor, SensorError, UserContext},
    sensors::{SensorFile, SensorSet},
};
use scope_eval::trust::{Trust, Warning, task_of};
use scope_pde::{Pde, cylinder::Disk};

use super::{Outcome, device::DeviceArguments};
use crate::terminal::{notice, print_json, warn};
use exact::{ExactArguments, ExactMethod};
use folder::ResultFolder;
use method::{Method, Recovered};
pub(crate) use picture::{Truth, rows as picture_rows, sensors as measured};
use summary::{ProblemSummary, Summary};
use watch::Watch;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope recover --model poisson --sensors sensors.csv --out recovered
  scope recover --model runs/darcy --sensors measurements.npz --out recovered --json
  zcat log.csv.gz | scope recover --model poisson --sensors - --out recovered
  scope recover --model cylinder --sensors probes.csv --geometry 40,64,10 --out recovered
  scope recover --model poisson --sensors sensors.csv --noise 0.01,1e-4 --calibrate 200 --out recovered
  scope recover --method exact --pde poisson --sensors sensors.csv --noise 0.01,1e-4 --samples 20 --out recovered

A CSV file needs columns x, y (0 to 1) or i, j (pixels), and channel and value, or the values under a and u; a column
\"problem\" tells many problems apart. Values are in physical units, in and out. docs/sensors.md has every format.";

/// How a disk is given.
const DISK: &str = "give row and column of its centre, and its radius, in pixels";

/// Problems recovered together: their contexts are in memory at once.
const TOGETHER: usize = 32;

/// The most warnings that are shown.
const MOST_WARNINGS: usize = 20;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecoverCommand {
    /// A model's name, a run folder or a weight file
    #[arg(long, value_name = "NAME|RUN|FILE", required_unless_present = "method", conflicts_with = "method")]
    model: Option<String>,
    #[command(flatten)]
    exact: ExactArguments,
    /// Measurements: CSV, JSON, .npy or .npz; "-" for standard input
    #[arg(long, value_name = "FILE")]
    sensors: PathBuf,
    /// A new folder for a.npy, u.npy, fields.png and summary.json; with --method also a_sd.npy and u_sd.npy, with a model
    /// a_band68.npy and its like, where its error bands are known
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The cylinder's disk in pixels, for problems whose file gives none
    #[arg(long, value_name = "CX,CY,R", conflicts_with = "method", value_parser = disk)]
    geometry: Option<Disk>,
    /// Measure a model's error bands for these very sensors, on N fresh records of the problem's own solver, instead of
    /// taking those of its card
    #[arg(long, value_name = "N", conflicts_with = "method", value_parser = clap::value_parser!(u16).range(19..=2000).map(usize::from))]
    calibrate: Option<usize>,
    /// Draw the first N problems
    #[arg(long, value_name = "N", default_value_t = 1)]
    pictures: usize,
    /// Print summary.json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

/// Reads a disk.
fn disk(text: &str) -> Result<Disk, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([cx, cy, r]) => Ok(Disk { cx: *cx, cy: *cy, r: *r }),
        _ => Err("expected three numbers of pixels, as in 40,64,10".to_owned()),
    }
}

impl RecoverCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let file = match self.sensors.as_os_str() == "-" {
            true => SensorFile::standard_input()?,
            false => SensorFile::open(&self.sensors)?,
        };
        file.notes().iter().for_each(|line| notice(line));
        let method = self.method()?;
        self.require_fit(&file, &method)?;
        // Before the folder: who stops the program from here on finds none.
        let watch = Watch::begin(file.len(), self.calibrate)?;
        let folder = ResultFolder::create(&self.out, file.len(), method.resolution())?;
        let (summary, spent) = self.recover(&file, &method, folder, &watch)?;
        warn_of(&summary.problems);
        match self.json {
            true => print_json(&summary)?,
            false => summary.say(&self.out, spent, self.pictures),
        }
        Ok(Outcome::Success)
    }

    /// The method asked for.
    fn method(&self) -> anyhow::Result<Method> {
        match (&self.model, ExactMethod::asked(&self.exact, &self.device)?) {
            (_, Some(exact)) => Ok(Method::Exact(Box::new(exact))),
            (Some(model), None) => {
                Method::network(model, &self.device, self.calibrate, self.exact.stated_noise())
            }
            (None, None) => anyhow::bail!("name a model with --model, or a method with --method and --pde"),
        }
    }

    /// Refuses what no problem of the file could be recovered with.
    fn require_fit(&self, file: &SensorFile, method: &Method) -> anyhow::Result<()> {
        let (pde, size) = (method.pde(), method.resolution());
        anyhow::ensure!(
            self.geometry.is_none() || pde == Pde::Cylinder,
            "{pde} has no geometry: leave --geometry out"
        );
        if let Some(got) = file.resolution().filter(|got| *got != size) {
            anyhow::bail!(
                "{} holds grids of {got} x {got} and the model reads {size} x {size}: give the sensors as a table with x and y",
                file.name()
            );
        }
        Ok(())
    }

    /// Recovers all problems, some at a time, and writes them; says how long the method itself took.
    fn recover(
        &self,
        file: &SensorFile,
        method: &Method,
        mut folder: ResultFolder,
        watch: &Watch,
    ) -> anyhow::Result<(Summary, Duration)> {
        let (mut summaries, mut spent) = (Vec::new(), Duration::ZERO);
        let indices: Vec<usize> = (0..file.len()).collect();
        for some in indices.chunks(TOGETHER) {
            watch.require_patience()?;
            let placed = some
                .iter()
                .map(|index| self.place(file, *index, method))
                .collect::<anyhow::Result<Vec<_>>>()?;
            let (names, mut contexts): (Vec<String>, Vec<UserContext>) = placed.into_iter().unzip();
            let begin = Instant::now();
            let recovered = method.recover(&mut contexts, watch)?;
            spent += begin.elapsed();
            for ((name, context), mut recovered) in names.iter().zip(&contexts).zip(recovered) {
                let trust = self.trust(method, context, &recovered).with_context(|| name.clone())?;
                let progress = |records: usize| watch.at(summaries.len(), records);
                method.band(&mut recovered, context, &trust, &progress)?;
                folder.add(&recovered)?;
                if summaries.len() < self.pictures {
                    folder.draw(name, method, context, &recovered)?;
                }
                summaries.push(ProblemSummary::new(name, context, &recovered, trust));
            }
            watch.at(summaries.len(), 0);
        }
        watch.finish();
        let summary = Summary::new(file, method, summaries);
        folder.finish(&summary)?;
        Ok((summary, spent))
    }

    /// Puts a problem's sensors on the grid.
    fn place(
        &self,
        file: &SensorFile,
        index: usize,
        method: &Method,
    ) -> anyhow::Result<(String, UserContext)> {
        let set = file.set(index)?;
        let SensorSet { name, sensors, disk, .. } = set.as_ref();
        let place = match file.len() {
            1 => file.name().to_owned(),
            _ => format!("{}, problem {name}", file.name()),
        };
        anyhow::ensure!(
            disk.is_none() || method.pde() == Pde::Cylinder,
            "{place}: {} has no geometry: leave it out of the file",
            method.pde()
        );
        require_scaled(method, &set).map_err(|problem| anyhow::anyhow!("{place}, {problem}"))?;
        let context = method.place(sensors, disk.or(self.geometry).as_ref());
        let context = context.map_err(|error| match (&error, disk) {
            (SensorError::Disk(problem), None) => anyhow::anyhow!("--geometry: {problem}; {DISK}"),
            (SensorError::Disk(problem), Some(_)) => anyhow::anyhow!("{place}: {problem}; {DISK}"),
            _ => anyhow::anyhow!("{place}, {}", set.explain(&error)),
        })?;
        anyhow::ensure!(
            task_of(&context.measured).is_some(),
            "{}: problem {name} has no measurements: remove it, or give it at least one",
            file.name()
        );
        Ok((name.clone(), context))
    }

    fn trust(&self, method: &Method, context: &UserContext, recovered: &Recovered) -> anyhow::Result<Trust> {
        let constants = method.constants();
        let trust = Trust::of(method.pde(), &constants, method.known(), context, &recovered.fields);
        let mut trust = trust.context("nothing was measured")?;
        if let Method::Exact(_) = method {
            // It was not trained: no condition or example of training says anything about it.
            trust.nearest = None;
            let applies =
                |warning: &Warning| matches!(warning, Warning::OutsideRange { .. } | Warning::PoorFit { .. });
            trust.warnings.retain(applies);
        }
        Ok(trust)
    }
}

/// Refuses a value that overflows once it is scaled as the method's fields are.
fn require_scaled(method: &Method, set: &SensorSet) -> Result<(), String> {
    let constants = method.constants();
    let overflows = |sensor: &Sensor| !constants.of(sensor.channel).store(sensor.value).is_finite();
    match set.sensors.iter().position(overflows) {
        None => Ok(()),
        Some(index) => {
            let Sensor { channel, value, .. } = &set.sensors[index];
            let (label, channel, sigma) = (set.label(index), channel.name(), constants.of(*channel).sigma);
            Err(format!(
                "{label}: {channel} is {value:e}, too large for single precision beside the field's standard deviation of \
                 {sigma}; are the units right?"
            ))
        }
    }
}

/// Tells what speaks against each problem's recovery; of many problems, some of it.
fn warn_of(problems: &[ProblemSummary]) {
    let all = problems.iter().flat_map(|problem| {
        let which = if problems.len() > 1 { format!("problem {}: ", problem.name) } else { String::new() };
        let warnings = problem.trust.warnings.iter().map(ToString::to_string);
        warnings.chain(problem.remarks.iter().cloned()).map(move |warning| format!("{which}{warning}"))
    });
    let all: Vec<String> = all.collect();
    all.iter().take(MOST_WARNINGS).for_each(|line| warn(line));
    if all.len() > MOST_WARNINGS {
        warn(&format!("{} more are in summary.json", all.len() - MOST_WARNINGS));
    }
}
