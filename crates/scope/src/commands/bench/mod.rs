//! `scope bench`: the program's own figures on this machine.

mod generate;
mod infer;
mod train;

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use scope_engine::Device;

use super::{Outcome, device::DeviceArguments};

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// How fast one core makes records
    Generate(generate::BenchGenerate),
    /// How fast a model recovers fields
    Infer(infer::BenchInfer),
    /// How fast a model takes training steps
    Train(train::BenchTrain),
}

impl BenchCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            BenchCommand::Generate(generate) => generate.run(),
            BenchCommand::Infer(infer) => infer.run(),
            BenchCommand::Train(train) => train.run(),
        }
    }
}

/// What measurements of networks have in common.
#[derive(Debug, Args)]
struct Measuring {
    #[command(flatten)]
    device: DeviceArguments,
    /// How long to measure each row
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// The fewest times that a measurement repeats its work.
const LEAST: usize = 5;

/// The median time of some work, repeated for a while after one run that warms up.
fn median_time(seconds: f64, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    work()?;
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < LEAST || begin.elapsed().as_secs_f64() < seconds {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

/// The median of times that a card measures itself.
fn median_card_time(seconds: f64, mut work: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<Duration> {
    work()?;
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < LEAST || begin.elapsed().as_secs_f64() < seconds {
        times.push(work()?);
    }
    times.sort_by(f64::total_cmp);
    Ok(Duration::from_secs_f64(times[times.len() / 2]))
}

/// A device in a few words.
fn device_name(device: &Device) -> String {
    match device {
        Device::Cpu(cpu) => format!("cpu, {} threads", cpu.threads()),
        Device::Cuda(cuda) => cuda.name().to_owned(),
    }
}
