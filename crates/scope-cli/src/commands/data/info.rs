//! `scope data info`.

use std::path::PathBuf;

use clap::Args;
use scope_data::Dataset;
use scope_pde::descriptor::{Descriptor, Extent, GridPoints, KnownRegion};

use crate::{
    commands::Outcome,
    terminal::{Table, grouped, print_json, say, significant},
};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope data info data/poisson";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Info {
    /// A dataset folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print meta.json instead
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let set = Dataset::inspect(&self.folder)?;
        let meta = set.meta();
        if self.json {
            print_json(meta)?;
            return Ok(Outcome::Success);
        }
        say(&format!(
            "{}: {} records of {} ({}), {}",
            self.folder.display(),
            grouped(meta.count),
            meta.pde,
            meta.split,
            meta.resolution
        ));
        say(&meta.origin.describe(meta.pde));
        if let Some(shard) = meta.shard {
            say(&format!(
                "part {} of {}, of a set of {} records",
                shard.part,
                shard.of,
                grouped(shard.total)
            ));
        }
        let facts = meta.pde.descriptor();
        if facts.spec.is_some() {
            say(&where_it_lies(facts));
        }
        let mut table = Table::new(&["channel", "what", "mean", "sigma", "rms", "zero records"]);
        for ((name, channel), field) in meta.channels().into_iter().zip(facts.fields) {
            if !field.is_present() {
                continue;
            }
            table.row([
                name.into(),
                field.label(),
                significant(channel.mean, 9),
                significant(channel.sigma, 9),
                significant(channel.rms, 6),
                channel.zero_records.len().to_string(),
            ]);
        }
        say(&format!("\n{table}\nstored = (physical - mean) / (2 sigma)"));
        for (name, hash) in &meta.blake3 {
            say(&format!("BLAKE3 of {name}: {hash}"));
        }
        Ok(Outcome::Success)
    }
}

/// The domain of a problem of one's own, how its points lie, and what is known of its fields.
fn where_it_lies(facts: &Descriptor) -> String {
    let Extent { bounds, names, unit } = facts.extent;
    let axis = |axis: usize| {
        let [low, high] = bounds[axis];
        let points = match facts.grid[axis] {
            GridPoints::Nodes => "nodes",
            GridPoints::CellCentres => "cell centres",
            GridPoints::Periodic => "periodic",
        };
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        format!("{} from {low} to {high}{unit} ({points})", names[axis])
    };
    let known = match facts.known_region {
        KnownRegion::Fixed(region) => format!("; {} points are always known", region.points().count()),
        KnownRegion::PerRecord(_) => "; each record has a known region of its own".to_owned(),
        KnownRegion::Disk | KnownRegion::Nowhere => String::new(),
    };
    format!("{} and {}{known}", axis(0), axis(1))
}
