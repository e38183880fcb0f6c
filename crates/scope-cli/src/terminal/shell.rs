//! Paths in commands that are printed to be typed.

use std::path::Path;

/// A path as a shell reads it: in quotes where it needs them, and not to be taken for an option.
pub(crate) fn for_shell(path: &Path) -> String {
    let mut text = path.display().to_string();
    if text.starts_with('-') {
        text.insert_str(0, "./");
    }
    let plain = |c: char| c.is_alphanumeric() || "_-./:,+@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        let shown = ["runs/a-1.csv", "my demo", "it's", "$HOME", "~x", "-out", ""]
            .map(|path| for_shell(Path::new(path)));
        assert_eq!(shown, ["runs/a-1.csv", "'my demo'", r"'it'\''s'", "'$HOME'", "'~x'", "./-out", "''"]);
    }
}
