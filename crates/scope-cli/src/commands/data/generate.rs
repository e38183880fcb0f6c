//! `scope data generate`.

use std::{path::PathBuf, time::Instant};

use clap::Args;
use scope_data::{Request, generate};
use scope_pde::{Identity, Pde, Split};

use crate::{
    commands::{MOST_THREADS, Outcome, pde_names, resolution, shard::ShardChoice, up_to},
    terminal::{Interrupt, Progress, grouped, say},
    threads::Threads,
};

/// The seed of training data, where none is named.
pub(crate) const DEFAULT_SEED: u64 = 20260913;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope data generate poisson --count 50000 --out data/poisson
  scope data generate darcy --count 1000 --split test --out data/darcy-test
  scope data generate ns --count 50000 --shard 3/20 --out data/ns-03
  srun -n 20 scope data generate ns --count 50000 --shard ranks --out data/ns

The same arguments give the same bytes, whatever the number of threads.
Nothing is left behind when the work is interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Generate {
    /// The problem
    #[arg(value_parser = pde_names())]
    pde: Pde,
    /// Number of records of the whole set
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    count: usize,
    /// Seed of the set
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// Folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// train or test; the two never share a random draw
    #[arg(long, default_value_t = Split::Train, value_name = "SPLIT")]
    split: Split,
    /// Grid points along each axis
    #[arg(long, value_name = "S", default_value_t = 128, value_parser = resolution)]
    resolution: usize,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "T", value_parser = up_to(MOST_THREADS))]
    threads: Option<usize>,
    /// Make the i-th of n parts only, to be joined with `scope data merge`; "ranks" is the part of a process that
    /// torchrun, srun or mpirun has started, in DIR-part-i-of-n
    #[arg(long, value_name = "i/n|ranks")]
    shard: Option<ShardChoice>,
}

impl Generate {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let identity =
            Identity { pde: self.pde, seed: self.seed, split: self.split, resolution: self.resolution };
        let shard = self.shard.map(|shard| shard.of(self.count)).transpose()?;
        let out = match self.shard.zip(shard) {
            Some((choice, shard)) => choice.place(self.out, &shard),
            None => self.out,
        };
        let request = Request { identity, count: self.count, shard };
        let records = shard.map_or(self.count, |shard| shard.records().len());
        let threads = Threads::start(self.threads);
        let interrupt = Interrupt::listen()?;
        let progress = Progress::new(&format!("generate {}", self.pde), records);
        let start = Instant::now();
        let meta = threads.install(|| {
            generate(&request, &out, |done| {
                progress.at(done);
                !interrupt.requested()
            })
        })?;
        progress.finish();
        let seconds = start.elapsed().as_secs_f64();
        say(&format!(
            "wrote {} records of {} ({}) to {} in {seconds:.1} s, {} a second on {} threads",
            grouped(meta.count),
            meta.pde,
            meta.split,
            out.display(),
            grouped((meta.count as f64 / seconds).round() as usize),
            threads.count(),
        ));
        Ok(Outcome::Success)
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a whole number from 1 up".into())
}
