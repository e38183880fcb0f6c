//! `scope bench`: the program's own figures on this machine.

mod generate;
mod infer;
mod reduction;
mod train;

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use scope_data::PerChannel;
use scope_engine::Device;
use scope_model::{FitConfig, ModelConfig, Preset};
use serde::Serialize;

use super::{Misuse, Outcome, device::DeviceArguments};

/// The largest batch: far more than fills any device.
const MOST_AT_ONCE: u16 = 4096;

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
    /// Give a SCOPE network local fits of the sensors at these scales, in pixels
    #[arg(long, value_name = "SCALE,...", value_delimiter = ',')]
    fits: Vec<f64>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// The ridge of the fits that are measured: that of the recipe `muon-fits`.
const RIDGE: [f64; 2] = [1e-6, 1e-8];

impl Measuring {
    /// The network of a size on 128 x 128, with the fits that were asked for.
    fn network(&self, preset: Preset) -> anyhow::Result<ModelConfig> {
        let fits = || FitConfig {
            scales: self.fits.clone(),
            degree: 4,
            stride: 4,
            ridge: RIDGE.to_vec(),
            periodic: [false; 2],
            edges: PerChannel::default(),
        };
        let config = ModelConfig { fits: (!self.fits.is_empty()).then(fits), ..preset.config(128) };
        config.validate().map_err(Misuse::of)?;
        Ok(config)
    }
}

/// How much arithmetic was done a second, beside the most that the device was seen to do.
#[derive(Clone, Copy, Debug, Serialize)]
struct Speed {
    /// Products of the network, in TFLOP/s.
    tflops: f64,
    /// The library's product of two square matrices of 8192 bf16 numbers, in TFLOP/s; GPUs only.
    ceiling_tflops: Option<f64>,
}

impl Speed {
    fn of(operations: f64, time: Duration, ceiling: Option<f64>) -> Self {
        Self {
            tflops: operations / time.as_secs_f64() / 1e12,
            ceiling_tflops: ceiling.map(|rate| rate / 1e12),
        }
    }

    /// The cells of a table: TFLOP/s, and the share of the ceiling.
    fn cells(speed: Option<Self>) -> [String; 2] {
        let absent = || "-".to_owned();
        let tflops = speed.map_or_else(absent, |speed| format!("{:.3}", speed.tflops));
        let share = speed.and_then(|speed| Some(speed.tflops / speed.ceiling_tflops?));
        [tflops, share.map_or_else(absent, |share| format!("{:.0}%", 100.0 * share))]
    }
}

/// What a device multiplies at best, in operations a second, if it is a GPU.
fn ceiling(device: &Device) -> anyhow::Result<Option<f64>> {
    match device {
        Device::Cpu(_) => Ok(None),
        Device::Cuda(cuda) => Ok(Some(cuda.product_rate()?)),
    }
}

/// The fewest times that a measurement repeats its work.
const LEAST: usize = 5;

/// The median time of some work, repeated for a while after one run that warms up.
fn median_time(seconds: f64, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    work()?;
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < LEAST || begin.elapsed().as_secs_f64() < seconds {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

/// The median of times that a GPU measures itself, for so long or, if it is named, so often.
fn median_card_time(
    seconds: f64,
    count: Option<usize>,
    mut work: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Duration> {
    work()?;
    let begin = Instant::now();
    let mut times = Vec::new();
    let goes_on = |done: usize| match count {
        Some(count) => done < count,
        None => done < LEAST || begin.elapsed().as_secs_f64() < seconds,
    };
    while goes_on(times.len()) {
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
