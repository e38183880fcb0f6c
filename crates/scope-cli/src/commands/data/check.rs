//! `scope data check`.

use std::path::PathBuf;

use clap::Args;
use scope_data::{CheckReport, Dataset, Estimate, Meta, Source, check};

use crate::{
    commands::Outcome,
    terminal::{Table, complain_of, grouped, print_json, say, significant},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope data check data/poisson

Compares means, and root mean square deviations from the expected mean, with the released
constants (at 128; elsewhere with closed forms), and tests the equation on sampled records.
Exits with 1 when a figure is more than 4 + 50/N standard errors off for N records, or when a
law is broken. Fewer than 10 records have no statistics: only the laws are checked. Of records of your own nothing is
known to compare them with: their bytes are checked, and their statistics shown.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// A dataset folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let set = Dataset::inspect(&self.folder)?;
        let report = check(&set)?;
        if self.json {
            print_json(&report)?;
        } else {
            let meta = set.meta();
            let count = grouped(meta.count);
            let folder = self.folder.display();
            say(&format!("{folder}: {count} records of {} ({}), {}", meta.pde, meta.split, meta.resolution));
            print_report(meta, &report);
        }
        report.faults.iter().for_each(|fault| complain_of(fault));
        Ok(if report.faults.is_empty() { Outcome::Success } else { Outcome::Faults })
    }
}

/// Prints a report in tables.
pub(crate) fn print_report(meta: &Meta, report: &CheckReport) {
    say(&meta.origin.describe(meta.pde));
    if report.compares() {
        say(&format!("\n{}", comparisons(report)));
    } else {
        say(&format!("\n{}", statistics(report)));
    }
    report.notes.iter().for_each(|note| say(&format!("note: {note}")));
    if report.faults.is_empty() {
        say(&match report.z_limit {
            _ if !report.compares() => {
                "ok: every byte is as it was written; nothing is known of this problem that its records could be compared with"
                    .to_owned()
            }
            Some(limit) => {
                format!("ok: within {limit:.1} standard errors of what is expected, and every law holds")
            }
            None => "ok: every law holds".to_owned(),
        });
    }
}

/// What fields of a problem of one's own are like.
fn statistics(report: &CheckReport) -> Table {
    let mut table =
        Table::new(&["", "mean", "std. error", "rms deviation", "std. error", "least", "greatest"]);
    let error = |estimate: &Estimate| estimate.standard_error.map_or("-".to_owned(), |e| significant(e, 2));
    for channel in &report.channels {
        table.row([
            channel.channel.to_owned(),
            significant(channel.mean.value, 6),
            error(&channel.mean),
            significant(channel.deviation.value, 6),
            error(&channel.deviation),
            significant(channel.least, 6),
            significant(channel.greatest, 6),
        ]);
    }
    table
}

/// Figures beside what they should be, extremes and laws.
fn comparisons(report: &CheckReport) -> String {
    let mut figures =
        Table::new(&["", "this set", "expected", "difference", "std. error", "z", "expected from"]);
    for channel in &report.channels {
        for (figure, estimate) in [("mean", &channel.mean), ("rms deviation", &channel.deviation)] {
            figures.row(estimate_row(format!("{} {figure}", channel.channel), estimate));
        }
    }
    let mut extremes = Table::new(&["", "least", "greatest", "released least", "released greatest"]);
    for channel in &report.channels {
        let released = |k: usize| channel.released_extremes.map_or("-".into(), |r| significant(r[k], 6));
        extremes.row([
            channel.channel.into(),
            significant(channel.least, 6),
            significant(channel.greatest, 6),
            released(0),
            released(1),
        ]);
    }
    let mut laws = Table::new(&["law", "records", "worst", "limit", ""]);
    for law in &report.laws {
        let verdict = if law.holds() { "ok" } else { "BROKEN" };
        laws.row([
            law.name.into(),
            grouped(law.records),
            significant(law.worst, 2),
            significant(law.limit, 1),
            verdict.into(),
        ]);
    }
    format!("{figures}\n{extremes}\n{laws}")
}

fn estimate_row(name: String, estimate: &Estimate) -> [String; 7] {
    let dash = || "-".to_owned();
    let from = estimate.reference.map_or(dash(), |reference| match (reference.source, reference.records) {
        (Source::Released, Some(n)) => format!("{} released records", grouped(n)),
        (Source::Generator, Some(n)) => format!("{} records of our own solver", grouped(n)),
        _ => "theory".into(),
    });
    [
        name,
        significant(estimate.value, 6),
        estimate.reference.map_or(dash(), |reference| significant(reference.value, 6)),
        estimate.reference.map_or(dash(), |reference| significant(estimate.value - reference.value, 3)),
        estimate.standard_error.map_or(dash(), |error| significant(error, 2)),
        estimate.z.map_or(dash(), |z| format!("{z:+.2}")),
        from,
    ]
}
