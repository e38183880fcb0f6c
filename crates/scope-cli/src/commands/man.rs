//! `scope man`: pages for the program `man`.

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{Args, CommandFactory};

use super::Outcome;
use crate::terminal::say;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope man --out ~/.local/share/man/man1
  man scope-recover";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// The folder of the pages; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Man {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let out = &self.out;
        fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
        clap_mangen::generate_to(crate::Program::command(), out)
            .with_context(|| format!("cannot write the pages into {}", out.display()))?;
        say(&format!("wrote the manual: man {}/scope.1", out.display()));
        Ok(Outcome::Success)
    }
}
