//! One file per command.

mod bench;
mod data;
mod demo;

use clap::{
    Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_pde::Pde;

/// How a command that ran to its end turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Success,
    /// The command did its work and found something wrong with what it was given.
    Faults,
}

/// Reads the name of a problem; a misspelt one gets a suggestion.
fn pde_names() -> impl TypedValueParser<Value = Pde> {
    PossibleValuesParser::new(Pde::ALL.map(Pde::name)).try_map(|name| name.parse::<Pde>())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See the program at work: make a small set and check it
    Demo(demo::Demo),
    /// Make, import, check and join data sets
    #[command(subcommand)]
    Data(data::DataCommand),
    /// Measure this program on this machine
    #[command(subcommand)]
    Bench(bench::BenchCommand),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Command::Demo(demo) => demo.run(),
            Command::Data(data) => data.run(),
            Command::Bench(bench) => bench.run(),
        }
    }
}
