//! `scope model info`: the accounting of the paper's table, for any model.

use anyhow::Context;
use clap::Args;
use scope_model::{About, Accounting, Head, ModelConfig, Preset};
use serde_json::json;

use crate::commands::{Outcome, head_names, models};
use crate::terminal::{Table, grouped, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope model info --model base --head 10m
  scope model info --model runs/poisson/model.safetensors --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelInfo {
    /// A size (base, small or tiny), a model's name, a run folder or a weight file
    #[arg(long, value_name = "SIZE|NAME|RUN|FILE")]
    model: String,
    /// Count a replacement decoder too
    #[arg(long, value_parser = head_names())]
    head: Option<Head>,
    /// Grid points along each axis, for a size; a weight file knows its own [default: 128]
    #[arg(long, value_name = "S")]
    resolution: Option<usize>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl ModelInfo {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let (config, about) = self.config()?;
        let accounting = Accounting::of(&config, self.head)?;
        if self.json {
            let components: serde_json::Map<String, serde_json::Value> =
                accounting.components().into_iter().map(|line| (line.name, line.parameters.into())).collect();
            let pde = about.map(|about| about.pde.name());
            print_json(&json!({ "config": config, "pde": pde, "parameters": components }))?;
            return Ok(Outcome::Success);
        }
        if let Some(about) = about {
            say(&format!("{}: a model for {}", self.model, about.pde.name()));
        }
        say(&describe(&config));
        let mut table = Table::new(&["component", "parameters"]);
        for line in accounting.components() {
            table.row([line.name, grouped(line.parameters)]);
        }
        say(&table.to_string());
        Ok(Outcome::Success)
    }

    /// The sizes asked for, and what a weight file says about itself.
    fn config(&self) -> anyhow::Result<(ModelConfig, Option<About>)> {
        if let Ok(preset) = self.model.parse::<Preset>() {
            return Ok((preset.config(self.resolution.unwrap_or(128)), None));
        }
        let sizes = Preset::ALL.map(Preset::name).join(", ");
        let found = models::catalogue()
            .find(&self.model)
            .with_context(|| format!("\"{}\" is not a size ({sizes})", self.model))?;
        anyhow::ensure!(
            self.resolution.is_none(),
            "a weight file has its own resolution: leave --resolution out"
        );
        let about = found.open().context("the model's header cannot be used")?.about;
        Ok((about.config.clone(), Some(about)))
    }
}

/// The sizes in one sentence.
fn describe(config: &ModelConfig) -> String {
    let ModelConfig { resolution, patch, latent, encoder, predictor, .. } = config;
    format!(
        "{resolution} x {resolution} grid, {} tokens of {patch} x {patch} pixels, {latent} numbers each; \
         encoder {} x {} ({} heads), predictor {} x {} ({} heads)",
        config.tokens(),
        encoder.depth,
        encoder.width,
        encoder.heads,
        predictor.depth,
        predictor.width,
        predictor.heads,
    )
}
