//! The command-line program: it turns arguments into calls of the libraries, and errors into sentences.

mod commands;
mod terminal;

#[cfg(unix)]
use std::sync::Arc;
use std::{ffi::OsString, process::ExitCode};

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, ValueEnum};

use commands::{Command, Outcome};

/// The exit code of a run that was stopped and saved: "try again later" (sysexits.h, EX_TEMPFAIL).
const INTERRUPTED: u8 = 75;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope demo
  scope recover --model poisson --sensors sensors.csv --out recovered
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
    /// Colours in help and errors
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: ColorChoice,
}

/// What `--color` says; it must be known before arguments are read, for these may be wrong.
fn color(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let arguments: Vec<String> = arguments.map(|text| text.to_string_lossy().into_owned()).collect();
    let named = arguments.iter().find_map(|text| text.strip_prefix("--color=").map(str::to_owned));
    let following = || arguments.iter().skip_while(|text| *text != "--color").nth(1).cloned();
    let choice = named.or_else(following).and_then(|text| ColorChoice::from_str(&text, true).ok());
    choice.unwrap_or(ColorChoice::Auto)
}

/// Lets a write beyond the largest file that is allowed (`ulimit -f`) fail as on a full disk, with an error that names the
/// file: by default the signal ends the program without a word.
#[cfg(unix)]
fn survive_large_files() {
    // Without it the program works as well, but for that error.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

fn main() -> ExitCode {
    #[cfg(unix)]
    survive_large_files();
    let matches = Program::command().color(color(std::env::args_os())).get_matches();
    let program = match Program::from_arg_matches(&matches) {
        Ok(program) => program,
        Err(error) => error.exit(),
    };
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
