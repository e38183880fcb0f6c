//! `scope compare`: two evaluations, record by record.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Args;
use scope_data::observation::Condition;
use scope_eval::{Measure, Paired, Record, Results, compare, matching};
use serde::Serialize;

use super::{evaluations, without_evaluation};
use crate::{
    commands::Outcome,
    terminal::{Table, print_json, say, warn},
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
    condition: Option<Condition>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One line of the comparison.
#[derive(Debug, Serialize)]
struct Line {
    condition: Condition,
    measure: Measure,
    #[serde(flatten)]
    paired: Paired,
}

impl CompareCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let a = self.records(&self.first)?;
        let b = self.records(&self.second)?;
        let lines = self.lines(&a, &b)?;
        if self.json {
            print_json(&lines)?;
            return Ok(Outcome::Success);
        }
        let [first, second] = [&a, &b].map(|records| records[0].results.identity.method.label());
        say(&format!(
            "A = {first}, B = {second}; differences A - B in percentage points, negative: A is better\n"
        ));
        say(&table(&lines).to_string());
        Ok(Outcome::Success)
    }

    /// Each condition that both cover, by the evaluations with the most records that match.
    fn lines(&self, a: &[Record], b: &[Record]) -> anyhow::Result<Vec<Line>> {
        let covered = |records: &[Record]| -> BTreeSet<Condition> {
            let all = records.iter().flat_map(|record| record.results.conditions.keys());
            all.copied().filter(|condition| self.asks_for(*condition)).collect()
        };
        let shared: Vec<Condition> = covered(a).intersection(&covered(b)).copied().collect();
        let mut lines = Vec::new();
        let mut unmatched = Vec::new();
        for condition in shared.iter().copied() {
            match matching(a, b, condition) {
                Ok((a, b)) => lines.extend(measured(a, b, condition)?),
                Err(why) => unmatched.push(why),
            }
        }
        let count = unmatched.len();
        match unmatched.into_iter().next() {
            Some(why) if lines.is_empty() => return Err(why.into()),
            Some(why) => {
                warn(&format!(
                    "{count} of {} conditions are left out, the first because {why}",
                    shared.len()
                ));
            }
            None => anyhow::ensure!(
                !shared.is_empty(),
                "{} is not covered by evaluations of both {} and {}: run `scope evaluate` with the same --protocol on both",
                self.asked(),
                self.first.display(),
                self.second.display()
            ),
        }
        Ok(lines)
    }

    fn asks_for(&self, condition: Condition) -> bool {
        self.condition.is_none_or(|asked| asked == condition)
    }

    /// What was asked for, in words.
    fn asked(&self) -> String {
        self.condition.map_or("any condition".to_owned(), |condition| condition.to_string())
    }

    /// The evaluations of a run that cover what was asked for, which must be of one model.
    fn records(&self, run: &Path) -> anyhow::Result<Vec<Record>> {
        let mut records: Vec<Record> = Vec::new();
        let files = evaluations(run)?;
        anyhow::ensure!(!files.is_empty(), without_evaluation(run));
        for file in files {
            let results = Results::read(&file)?;
            if !results.conditions.keys().any(|condition| self.asks_for(*condition)) {
                continue;
            }
            let model = &results.identity.method.blake3;
            anyhow::ensure!(
                records.first().is_none_or(|first| first.results.identity.method.blake3 == *model),
                "{} holds evaluations of different weights, {} another than those before: name the evaluation file to compare",
                run.display(),
                file.display()
            );
            records.push(Record::read(&file)?);
        }
        anyhow::ensure!(
            !records.is_empty(),
            "{} is not covered by the evaluations of {}: run `scope evaluate` with a --protocol that has it",
            self.asked(),
            run.display()
        );
        Ok(records)
    }
}

/// The lines of a condition, one a measure.
fn measured(a: &Record, b: &Record, condition: Condition) -> anyhow::Result<Vec<Line>> {
    let measures = a.results.conditions[&condition].keys().filter(|measure| measure.is_error());
    let line = |measure: &Measure| -> anyhow::Result<Line> {
        let paired = compare(a, b, condition, *measure)?;
        Ok(Line { condition, measure: *measure, paired })
    };
    measures.map(line).collect()
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
            condition.to_string(),
            measure.to_string(),
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
