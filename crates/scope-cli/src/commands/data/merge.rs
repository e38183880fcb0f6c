//! `scope data merge`.

use std::path::PathBuf;

use clap::Args;
use scope_data::{Dataset, merge};

use crate::{
    commands::Outcome,
    terminal::{Interrupt, Progress, grouped, say},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope data merge data/ns-* --out data/ns

The result equals, in every byte, the set that one run would have made.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// The folders of all parts, in any order
    #[arg(required = true, value_name = "DIR")]
    shards: Vec<PathBuf>,
    /// Folder to write
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Merge {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let opened: Vec<Dataset> =
            self.shards.iter().map(|shard| Dataset::inspect(shard)).collect::<Result<_, _>>()?;
        let progress = Progress::new("merge", opened.iter().map(Dataset::len).sum());
        let interrupt = Interrupt::listen()?;
        let meta = merge(&self.shards, &self.out, |done| {
            progress.at(done);
            !interrupt.requested()
        })?;
        progress.finish();
        say(&format!(
            "joined {} records of {} ({}) in {}",
            grouped(meta.count),
            meta.pde,
            meta.split,
            self.out.display()
        ));
        Ok(Outcome::Success)
    }
}
