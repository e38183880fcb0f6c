//! What `--help` ends with, which is there to be pasted.

use crate::program::succeed;

/// Lines of help that name a command under `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    // A description that goes on in another line is indented further than a name.
    let named = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = named.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The text of examples in the source: what is printed must hold each of its lines.
fn written() -> Vec<String> {
    let mut lines = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            for examples in text.split("const EXAMPLES: &str = \"\\\n").skip(1) {
                let examples = examples.split("\";\n").next().unwrap();
                let printed = examples.replace("\\\"", "\"").replace("\\\\", "\\");
                lines.extend(printed.lines().filter(|line| !line.is_empty()).map(str::to_owned));
            }
        }
    }
    lines
}

/// The help of the program and of every command, a page each.
fn pages() -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    let mut pages = vec![succeed(root.path(), &["--help"])];
    for name in commands(&pages[0]) {
        let help = succeed(root.path(), &[&name, "--help"]);
        pages.extend(commands(&help).iter().map(|below| succeed(root.path(), &[&name, below, "--help"])));
        pages.push(help);
    }
    pages
}

/// All pages, one after the other.
fn all_help() -> String {
    pages().concat()
}

#[test]
fn options_of_all_commands_stand_below_a_command_s_own() {
    for page in pages() {
        let is_option = |line: &&str| line.starts_with("  -h, ") || line.starts_with("      --");
        let options = page.lines().take_while(|line| !line.starts_with("Example")).filter(is_option);
        let mut after = options.skip_while(|line| !line.contains("--color")).skip(1);
        assert!(after.all(|line| line.contains("--help") || line.contains("--version")), "{page}");
    }
}

/// Commands are printed in one line, to be pasted; sentences in lines that every terminal has room for.
#[test]
fn sentences_below_examples_fit_a_terminal() {
    for page in pages() {
        let ending = page.lines().skip_while(|line| !line.starts_with("Example"));
        for line in ending.filter(|line| !line.starts_with(' ')) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// An option whose values have help of their own would be listed over several lines, and all others with it.
#[test]
fn every_page_has_the_same_layout() {
    let all = all_help();
    assert!(all.contains("[possible values: physical, stored]"));
    assert!(!all.contains("Possible values:"), "{all}");
}

#[test]
fn examples_are_printed_as_they_are_written() {
    let all = all_help();
    let lines: Vec<&str> = all.lines().collect();
    let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
    let written = written();
    assert!(written.len() > 60, "{written:?}");
    for line in &written {
        let is_printed =
            if line.starts_with(' ') { lines.contains(&line.as_str()) } else { words.contains(line) };
        assert!(is_printed, "not printed as it is written: {line}");
    }
    assert!(written.iter().any(|line| line.len() > 100), "none would be broken anyway");
}
