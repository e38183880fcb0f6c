//! `scope recover`: complete fields from someone's own sensors.

mod folder;
mod method;
mod picture;
mod summary;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Args;
use scope_data::{
    observation::UserContext,
    sensors::{SensorFile, SensorSet},
};
use scope_eval::trust::{Trust, task_of};
use scope_pde::{Pde, cylinder::Disk};

use super::{Outcome, device::DeviceArguments};
use crate::terminal::{Progress, note, print_json, warn};
use folder::ResultFolder;
use method::{Method, Recovered};
pub(crate) use picture::{Truth, rows as picture_rows, sensors as measured};
use summary::{ProblemSummary, Summary};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope recover --model poisson --sensors sensors.csv --out recovered
  scope recover --model runs/darcy --sensors measurements.npz --out recovered --json
  zcat log.csv.gz | scope recover --model poisson --sensors - --out recovered
  scope recover --model cylinder --sensors probes.csv --geometry 40,64,10 --out recovered

A CSV file needs columns x, y (0 to 1) or i, j (pixels), and channel and value, or the values under a and u; a column
\"problem\" tells many problems apart. Values are in physical units, in and out. docs/sensors.md has every format.";

/// Problems recovered together: their contexts are in memory at once.
const TOGETHER: usize = 32;

/// The most warnings that are shown.
const MOST_WARNINGS: usize = 20;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RecoverCommand {
    /// A model's name, a run folder or a weight file
    #[arg(long, value_name = "NAME|RUN|FILE")]
    model: String,
    /// Measurements: CSV, JSON, .npy or .npz; "-" for standard input
    #[arg(long, value_name = "FILE")]
    sensors: PathBuf,
    /// A new folder for a.npy, u.npy, fields.png and summary.json
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The cylinder's disk in pixels, for problems whose file gives none
    #[arg(long, value_name = "CX,CY,R", value_parser = disk)]
    geometry: Option<Disk>,
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
        file.notes().iter().for_each(|line| note(line));
        let method = Method::network(&self.model, &self.device)?;
        self.require_fit(&file, &method)?;
        let folder = ResultFolder::create(&self.out, file.len(), method.resolution())?;
        let (summary, spent) = self.recover(&file, &method, folder)?;
        warn_of(&summary.problems);
        match self.json {
            true => print_json(&summary)?,
            false => summary.say(&self.out, spent),
        }
        Ok(Outcome::Success)
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
    ) -> anyhow::Result<(Summary, Duration)> {
        let progress = Progress::new("recovering", file.len());
        let (mut summaries, mut spent) = (Vec::new(), Duration::ZERO);
        let indices: Vec<usize> = (0..file.len()).collect();
        for some in indices.chunks(TOGETHER) {
            let placed = some
                .iter()
                .map(|index| self.place(file, *index, method))
                .collect::<anyhow::Result<Vec<_>>>()?;
            let begin = Instant::now();
            let contexts: Vec<&UserContext> = placed.iter().map(|(_, context)| context).collect();
            let recovered = method.recover(&contexts)?;
            spent += begin.elapsed();
            for ((name, context), recovered) in placed.iter().zip(recovered) {
                folder.add(&recovered.fields)?;
                let trust = self.trust(method, context, &recovered).with_context(|| name.clone())?;
                if summaries.len() < self.pictures {
                    folder.draw(name, method, context, &recovered)?;
                }
                summaries.push(ProblemSummary::new(name, context, &recovered, trust));
            }
            progress.at(summaries.len());
        }
        progress.finish();
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
        let disk = disk.or(self.geometry);
        let context = method.place(sensors, disk.as_ref());
        let context = context.map_err(|error| anyhow::anyhow!("{}, {}", file.name(), set.explain(&error)))?;
        anyhow::ensure!(
            task_of(&context.measured).is_some(),
            "{}: problem {name} has no measurements: remove it, or give it at least one",
            file.name()
        );
        Ok((name.clone(), context))
    }

    fn trust(&self, method: &Method, context: &UserContext, recovered: &Recovered) -> anyhow::Result<Trust> {
        let constants = method.constants();
        Trust::of(method.pde(), &constants, method.known(), context, &recovered.fields)
            .context("nothing was measured")
    }
}

/// Tells what speaks against each problem's recovery; of many problems, some of it.
fn warn_of(problems: &[ProblemSummary]) {
    let all = problems.iter().flat_map(|problem| {
        let which = if problems.len() > 1 { format!("problem {}: ", problem.name) } else { String::new() };
        problem.trust.warnings.iter().map(move |warning| format!("{which}{warning}"))
    });
    let all: Vec<String> = all.collect();
    all.iter().take(MOST_WARNINGS).for_each(|line| warn(line));
    if all.len() > MOST_WARNINGS {
        warn(&format!("{} more are in summary.json", all.len() - MOST_WARNINGS));
    }
}
