//! Tables as Markdown, LaTeX and CSV.

use std::{fmt::Write, str::FromStr};

use scope_model::{UnknownName, named};

use super::table::{Cell, Mark, Number, Table};

/// A notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Markdown, as code hosts show it.
    Markdown,
    /// For papers; needs the package booktabs.
    Latex,
    /// For machines: one figure a line.
    Csv,
}

impl Format {
    /// All notations.
    pub const ALL: [Self; 3] = [Format::Markdown, Format::Latex, Format::Csv];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Markdown => "md",
            Format::Latex => "tex",
            Format::Csv => "csv",
        }
    }

    /// Writes tables one after the other.
    pub fn write(self, tables: &[Table]) -> String {
        let parts: Vec<String> = match self {
            Format::Markdown => tables.iter().map(markdown).collect(),
            Format::Latex => tables.iter().map(latex).collect(),
            Format::Csv => {
                let head = "table,section,row,column,value,sd,place\n".to_owned();
                return tables.iter().map(csv).fold(head, |all, part| all + &part);
            }
        };
        parts.join("\n")
    }
}

impl FromStr for Format {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("format", Self::ALL, Self::name, name)
    }
}

/// The digits of a figure, with its deviation.
fn digits(number: &Number, between: &str) -> String {
    let decimals = number.decimals;
    match number.sd {
        Some(sd) => format!("{:.decimals$}{between}{sd:.decimals$}", number.value),
        None => format!("{:.decimals$}", number.value),
    }
}

fn markdown(table: &Table) -> String {
    let mut out = format!("### {}\n\n", table.title);
    let cells = |row: &[String]| format!("| {} |\n", row.join(" | "));
    out.push_str(&cells(&table.columns.iter().map(|head| head.replace('|', "\\|")).collect::<Vec<_>>()));
    let rule: Vec<String> =
        (0..table.columns.len()).map(|k| if k == 0 { "---" } else { "---:" }.to_owned()).collect();
    out.push_str(&cells(&rule));
    for section in table.sections.iter().filter(|section| !section.rows.is_empty()) {
        if !section.title.is_empty() {
            let mut heading = vec![String::new(); table.columns.len()];
            heading[0] = format!("*{}*", section.title);
            out.push_str(&cells(&heading));
        }
        for row in &section.rows {
            let shown = row.iter().map(|cell| match cell {
                Cell::Text(text) => text.replace('|', "\\|"),
                Cell::Missing => "—".to_owned(),
                Cell::Number(number) => {
                    let digits = digits(number, " ± ");
                    match number.mark {
                        Mark::Plain => digits,
                        Mark::Best => format!("**{digits}**"),
                        Mark::Second => format!("*{digits}*"),
                    }
                }
            });
            out.push_str(&cells(&shown.collect::<Vec<_>>()));
        }
    }
    out.push('\n');
    for note in &table.notes {
        let _ = writeln!(out, "{note}\n");
    }
    out
}

fn latex(table: &Table) -> String {
    let columns = table.columns.len();
    let mut out = format!(
        "% {}\n\\begin{{table}}[t]\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{@{{}}l*{{{}}}{{r}}@{{}}}}\n\\toprule\n",
        table.name.name(),
        escaped(&format!("{}. {}", table.title, table.notes.join(" "))),
        table.name.name(),
        columns - 1
    );
    let heads: Vec<String> = table.columns.iter().map(|head| escaped(head)).collect();
    let _ = writeln!(out, "{} \\\\\n\\midrule", heads.join(" & "));
    for section in table.sections.iter().filter(|section| !section.rows.is_empty()) {
        if !section.title.is_empty() {
            let _ = writeln!(
                out,
                "\\multicolumn{{{columns}}}{{@{{}}l}}{{\\emph{{{}}}}} \\\\",
                escaped(&section.title)
            );
        }
        for row in &section.rows {
            let shown = row.iter().map(|cell| match cell {
                Cell::Text(text) => escaped(text),
                Cell::Missing => "---".to_owned(),
                Cell::Number(number) => {
                    let digits = digits(number, r"\,\pm\,");
                    match number.mark {
                        Mark::Plain => format!("${digits}$"),
                        Mark::Best => format!("$\\mathbf{{{digits}}}$"),
                        Mark::Second => format!("\\underline{{${digits}$}}"),
                    }
                }
            });
            let _ = writeln!(out, "{} \\\\", shown.collect::<Vec<_>>().join(" & "));
        }
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(letter);
            }
            '±' => out.push_str("$\\pm$"),
            '—' => out.push_str("---"),
            '<' | '>' => {
                let _ = write!(out, "${letter}$");
            }
            _ => out.push(letter),
        }
    }
    out
}

