//! `scope compare`: two evaluations, record by record.

use std::path::PathBuf;

use clap::Args;
use scope_eval::{Paired, Record, compare, is_within};
use serde::Serialize;

use super::evaluations;
use crate::{
    commands::Outcome,
    terminal::{Table, print_json, say},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope compare runs/full-sp10m runs/full
  scope compare runs/full runs/fo --condition inverse/uniform/500
  scope compare a/eval/all.json b/eval/all.json --condition forward/grid/1024 --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareCommand {
    /// The first run folder or evaluation file
    #[arg(value_name = "RUN_A")]
    first: PathBuf,
    /// The second; negative differences favour the first
    #[arg(value_name = "RUN_B")]
    second: PathBuf,
    /// Only this condition [default: all that both cover]
    #[arg(long, value_name = "C")]
    condition: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One line of the comparison.
#[derive(Debug, Serialize)]
struct Line {
    condition: String,
    measure: String,
    #[serde(flatten)]
    paired: Paired,
}

impl CompareCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let (a, b) = self.records()?;
        let shared: Vec<&String> = (a.results.conditions.keys())
            .filter(|condition| b.results.conditions.contains_key(*condition))
            .filter(|condition| self.condition.as_ref().is_none_or(|asked| asked == *condition))
            .collect();
        let asked = || self.condition.clone().unwrap_or_else(|| "any condition".to_owned());
        anyhow::ensure!(!shared.is_empty(), "{} is not covered by both evaluations", asked());
        let mut lines = Vec::new();
        for condition in shared {
            for measure in a.results.conditions[condition].keys().filter(|measure| !is_within(measure)) {
                let (condition, measure) = (condition.clone(), measure.clone());
                let paired = compare(&a, &b, &condition, &measure)?;
                lines.push(Line { condition, measure, paired });
            }
        }
        if self.json {
            print_json(&lines)?;
            return Ok(Outcome::Success);
        }
        let [first, second] = [&a, &b].map(|record| record.results.identity.method.label());
        say(&format!(
            "A = {first}, B = {second}; differences A - B in percentage points, negative: A is better\n"
        ));
        say(&table(&lines).to_string());
        Ok(Outcome::Success)
    }

    /// The first pair of evaluations that have a condition in common.
    fn records(&self) -> anyhow::Result<(Record, Record)> {
        let (first, second) = (evaluations(&self.first)?, evaluations(&self.second)?);
        let covers = |path: &PathBuf| -> anyhow::Result<bool> {
            let results = scope_eval::Results::read(path)?;
            Ok(self.condition.as_ref().is_none_or(|asked| results.conditions.contains_key(asked)))
        };
        for a in &first {
            for b in &second {
                if a.file_name() == b.file_name() && covers(a)? && covers(b)? {
                    return Ok((Record::read(a)?, Record::read(b)?));
                }
            }
        }
        match (first.as_slice(), second.as_slice()) {
            ([a], [b]) => Ok((Record::read(a)?, Record::read(b)?)),
            _ => anyhow::bail!(
                "{} and {} have no evaluation under one protocol: run `scope evaluate` with the same --protocol on both",
                self.first.display(),
                self.second.display()
            ),
        }
    }
}

fn table(lines: &[Line]) -> Table {
    let mut table = Table::new(&[
        "condition",
        "measure",
        "n",
        "difference",
        "95% interval",
        "paired sd",
        "t",
        "A better %",
    ]);
    for Line { condition, measure, paired } in lines {
        let [low, high] = paired.interval;
        table.row([
            condition.clone(),
            measure.clone(),
            paired.count.to_string(),
            format!("{:+.4}", paired.difference),
            format!("[{low:+.4}, {high:+.4}]"),
            format!("{:.4}", paired.sd),
            format!("{:+.1}", paired.t),
            format!("{:.1}", paired.improved),
        ]);
    }
    table
}
