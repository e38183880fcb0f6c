//! Examples in help as they are written: broken at the width of a terminal, a command could not be pasted.

use clap::Command;

/// How help begins, with the options; what follows is not broken into lines.
const BEFORE: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}";

/// Puts what help of a command and of all below it ends with into the template, which alone is printed as it is.
pub(crate) fn with_unbroken_examples(command: Command) -> Command {
    let command = command.mut_subcommands(with_unbroken_examples);
    match command.get_after_help().map(ToString::to_string) {
        Some(examples) => command.help_template(format!("{BEFORE}\n\n{examples}")),
        None => command,
    }
}
