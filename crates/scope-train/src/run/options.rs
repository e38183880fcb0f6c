//! Options of a run that change how it goes, and nothing that it computes.

use std::time::Duration;

use scope_engine::Device;

/// Number of threads whose masks keep ahead of any step on a CPU.
const CPU_THREADS: usize = 2;

/// Options of a run: threads and checkpoints. None of them changes what it computes.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Threads that make batches.
    pub threads: usize,
    /// Time between two checkpoints.
    pub save_every: Duration,
    /// Checkpoints kept beside milestones.
    pub keep: usize,
    /// Checkpoints kept for good, evenly over the run, each with the model of that moment.
    pub milestones: u64,
}

impl Default for RunOptions {
    /// Settings for a CPU, with a checkpoint every five minutes.
    fn default() -> Self {
        Self { threads: CPU_THREADS, save_every: Duration::from_secs(300), keep: 2, milestones: 0 }
    }
}

impl RunOptions {
    /// The threads that keep ahead of a device's steps. On a GPU 125 draws may take a millisecond, and their masks take
    /// four.
    pub fn threads_for(device: &Device) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match device {
            Device::Cuda(_) => (cores / 2).clamp(CPU_THREADS, 8),
            _ => CPU_THREADS,
        }
    }
}
