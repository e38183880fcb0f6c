//! How the program speaks: results to standard output, everything else to standard error.

mod escape;
mod help;
mod interrupt;
mod progress;
mod remedy;
mod shell;
mod table;

use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

pub(crate) use escape::visible;
pub(crate) use help::with_unbroken_examples;
pub(crate) use interrupt::Interrupt;
pub(crate) use progress::Progress;
pub(crate) use scope_data::significant;
pub(crate) use scope_eval::report::grouped;
pub(crate) use shell::for_shell;
pub(crate) use table::Table;

/// The first failure to write to standard output. Work goes on, and the program fails in the end.
static FIRST_FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Which rank of several processes speaks; rank 0 speaks for all, and others complain only.
static RANK: OnceLock<usize> = OnceLock::new();

/// Speaks as one of several processes from now on.
pub(crate) fn speak_as(rank: usize) {
    // Set once, by the command that the program was started for.
    let _ = RANK.set(rank);
}

/// The rank of a process that another one speaks for.
fn silent_rank() -> Option<usize> {
    RANK.get().copied().filter(|rank| *rank > 0)
}

/// Prints a line of results.
pub(crate) fn say(line: &str) {
    if silent_rank().is_some() {
        return;
    }
    remember_failure(writeln!(io::stdout(), "{}", visible(line)));
}

/// Prints a text of our own as it is; nothing foreign may be in it.
pub(crate) fn say_exactly(text: &[u8]) {
    remember_failure(io::stdout().write_all(text));
}

/// Remembers that standard output could not be written. A reader that has gone away, as `head` does, is no failure.
pub(crate) fn remember_failure(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // Only the first failure is reported.
        let _ = FIRST_FAILURE.set(error);
    }
}

/// Makes sure that everything printed has arrived.
pub(crate) fn require_all_written() -> anyhow::Result<()> {
    remember_failure(io::stdout().flush());
    match FIRST_FAILURE.get() {
        Some(error) => anyhow::bail!(
            "cannot write to standard output: {error}; what was printed is incomplete: print it elsewhere, or make room"
        ),
        None => Ok(()),
    }
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    remember_failure(writeln!(io::stdout(), "{}", escape::visible_json(&text)));
    Ok(())
}

/// Prints a line that is no result.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(line));
}

/// Tells of an error, what caused it, and what to do where a path was refused.
pub(crate) fn complain(error: &anyhow::Error) {
    let who = silent_rank().map_or_else(String::new, |rank| format!("rank {rank}: "));
    tell(&format!("{who}error: {}", sentence(error)));
}

fn sentence(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Our own errors already name their cause.
        if !line.ends_with(&cause) {
            line.push_str(&format!(": {cause}"));
        }
    }
    let refusal = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>());
    // An error that says more than the refusal has its own remedy.
    if let Some(refusal) = refusal.filter(|refusal| line.ends_with(&refusal.to_string()))
        && let Some(remedy) = remedy::remedy(refusal)
    {
        line.push_str(&format!("; {remedy}"));
    }
    if let Some(options) = error.chain().find_map(remedy::options) {
        line.push_str(&format!(" ({options})"));
    }
    line
}

/// Tells of something wrong with what was given.
pub(crate) fn complain_of(fault: &str) {
    tell(&format!("fault: {fault}"));
}

/// Tells someone who is watching of a choice that was made.
pub(crate) fn note(line: &str) {
    if io::stderr().is_terminal() {
        notice(line);
    }
}

/// Tells of a choice that decides what comes out, whether anyone is watching or not.
pub(crate) fn notice(line: &str) {
    if silent_rank().is_some() {
        return;
    }
    tell(&format!("note: {line}"));
}

/// Tells of something that may be wrong.
pub(crate) fn warn(line: &str) {
    if silent_rank().is_some() {
        return;
    }
    tell(&format!("warning: {line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_threes() {
        assert_eq!([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