fn csv(table: &Table) -> String {
    let mut out = String::new();
    for section in &table.sections {
        for row in &section.rows {
            let name = match row.first() {
                Some(Cell::Text(text)) => text.clone(),
                _ => String::new(),
            };
            for (column, cell) in table.columns.iter().zip(row).skip(1) {
                let (value, sd, place) = match cell {
                    Cell::Missing => continue,
                    Cell::Text(text) => (text.clone(), String::new(), ""),
                    Cell::Number(number) => {
                        let place = match number.mark {
                            Mark::Plain => "",
                            Mark::Best => "1",
                            Mark::Second => "2",
                        };
                        (
                            number.value.to_string(),
                            number.sd.map_or(String::new(), |sd| sd.to_string()),
                            place,
                        )
                    }
                };
                let fields =
                    [table.name.name(), &section.title, &name, column, &value, &sd, place].map(csv_cell);
                let _ = writeln!(out, "{}", fields.join(","));
            }
        }
    }
    out
}

/// A cell of a table in CSV, in quotes where it needs them.
pub fn csv_cell(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{choice::TableName, table::Section};

    fn table() -> Table {
        let best = Number { value: 1.23456, decimals: 2, sd: None, mark: Mark::Best };
        let spread = Number { value: 2.0, decimals: 1, sd: Some(0.5), mark: Mark::Second };
        Table {
            name: TableName::Main,
            title: "Errors, %".to_owned(),
            columns: vec!["method".to_owned(), "u".to_owned(), "a|b".to_owned()],
            sections: vec![
                Section {
                    title: "ours".to_owned(),
                    rows: vec![vec![Cell::text("A & B, \"C\""), Cell::Number(best), Cell::Number(spread)]],
                },
                Section { title: "empty".to_owned(), rows: vec![] },
            ],
            notes: vec!["A note.".to_owned()],
            has_ours: true,
        }
    }

    #[test]
    fn markdown_is_what_code_hosts_render() {
        let expected = "### Errors, %\n\n| method | u | a\\|b |\n| --- | ---: | ---: |\n| *ours* |  |  |\n\
                        | A & B, \"C\" | **1.23** | *2.0 ± 0.5* |\n\nA note.\n\n";
        assert_eq!(Format::Markdown.write(&[table()]), expected);
    }

    #[test]
    fn latex_is_escaped_and_marked() {
        let text = Format::Latex.write(&[table()]);
        assert!(
            text.contains("A \\& B, \"C\" & $\\mathbf{1.23}$ & \\underline{$2.0\\,\\pm\\,0.5$} \\\\"),
            "{text}"
        );
        assert!(text.contains("\\caption{Errors, \\%. A note.}") && text.contains("{@{}l*{2}{r}@{}}"));
    }

    #[test]
    fn csv_keeps_every_digit() {
        let text = Format::Csv.write(&[table()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "main,ours,\"A & B, \"\"C\"\"\",u,1.23456,,1");
        assert_eq!(lines[2], "main,ours,\"A & B, \"\"C\"\"\",a|b,2,0.5,2");
    }
}
