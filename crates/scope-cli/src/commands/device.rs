//! `--device` and `--threads`: where to compute.

use anyhow::Context;
use clap::Args;
use scope_engine::{Cuda, Device, DeviceChoice, EngineError};
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
    /// process has the GPU that is named, and the k-th the k-th after it; where a launcher shows each process one GPU
    /// only, that one.
    pub(crate) fn open_for(&self, launch: &Launch) -> anyhow::Result<Device> {
        let first = match self.device {
            DeviceChoice::Cpu => None,
            DeviceChoice::Cuda(number) => Some(number),
            DeviceChoice::Auto => Some(0),
        };
        // Where none can be counted, opening one says why.
        let gpu = match (first, Cuda::count()) {
            (Some(first), Ok(count)) => Some(gpu_of(launch.local_rank, first, count)?),
            (first, _) => first,
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = self.threads.or(Some((cores / launch.local_size).max(1)));
        Self { device: self.device, threads }.open_here(gpu)
    }

    /// Opens the device. `auto` takes the processor, with a note, when no GPU can be used.
    pub(crate) fn open(&self) -> anyhow::Result<Device> {
        self.open_here(match self.device {
            DeviceChoice::Cpu => None,
            DeviceChoice::Cuda(number) => Some(number),
            DeviceChoice::Auto => Some(0),
        })
    }

    /// The same on a GPU of a number, if it is a GPU.
    fn open_here(&self, gpu: Option<usize>) -> anyhow::Result<Device> {
        let processor = || self.threads.map_or_else(Device::all_threads, Device::cpu);
        let Some(number) = gpu else { return Ok(processor()) };
        match (self.device, Device::cuda(number)) {
            (_, Ok(gpu)) => Ok(gpu),
            (DeviceChoice::Auto, Err(EngineError::Unavailable { what, .. })) => {
                note(&format!("computing on the processor: {what}"));
                Ok(processor())
            }
            (DeviceChoice::Auto, Err(error)) => {
                Err(error).context("--device auto found a GPU that cannot be used")
            }
            (DeviceChoice::Cpu | DeviceChoice::Cuda(_), Err(error)) => {
                Err(error).context("--device cuda (--device cpu needs no GPU)")
            }
        }
    }
}

/// The GPU of one of the processes on a machine, counted from the first that they may use, where each sees `count`.
/// Never one that another process has: two that share a GPU take twice as long, and stop for want of memory.
fn gpu_of(local_rank: usize, first: usize, count: usize) -> Result<usize, Misuse> {
    let wanted = first + local_rank;
    // A launcher that shows each process one GPU may show each another: where two show the same, they find out when
    // they meet.
    let only = count == 1 && first == 0;
    if wanted < count || local_rank == 0 || count == 0 {
        return Ok(wanted);
    }
    if only {
        return Ok(0);
    }
    Err(Misuse::of(format!(
        "process {local_rank} of this machine, counted from 0, would compute on cuda:{wanted}, and the driver lists {count} \
         GPUs, counted from 0: start one process for each GPU from cuda:{first} on, or train on processors with --device cpu"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_has_a_gpu_of_its_own_or_is_refused() {
        let gpus = |first, count| [0, 1, 2].map(|rank| gpu_of(rank, first, count).ok());
        assert_eq!(gpus(0, 4), [Some(0), Some(1), Some(2)]);
        assert_eq!(gpus(1, 4), [Some(1), Some(2), Some(3)]);
        assert_eq!(gpus(0, 2), [Some(0), Some(1), None]);
        // A launcher has hidden all but one from each.
        assert_eq!(gpus(0, 1), [Some(0); 3]);
        assert_eq!(gpus(1, 1), [Some(1), None, None]);
        let said = gpu_of(2, 0, 2).unwrap_err().to_string();
        assert!(said.contains("cuda:2") && said.contains("the driver lists 2 GPUs"), "{said}");
    }
}
