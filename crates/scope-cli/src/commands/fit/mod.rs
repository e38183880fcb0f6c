//! `scope fit`: what is learned from records without a network.

mod linear;

use clap::Subcommand;

use super::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum FitCommand {
    /// The best linear estimate: POD modes of both fields together, and what they leave out
    Linear(linear::LinearCommand),
}

impl FitCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            FitCommand::Linear(linear) => linear.run(),
        }
    }
}
