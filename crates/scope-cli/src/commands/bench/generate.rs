//! `scope bench generate`: how fast one core makes records.

use std::time::{Duration, Instant};

use clap::Args;
use scope_pde::{Generator, Identity, Pde, Split};
use serde::Serialize;

use crate::commands::{Outcome, pde_names, resolution};
use crate::terminal::{Table, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope bench generate --pde ns --seconds 5";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchGenerate {
    /// One problem only
    #[arg(long, value_parser = pde_names())]
    pde: Option<Pde>,
    /// Grid points along each axis
    #[arg(long, value_name = "S", default_value_t = 128, value_parser = resolution)]
    resolution: usize,
    /// How long to measure each problem
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    seconds: f64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// How fast records of one problem are made.
#[derive(Debug, Serialize)]
struct Rate {
    pde: &'static str,
    resolution: usize,
    records: u64,
    /// The median over records, since times on shared machines have long tails.
    median_ms: f64,
    records_per_second: f64,
}

impl BenchGenerate {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let problems = self.pde.map_or(Pde::ALL.to_vec(), |pde| vec![pde]);
        let rates: Vec<Rate> = problems.into_iter().map(|pde| self.measure(pde)).collect::<Result<_, _>>()?;
        if self.json {
            print_json(&rates)?;
            return Ok(Outcome::Success);
        }
        let mut table = Table::new(&["pde", "resolution", "records", "median ms", "records/s, one core"]);
        for rate in &rates {
            table.row([
                rate.pde.into(),
                rate.resolution.to_string(),
                rate.records.to_string(),
                format!("{:.3}", rate.median_ms),
                format!("{:.1}", rate.records_per_second),
            ]);
        }
        say(&table.to_string());
        Ok(Outcome::Success)
    }

    fn measure(&self, pde: Pde) -> anyhow::Result<Rate> {
        let identity = Identity { pde, seed: 1, split: Split::Train, resolution: self.resolution };
        let generator = Generator::new(identity)?;
        generator.record(0)?;
        let budget = Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::ZERO);
        let start = Instant::now();
        let mut times = Vec::new();
        while times.is_empty() || start.elapsed() < budget {
            let begin = Instant::now();
            generator.record(times.len() as u64)?;
            times.push(begin.elapsed().as_secs_f64());
        }
        let records = times.len() as u64;
        let total = times.iter().sum::<f64>();
        times.sort_by(f64::total_cmp);
        Ok(Rate {
            pde: pde.name(),
            resolution: self.resolution,
            records,
            median_ms: times[times.len() / 2] * 1e3,
            records_per_second: records as f64 / total,
        })
    }
}
