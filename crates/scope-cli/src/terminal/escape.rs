//! Foreign text made safe to print. Cells, cards, recipes, names of files and of arrays come from others, and a
//! terminal obeys the control characters in them: they set its title, clear it, or turn around what stands beside them.
//! Everything that the program prints passes here, on its way out, so that no message can forget it.

use std::borrow::Cow;

/// A text with its control characters as escapes, as in `\u{1b}`. Line breaks stay: our own text has them.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_control(c), |c| c.escape_unicode().to_string())
}

/// A text that must stay on one line, as a cell of a table.
pub(super) fn visible_in_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_control, |c| c.escape_unicode().to_string())
}

/// JSON, whose own escapes keep its meaning. Below U+0020 a JSON text has line breaks only; the rest is inside strings.
pub(super) fn visible_json(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_control(c), |c| format!("\\u{:04x}", u32::from(c)))
}

/// Whether a terminal may obey a character instead of showing it: the control characters of ASCII and Latin-1,
/// separators of lines and paragraphs, and the marks that turn the direction of writing.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, bad: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) {
            out.push_str(&escape(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        let hostile: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(visible(&hostile).chars().all(|c| c == '\n' || !is_control(c)));
        assert!(!visible_in_one_line(&hostile).contains(is_control));
        assert_eq!(visible("a\u{1b}]0;x\u{7}\nb\u{9b}\u{202e}"), "a\\u{1b}]0;x\\u{7}\nb\\u{9b}\\u{202e}");
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        let text = "Größe 5 µm, 日本, −3\nand a second line";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = "\u{1b}\u{7f}\u{9b}\u{202e}\n";
        let text = serde_json::to_string_pretty(&[value]).unwrap();
        let shown = visible_json(&text);
        assert!(shown.chars().all(|c| c == '\n' || !is_control(c)));
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [value]);
    }
}
