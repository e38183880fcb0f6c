//! `scope model`: models and their sizes.

mod info;

use clap::Subcommand;

use super::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Count a model's parameters, part by part
    Info(info::ModelInfo),
}

impl ModelCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            ModelCommand::Info(info) => info.run(),
        }
    }
}
