//! `--device` and `--threads`: where to compute.

use anyhow::Context;
use clap::Args;
use scope_engine::{Device, DeviceChoice, EngineError};
use scope_parallel::Launch;

use super::{MOST_THREADS, Misuse, up_to};
use crate::{terminal::note, threads::Threads};

/// Where to compute.
#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// Where to compute: auto, cpu, cuda or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
    /// Threads of the processor; all by default
    #[arg(long, value_name = "T", value_parser = up_to(MOST_THREADS))]
    threads: Option<usize>,
}

impl DeviceArguments {
    /// Refuses a GPU for work that is done on the processor only.
    pub(crate) fn require_processor(&self, what: &str) -> anyhow::Result<()> {
        anyhow::ensure!(
            !matches!(self.device, DeviceChoice::Cuda(_)),
            Misuse::of(format!("{what} is computed on the processor: leave --device out"))
        );
        Ok(())
    }

    /// Threads for work that has no use for a device.
    pub(crate) fn pool(&self) -> Threads {
        Threads::start(self.threads)
    }

    /// The same for one of several processes on a machine: each has its share of the processors, and a GPU of its own unless
    /// one is named.
    pub(crate) fn of_process(&self, launch: &Launch) -> Self {
        let device = match self.device {
            DeviceChoice::Auto if Device::cuda(launch.local_rank).is_ok() => {
                DeviceChoice::Cuda(launch.local_rank)
            }
            DeviceChoice::Auto => DeviceChoice::Cpu,
            named => named,
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { device, threads: self.threads.or(Some((cores / launch.local_size).max(1))) }
    }

    /// Opens the device. `auto` takes the processor, with a note, when no GPU can be used.
    pub(crate) fn open(&self) -> anyhow::Result<Device> {
        let processor = || self.threads.map_or_else(Device::all_threads, Device::cpu);
        match self.device {
            DeviceChoice::Cpu => Ok(processor()),
            DeviceChoice::Cuda(number) => {
                Device::cuda(number).context("--device cuda (--device cpu needs no GPU)")
            }
            DeviceChoice::Auto => match Device::cuda(0) {
                Ok(gpu) => Ok(gpu),
                Err(EngineError::Unavailable { what, .. }) => {
                    note(&format!("computing on the processor: {what}"));
                    Ok(processor())
                }
                Err(error) => Err(error).context("--device auto found a GPU that cannot be used"),
            },
        }
    }
}
