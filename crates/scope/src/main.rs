//! The command-line program: it turns arguments into calls of the libraries, and errors into sentences.

mod commands;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use commands::{Command, Outcome};

/// The exit code of a run that was stopped and saved: "try again later" (sysexits.h, EX_TEMPFAIL).
const INTERRUPTED: u8 = 75;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope demo
  scope data generate poisson --count 2000 --out data/poisson
  scope data check data/poisson
  scope mask --gallery --out gallery.png
  scope train --pde poisson --data data/poisson --model tiny --minutes 10 --out runs/poisson

Exit codes: 0 success, 1 failure, 2 misuse, 75 interrupted with its state saved.";

/// Recover complete physical fields from sparse sensors.
#[derive(Debug, Parser)]
#[command(
    name = "scope",
    version,
    about,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let program = Program::parse();
    match program.command.run() {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::Faults) => ExitCode::FAILURE,
        Ok(Outcome::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(error) => {
            terminal::complain(&error);
            ExitCode::FAILURE
        }
    }
}
