//! The command-line program: it turns arguments into calls of the libraries, and errors into sentences.

mod commands;
mod terminal;
mod threads;

#[cfg(unix)]
use std::sync::Arc;
use std::{ffi::OsString, process::ExitCode};

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, ValueEnum};

use commands::{Command, Misuse, Outcome};

/// The exit code of anything that failed.
const FAILURE: u8 = 1;
/// The exit code of arguments that make no sense; the parser of arguments has the same.
const MISUSE: u8 = 2;
/// The exit code of work that was done, and written, though the data contradict the model.
const CONTRADICTED: u8 = 3;
/// The exit code of a run that was stopped and saved: "try again later" (sysexits.h, EX_TEMPFAIL).
const INTERRUPTED: u8 = 75;

/// Where options that all commands have stand in their help: below their own.
const LAST: usize = 1000;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope demo
  scope recover --model poisson --sensors sensors.csv --out recovered
  scope data generate poisson --count 2000 --out data/poisson
  scope data check data/poisson
  scope mask --gallery --out gallery.png
  scope train --pde poisson --data data/poisson --model tiny --minutes 10 --out runs/poisson

Exit codes: 0 success, 1 failure, 2 misuse, 3 done but the data contradict the model,
75 interrupted with the state saved.";

/// Recover complete physical fields from sparse sensors.
#[derive(Debug, Parser)]
#[command(
    name = "scope",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct Program {
    #[command(subcommand)]
    command: Command,
    /// Colours in help and errors
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true, display_order = LAST)]
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

/// Lets a write beyond the largest file that is allowed (`ulimit -f`) fail as on a full disk, with an error that names
/// the file: by default the signal ends the program without a word.
#[cfg(unix)]
fn survive_large_files() {
    // Without it the program works as well, but for that error.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

fn main() -> ExitCode {
    #[cfg(unix)]
    survive_large_files();
    let program = terminal::with_unbroken_examples(Program::command());
    let matches = program.color(color(std::env::args_os())).try_get_matches();
    let code = match matches.and_then(|matches| Program::from_arg_matches(&matches)) {
        Ok(program) => run(program),
        Err(answer) => show(&answer),
    };
    let Err(error) = terminal::require_all_written() else { return ExitCode::from(code) };
    terminal::complain(&error);
    // Whoever starts an interrupted run again must still be able to tell it.
    ExitCode::from(if code == INTERRUPTED { INTERRUPTED } else { FAILURE })
}

/// Does what was asked; returns the exit code.
fn run(program: Program) -> u8 {
    match threads::with_threads(|| program.command.run()) {
        Ok(Outcome::Success) => 0,
        Ok(Outcome::Faults) => FAILURE,
        Ok(Outcome::Contradicted) => CONTRADICTED,
        Ok(Outcome::Interrupted) => INTERRUPTED,
        Err(error) => {
            terminal::complain(&error);
            if error.is::<Misuse>() { MISUSE } else { FAILURE }
        }
    }
}

/// Prints help, the version, or what is wrong with the arguments; returns the exit code.
fn show(answer: &clap::Error) -> u8 {
    // Help has colours of its own; an argument that a terminal would obey is shown without any.
    let harmless = |argument: OsString| {
        let argument = argument.to_string_lossy();
        terminal::visible(&argument) == argument && !argument.contains('\n')
    };
    if answer.use_stderr() && !std::env::args_os().all(harmless) {
        terminal::tell(answer.render().to_string().trim_end());
        return u8::try_from(answer.exit_code()).unwrap_or(FAILURE);
    }
    let printed = answer.print();
    if !answer.use_stderr() {
        terminal::remember_failure(printed);
    }
    u8::try_from(answer.exit_code()).unwrap_or(FAILURE)
}
