//! `scope fit linear`: the best linear estimate from the records of any problem.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use scope_data::{Dataset, PerChannel, require_writable};
use scope_linear::{About, FitOptions, FitProgress, FitStage, LinearFit, MOST_MODES, fit};
use serde::Serialize;

use crate::{
    commands::{MOST_THREADS, Outcome, up_to},
    terminal::{Interrupt, Progress, grouped, print_json, say, warn},
    threads::Threads,
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope fit linear --data data/ns --modes 1000 --out ns.safetensors
  scope recover --method linear --fit ns.safetensors --sensors sensors.csv --noise 1% --out recovered
  scope evaluate --method linear --fit ns.safetensors --data data/ns-test --out baselines/ns
  scope place --method linear --fit ns.safetensors --count 30 --out placed

A tenth of the records is kept from the modes. Half of it measures what these leave out, and the other half stays with
the fit: error bands, expected errors and tests of readings are measured on it, for the very sensors. That takes 100
records at least.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LinearCommand {
    /// The records: a data set of any problem
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// How many modes: more say more, up to a fifth of the records or so, and take more memory and time
    #[arg(long, value_name = "N", value_parser = up_to(MOST_MODES as u16))]
    modes: usize,
    /// A new file for the fit (.safetensors)
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print what was fitted as JSON
    #[arg(long)]
    json: bool,
    /// Threads of the processor; all by default
    #[arg(long, value_name = "T", value_parser = up_to(MOST_THREADS))]
    threads: Option<usize>,
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    about: &'a About,
    seconds: f64,
}

impl LinearCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        require_writable(&self.out)?;
        let data = Dataset::open(&self.data)?;
        let begin = Instant::now();
        let fitted = Threads::start(self.threads).install(|| self.fit(&data))?;
        fitted.write(&self.out)?;
        self.report(&fitted, begin.elapsed())?;
        Ok(Outcome::Success)
    }

    fn fit(&self, data: &Dataset) -> anyhow::Result<LinearFit> {
        let interrupt = Interrupt::listen()?;
        let progress = Progress::new("fitting", 1);
        let step = |stage: FitStage, done: usize, of: usize| {
            progress.note(&format!("{}, {}%", describe(stage), 100 * done / of.max(1)));
            !interrupt.requested()
        };
        let fitted = fit(data, FitOptions { modes: self.modes }, &FitProgress(&step));
        progress.finish();
        Ok(fitted?)
    }

    fn report(&self, fitted: &LinearFit, spent: Duration) -> anyhow::Result<()> {
        let about = &fitted.about;
        if self.json {
            return print_json(&Summary { about, seconds: spent.as_secs_f64() });
        }
        let [a, u] = about.held_out_percent;
        let held = match about.source.pde.present() {
            PerChannel { a: true, u: true } => {
                format!("{a:.2}% of the variance of a and {u:.2}% of that of u")
            }
            PerChannel { a: true, .. } => format!("{a:.2}% of the variance of a"),
            PerChannel { .. } => format!("{u:.2}% of the variance of u"),
        };
        let fewer = if about.modes < self.modes { ", all that the records have," } else { "" };
        say(&format!(
            "{}, {} modes{fewer} of {} records in {:.1} s",
            about.source.pde,
            grouped(about.modes),
            grouped(about.records - about.held_out - about.calibration),
            spent.as_secs_f64()
        ));
        say(&format!("of {} held-out records they hold {held}", grouped(about.held_out)));
        match about.calibration {
            // An import holds out records to test with, so 100 of them are fewer here.
            0 => warn(&format!(
                "the fit is not calibrated: with fewer than 100 records, and this set has {}, it states no standard deviations and error \
                 bands, and tests no readings",
                grouped(about.records)
            )),
            kept => say(&format!(
                "{} more stay with the fit: its error bands and its tests of readings are measured on them",
                grouped(kept)
            )),
        }
        say(&format!("wrote {}", self.out.display()));
        Ok(())
    }
}

/// A stage in words.
fn describe(stage: FitStage) -> &'static str {
    match stage {
        FitStage::Mean => "mean",
        FitStage::Sketch => "first look at all records",
        FitStage::Pass => "where records vary most",
        FitStage::Orthonormalise => "orthonormal directions",
        FitStage::Variances => "variances",
        FitStage::Modes => "modes",
        FitStage::HeldOut => "held-out records",
    }
}
