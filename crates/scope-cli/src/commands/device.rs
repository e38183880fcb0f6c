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

    /// Opens the device of one of several processes on a machine: its share of the processors, or a GPU. The first
    /// process has the GPU that is named, the k-th the k-th after it, or the same where each sees one only.
    pub(crate) fn open_for(&self, launch: &Launch) -> anyhow::Result<Device> {
        let first = match self.device {
            DeviceChoice::Cpu => None,
            DeviceChoice::Cuda(number) => Some(number),
            DeviceChoice::Auto => Some(0),
        };
        let own =
            first.filter(|_| launch.local_rank > 0).map(|first| Device::cuda(first + launch.local_rank));
        if let Some(Ok(gpu)) = own {
            return Ok(gpu);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.or(Some((cores / launch.local_size).max(1)));
        Self { device: self.device, threads }.open()
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
