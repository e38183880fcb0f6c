//! `scope data`: sets of records.

mod check;
mod generate;
mod import;
mod import_own;
mod info;
mod merge;

use clap::Subcommand;

use super::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Make a set with the solvers
    Generate(generate::Generate),
    /// Join the shards of a set
    Merge(merge::Merge),
    /// Read other people's files
    Import(Box<import::Import>),
    /// Compare a set with what is known of its distribution
    Check(check::Check),
    /// Say what a folder holds
    Info(info::Info),
}

impl DataCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            DataCommand::Generate(generate) => generate.run(),
            DataCommand::Merge(merge) => merge.run(),
            DataCommand::Import(import) => import.run(),
            DataCommand::Check(check) => check.run(),
            DataCommand::Info(info) => info.run(),
        }
    }
}
