//! `scope completions`: scripts for shells.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::Outcome;
use crate::terminal::say_exactly;

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
        say_exactly(&script);
        Ok(Outcome::Success)
    }
}
