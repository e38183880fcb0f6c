//! What help ends with: examples as they are written, since a command broken at the width of a terminal could not be
//! pasted, and prose in lines that every terminal has room for.

use clap::Command;

/// How help begins, with the options; what follows is not broken into lines.
const BEFORE: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}";

/// A terminal has at least so many columns.
const COLUMNS: usize = 80;

/// Puts what help of a command and of all below it ends with into the template, which alone is printed as it is.
pub(crate) fn with_unbroken_examples(command: Command) -> Command {
    let command = command.mut_subcommands(with_unbroken_examples);
    match command.get_after_help().map(ToString::to_string) {
        Some(ending) => command.help_template(format!("{BEFORE}\n\n{}", with_prose_filled(&ending))),
        None => command,
    }
}

/// A text whose prose has lines of 80 columns at most. Lines that are indented are examples or parts of a list, and
/// stay.
fn with_prose_filled(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let is_prose = paragraph.lines().all(|line| !line.starts_with(' '));
        if is_prose { filled(paragraph) } else { paragraph.to_owned() }
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn filled(paragraph: &str) -> String {
    let mut lines = vec![String::new()];
    for word in paragraph.split_whitespace() {
        let line = lines.last_mut().filter(|line| line.len() + 1 + word.len() <= COLUMNS);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.extend([" ", word]),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_fits_a_terminal_and_examples_stay_as_they_are() {
        let example = format!("Example:\n  scope recover --out {}", "long".repeat(30));
        let text = format!("{example}\n\n{}\nlast words.", "word ".repeat(40).trim_end());
        let filled = with_prose_filled(&text);
        let (first, prose) = filled.split_at(example.len());
        assert_eq!(first, example);
        assert!(prose.lines().all(|line| line.len() <= COLUMNS), "{prose}");
        assert_eq!(prose.split_whitespace().count(), 42);
        assert!(prose.ends_with("word last words."), "{prose}");
    }
}
