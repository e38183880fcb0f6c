//! `scope report`: the paper's tables from runs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_data::write_atomic;
use scope_eval::{
    Record,
    figure::{CurveChart, Drawing},
    report::{
        CHART_FILE, Choice, Endpoint, Format, Published, Runs, TableName, card_budget_charts,
        comparison_chart, learning_charts, published_chart, read_chart, run_budget_charts, tables,
        write_chart,
    },
};
use scope_model::Card;

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
  scope report runs/poisson runs/poisson/milestones/*/ --figures figures
  scope report models/poisson.toml figures/*.chart.json --figures again";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportCommand {
    /// Run folders, their eval folders or evaluation files [default: none, the paper's own rows alone]; for --figures
    /// also model cards (.toml), whose errors are drawn against sensors, and the data of charts (.chart.json), which
    /// are drawn again
    #[arg(value_name = "RUN|CARD|CHART")]
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
    /// Draw bar charts and curves of error against sensors and against draws into this folder, as SVG and PNG; the
    /// paper's own figures are among them, and beside each chart of curves is its data (.chart.json)
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
        let Sources { records, charts } = self.sources()?;
        let runs = Runs::gather(records);
        let published = Published::read()?;
        let text = self.format.write(&tables(&self.choice(&runs), &published, &runs)?);
        match &self.out {
            Some(path) => {
                write_atomic(path, text.as_bytes())?;
                say(&format!("wrote {}", path.display()));
            }
            None => say(text.trim_end()),
        }
        if let Some(folder) = &self.figures {
            draw(folder, &published, &runs, &charts)?;
        }
        Ok(Outcome::Success)
    }

    /// The tables that were asked for.
    fn choice(&self, runs: &Runs) -> Choice {
        let name = |asked: &Asked| match asked {
            Asked::All => None,
            Asked::One(name) => Some(*name),
        };
        if self.tables.is_empty() {
            return if runs.latest.is_empty() { Choice::All } else { Choice::WithOurs };
        }
        self.tables.iter().map(name).collect::<Option<_>>().map_or(Choice::All, Choice::Named)
    }

    /// What was named. A run without any evaluation is left out, as among `runs/*` there may be some that still train.
    fn sources(&self) -> anyhow::Result<Sources> {
        let mut sources = Sources::default();
        let mut without = Vec::new();
        for path in &self.runs {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if let Some(name) = name.strip_suffix(CHART_FILE) {
                sources.charts.push((name.to_owned(), read_chart(path)?));
                continue;
            }
            if path.extension().is_some_and(|extension| extension == "toml") {
                let card = Card::read(path)?;
                let named = |(ending, chart)| (format!("sensors-{}-{ending}", file_name(&card.name)), chart);
                sources.charts.extend(card_budget_charts(&card).into_iter().map(named));
                continue;
            }
            let files = evaluations(path)?;
            if files.is_empty() {
                without.push(path);
            }
            for file in files {
                sources.records.push(Record::read(&file)?);
            }
        }
        anyhow::ensure!(
            sources.charts.is_empty() || self.figures.is_some(),
            "cards and the data of charts are drawn: name a folder with --figures"
        );
        for path in without {
            anyhow::ensure!(!sources.records.is_empty(), without_evaluation(path));
            warn(&format!("{} is left out: it holds no evaluation", path.display()));
        }
        Ok(sources)
    }
}

/// What a report is of.
#[derive(Default)]
struct Sources {
    /// The evaluations of all runs.
    records: Vec<Record>,
    /// The charts of cards and of charts' own data, with the names of their files.
    charts: Vec<(String, CurveChart)>,
}

/// Bar charts of all runs, each run's errors against sensors where it was evaluated under all conditions, errors
/// against draws where moments of training were evaluated, and further charts.
fn draw(
    folder: &Path,
    published: &Published,
    all: &Runs,
    further: &[(String, CurveChart)],
) -> anyhow::Result<()> {
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
        for (ending, chart) in run_budget_charts(run) {
            let name = format!("sensors-{}-{}{number}-{ending}", run.pde(), file_name(&run.label()));
            write_curves(folder, &name, &chart)?;
        }
    }
    for (name, chart) in learning_charts(published, all).iter().chain(further) {
        write_curves(folder, name, chart)?;
    }
    say(&format!("drew figures in {}", folder.display()));
    Ok(())
}

/// A chart of curves, and its data.
fn write_curves(folder: &Path, name: &str, chart: &CurveChart) -> anyhow::Result<()> {
    write(folder, name, &chart.draw())?;
    Ok(write_chart(&folder.join(format!("{name}{CHART_FILE}")), chart)?)
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
