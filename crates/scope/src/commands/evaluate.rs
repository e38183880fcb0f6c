//! `scope evaluate`: a model's errors on held-out records.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_data::{Dataset, write_whole};
use scope_eval::{Protocol, Summary, evaluate};
use scope_model::{Precision, Reconstructor};
use serde::Serialize;

use super::{Outcome, device::DeviceArguments};
use crate::terminal::{Progress, Table, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope evaluate --run runs/poisson --data data/poisson-test --protocol uniform500
  scope evaluate --run runs/poisson --data data/poisson-test --protocol all --limit 1000 --json all.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EvaluateCommand {
    /// A run folder or a weight file
    #[arg(long, value_name = "RUN|FILE")]
    run: PathBuf,
    /// The records, which training must not have seen
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Under which conditions
    #[arg(long, default_value = "uniform500", value_parser = protocol_names())]
    protocol: Protocol,
    /// The first N records only
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
    /// Of the test masks
    #[arg(long, value_name = "S", default_value_t = 20_261_013)]
    seed: u64,
    /// Write the results to this file; "-" for standard output [default: RUN/eval/PROTOCOL.json]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArguments,
}

fn protocol_names() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(Protocol::ALL.map(Protocol::name)).try_map(|name| name.parse::<Protocol>())
}

/// The results, as they are written.
#[derive(Debug, Serialize)]
struct Results {
    identity: Identity,
    conditions: BTreeMap<String, BTreeMap<&'static str, Summary>>,
}

/// What was evaluated on what.
#[derive(Debug, Serialize)]
struct Identity {
    pde: &'static str,
    protocol: &'static str,
    records: usize,
    mask_seed: u64,
    /// BLAKE3 of the weight file and of the records.
    model: String,
    data: String,
    /// Where the records come from.
    data_origin: String,
    recipe: Option<String>,
    draws: Option<u64>,
    /// Whether training ended before the draws that were planned.
    cut_short: Option<bool>,
}

impl EvaluateCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let path = super::weight_file(&self.run);
        let device = self.device.open()?;
        let precision = match device.training_precision() {
            scope_engine::Dtype::Bf16 => Precision::Bf16,
            _ => Precision::F32,
        };
        let model = Reconstructor::open(&path, &device, precision)?;
        let data = Dataset::open(&self.data)?;
        let (about, meta) = (model.about(), data.meta());
        anyhow::ensure!(
            about.pde == meta.pde && about.constants == meta.constants(),
            "{} holds {}, and the model was trained on {}: problem and normalisation must be the same",
            self.data.display(),
            meta.pde.name(),
            about.pde.name()
        );
        anyhow::ensure!(
            about.config.resolution == meta.resolution,
            "the model reads {0} x {0} grids and the records are on {1} x {1}",
            about.config.resolution,
            meta.resolution
        );
        let conditions = self.protocol.conditions(meta.pde);
        anyhow::ensure!(!conditions.is_empty(), "{} is for the cylinder only", self.protocol.name());
        let count = self.limit.min(data.len());
        let progress = Progress::new("evaluating", count * conditions.len());
        let mut results =
            Results { identity: self.identity(&path, &model, &data, count)?, conditions: BTreeMap::new() };
        for (k, condition) in conditions.into_iter().enumerate() {
            let report = &mut |done| progress.at(k * count + done);
            let errors = evaluate(&model, &data, condition, self.seed, self.limit, report)?;
            results.conditions.insert(condition.to_string(), errors.summaries());
        }
        progress.finish();
        self.report(&results)
    }

    fn identity(
        &self,
        path: &Path,
        model: &Reconstructor,
        data: &Dataset,
        records: usize,
    ) -> anyhow::Result<Identity> {
        let meta = data.meta();
        let training = model.about().training.as_ref();
        let weights = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Identity {
            pde: meta.pde.name(),
            protocol: self.protocol.name(),
            records,
            mask_seed: self.seed,
            model: blake3::hash(&weights).to_string(),
            data: meta.blake3.get("fields.npy").cloned().unwrap_or_default(),
            data_origin: meta.origin.describe(meta.pde),
            recipe: training.map(|training| training.recipe.clone()),
            draws: training.map(|training| training.draws),
            cut_short: training.map(|training| training.draws < training.planned),
        })
    }

    fn report(&self, results: &Results) -> anyhow::Result<Outcome> {
        if self.json.as_deref() == Some(Path::new("-")) {
            print_json(results)?;
            return Ok(Outcome::Success);
        }
        let mut table = Table::new(&["condition", "channel", "records", "undefined", "mean %", "sd"]);
        for (condition, channels) in &results.conditions {
            for (channel, summary) in channels {
                let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
                table.row([
                    condition.clone(),
                    (*channel).to_owned(),
                    summary.count.to_string(),
                    summary.undefined.to_string(),
                    shown(summary.mean),
                    shown(summary.sd),
                ]);
            }
        }
        say(&table.to_string());
        say(&format!("records: {}", results.identity.data_origin));
        if let Some(draws) = results.identity.draws {
            let cut = if results.identity.cut_short == Some(true) { ", cut short" } else { "" };
            say(&format!("model: {draws} draws{cut}"));
        }
        if let Some(path) = self.destination()? {
            write_whole(&path, &serde_json::to_vec_pretty(results)?)?;
            say(&format!("wrote {}", path.display()));
        }
        Ok(Outcome::Success)
    }

    /// Where results go: the file asked for, or the run's own folder.
    fn destination(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.json.is_some() || !self.run.is_dir() {
            return Ok(self.json.clone());
        }
        let folder = self.run.join("eval");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Some(folder.join(format!("{}.json", self.protocol.name()))))
    }
}
