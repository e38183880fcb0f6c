//! `scope completions`: scripts for shells.

use std::io;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::Outcome;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope completions bash > ~/.local/share/bash-completion/completions/scope
  scope completions zsh > \"${fpath[1]}/_scope\"
  scope completions fish > ~/.config/fish/completions/scope.fish";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        generate(self.shell, &mut crate::Program::command(), "scope", &mut script);
        // A reader that has gone away is no failure.
        let _ = io::Write::write_all(&mut io::stdout(), &script);
        Ok(Outcome::Success)
    }
}
