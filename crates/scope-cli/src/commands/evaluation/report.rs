//! `scope report`: the paper's tables from runs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_data::{observation::Task, write_atomic};
use scope_eval::{
    Measure, Record,
    figure::Drawing,
    report::{
        Choice, Endpoint, Format, Published, Runs, TableName, budget_chart, comparison_chart,
        learning_charts, published_chart, tables,
    },
};

use super::{evaluations, without_evaluation};
use crate::{
    commands::Outcome,
    terminal::{say, warn},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope report runs/poisson runs/darcy
  scope report runs/* --tables main,paired --format tex --out tables.tex
  scope report runs/* --figures figures
  scope report --tables all --figures figures
  scope report runs/poisson runs/poisson/milestones/*/ --figures figures";

/// The errors that are drawn against numbers of sensors.
const BUDGET_CHARTS: [(Task, Measure); 4] = [
    (Task::Forward, Measure::U),
    (Task::Inverse, Measure::A),
    (Task::Joint, Measure::A),
    (Task::Joint, Measure::U),
];

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportCommand {
    /// Run folders, their eval folders or evaluation files [default: none, the paper's own rows alone]
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The notation: Markdown, LaTeX, or one figure a line for machines
    #[arg(long, default_value = "md", value_parser = format_names())]
    format: Format,
    /// Which tables, separated by commas [default: those that the runs have a row in; all without runs]
    #[arg(long, value_name = "T,...", value_delimiter = ',', value_parser = table_names())]
    tables: Vec<Asked>,
    /// Write the tables to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw bar charts and curves of error against sensors and against draws into this folder, as SVG and PNG; the paper's own
    /// figures are among them
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
}

/// What `--tables` may name.
#[derive(Clone, Copy, Debug)]
enum Asked {
    All,
    One(TableName),
}

fn table_names() -> impl TypedValueParser<Value = Asked> {
    let names = TableName::ALL.map(TableName::name).into_iter().chain(["all"]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "all" => Ok(Asked::All),
        name => name.parse().map(Asked::One),
    })
}

fn format_names() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}

impl ReportCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let runs = Runs::gather(self.records()?);
        let published = Published::read()?;
        let text = self.format.write(&tables(&self.choice(), &published, &runs)?);
        match &self.out {
            Some(path) => {
                write_atomic(path, text.as_bytes())?;
                say(&format!("wrote {}", path.display()));
            }
            None => say(text.trim_end()),
        }
        if let Some(folder) = &self.figures {
            draw(folder, &published, &runs)?;
        }
        Ok(Outcome::Success)
    }

    /// The tables that were asked for.
    fn choice(&self) -> Choice {
        let name = |asked: &Asked| match asked {
            Asked::All => None,
            Asked::One(name) => Some(*name),
        };
        if self.tables.is_empty() {
            return if self.runs.is_empty() { Choice::All } else { Choice::WithOurs };
        }
        self.tables.iter().map(name).collect::<Option<_>>().map_or(Choice::All, Choice::Named)
    }

    /// The evaluations of all runs. One without any is left out, as among `runs/*` there may be some that still train.
    fn records(&self) -> anyhow::Result<Vec<Record>> {
        let mut records = Vec::new();
        let mut without = Vec::new();
        for path in &self.runs {
            let files = evaluations(path)?;
            if files.is_empty() {
                without.push(path);
            }
            for file in files {
                records.push(Record::read(&file)?);
            }
        }
        for path in without {
            anyhow::ensure!(!records.is_empty(), without_evaluation(path));
            warn(&format!("{} is left out: it holds no evaluation", path.display()));
        }
        Ok(records)
    }
}

/// Bar charts of all runs, each run's errors against sensors where it was evaluated under all conditions, and errors
/// against draws where moments of training were evaluated.
fn draw(folder: &Path, published: &Published, all: &Runs) -> anyhow::Result<()> {
    let runs = all.latest.as_slice();
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, endpoint) in [("forward", Endpoint::Forward), ("inverse", Endpoint::Inverse)] {
        write(folder, &format!("paper-{name}"), &published_chart(published, endpoint))?;
        if !runs.is_empty() {
            write(folder, name, &comparison_chart(runs, endpoint))?;
        }
    }
    for (k, run) in runs.iter().enumerate() {
        let same =
            runs[..k].iter().filter(|other| (other.pde(), other.label()) == (run.pde(), run.label())).count();
        let number = if same == 0 { String::new() } else { format!("-{}", same + 1) };
        for (task, measure) in BUDGET_CHARTS {
            if let Some(chart) = budget_chart(run, task, measure) {
                let name = format!(
                    "sensors-{}-{}{number}-{}-{measure}",
                    run.pde(),
                    file_name(&run.label()),
                    task.name()
                );
                write(folder, &name, &chart)?;
            }
        }
    }
    for (name, chart) in learning_charts(published, all) {
        write(folder, &name, &chart)?;
    }
    say(&format!("drew figures in {}", folder.display()));
    Ok(())
}

fn write(folder: &Path, name: &str, drawing: &Drawing) -> anyhow::Result<()> {
    write_atomic(&folder.join(format!("{name}.svg")), drawing.to_svg()?.as_bytes())?;
    write_atomic(&folder.join(format!("{name}.png")), &drawing.to_png()?)?;
    Ok(())
}

/// A label as part of a file's name.
fn file_name(label: &str) -> String {
    let plain = label.to_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}
