//! `scope demo`: the program at work in one command.

use clap::Args;
use scope_data::{Dataset, Request, check, generate};
use scope_pde::{Identity, Pde, Split};

use super::{Outcome, data::print_report, pde_names};
use crate::terminal::{Progress, say};

/// Enough for a first look, made in seconds.
const RECORDS: usize = 64;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope demo --pde darcy";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    /// The problem
    #[arg(long, default_value_t = Pde::Poisson, value_parser = pde_names())]
    pde: Pde,
}

impl Demo {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let pde = self.pde;
        let folder = tempfile::tempdir()?;
        let out = folder.path().join("demo");
        let identity = Identity { pde, seed: 1, split: Split::Train, resolution: 128 };
        say(&format!("Making {RECORDS} fresh records of {pde} with our own solver, and checking them."));
        let progress = Progress::new(&format!("generate {pde}"), RECORDS);
        generate(&Request { identity, count: RECORDS, shard: None }, &out, |done| {
            progress.at(done);
            true
        })?;
        progress.finish();
        let set = Dataset::open(&out)?;
        let report = check(&set)?;
        print_report(set.meta(), &report);
        say(&format!(
            "\nTo do the same with a set of your own:\n  \
             scope data generate {pde} --count 2000 --out data/{pde}\n  \
             scope data check data/{pde}"
        ));
        Ok(if report.faults.is_empty() { Outcome::Success } else { Outcome::Faults })
    }
}
