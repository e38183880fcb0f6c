//! What stands between the cells of a table.

/// What stands between cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    Character(char),
    Spaces,
}

impl Separator {
    /// Told by a line: a semicolon or a tab is never part of a number, a comma may be. Tabs around the line are no
    /// sign: any line may be indented.
    pub(super) fn of(line: &str) -> Self {
        let line = line.trim();
        let found = [';', '\t', ','].into_iter().find(|character| line.contains(*character));
        found.map_or(Separator::Spaces, Separator::Character)
    }

    /// The separator that a first line states for Excel, as in `sep=;`.
    pub(super) fn stated(line: &str) -> Option<Self> {
        let line = line.trim_end_matches('\r').trim_matches('"');
        let (key, separator) = line.split_at_checked(4)?;
        match separator {
            _ if !key.eq_ignore_ascii_case("sep=") => None,
            ";" | "," | "\t" | "|" => separator.chars().next().map(Separator::Character),
            " " => Some(Separator::Spaces),
            _ => None,
        }
    }

    /// The cells of a line, without surrounding spaces and quotation marks. The line comes as it is in the file: a tab
    /// at its beginning or end stands beside an empty cell.
    pub(super) fn split<'a>(self, line: &'a str, cells: &mut Vec<&'a str>) {
        cells.clear();
        match self {
            Separator::Spaces => cells.extend(line.split_whitespace().map(unquoted)),
            Separator::Character(separator) if line.contains('"') => {
                let mut quoted = false;
                let between = move |character: char| {
                    quoted ^= character == '"';
                    character == separator && !quoted
                };
                cells.extend(line.split(between).map(unquoted));
            }
            Separator::Character(separator) => cells.extend(line.split(separator).map(str::trim)),
        }
    }
}

fn unquoted(cell: &str) -> &str {
    let cell = cell.trim();
    cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).map_or(cell, str::trim)
}
