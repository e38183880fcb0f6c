//! `scope data info`.

use std::path::PathBuf;

use clap::Args;
use scope_data::Dataset;

use crate::{
    commands::Outcome,
    terminal::{Table, grouped, print_json, say, significant},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope data info data/poisson";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Info {
    /// A dataset folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print meta.json instead
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let set = Dataset::inspect(&self.folder)?;
        let meta = set.meta();
        if self.json {
            print_json(meta)?;
            return Ok(Outcome::Success);
        }
        say(&format!(
            "{}: {} records of {} ({}), {}",
            self.folder.display(),
            grouped(meta.count),
            meta.pde,
            meta.split,
            meta.resolution
        ));
        say(&meta.origin.describe(meta.pde));
        if let Some(shard) = meta.shard {
            say(&format!(
                "part {} of {}, of a set of {} records",
                shard.part,
                shard.of,
                grouped(shard.total)
            ));
        }
        let mut table = Table::new(&["channel", "what", "mean", "sigma", "rms", "zero records"]);
        for ((name, channel), what) in meta.channels().into_iter().zip(meta.pde.channels()) {
            table.row([
                name.into(),
                what.into(),
                significant(channel.mean, 9),
                significant(channel.sigma, 9),
                significant(channel.rms, 6),
                channel.zero_records.len().to_string(),
            ]);
        }
        say(&format!("\n{table}\nstored = (physical - mean) / (2 sigma)"));
        for (name, hash) in &meta.blake3 {
            say(&format!("BLAKE3 of {name}: {hash}"));
        }
        Ok(Outcome::Success)
    }
}
