//! `scope model info`: the card of a model, or the accounting of the paper's table for any network.

use anyhow::Context;
use clap::Args;
use scope_model::{About, Accounting, Architecture, Head, ModelConfig, ParameterCount, parameter_counts};
use serde_json::json;

use super::shown_card;
use crate::commands::{Misuse, NetworkChoice, Outcome, head_names, models};
use crate::terminal::{Table, grouped, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope model info poisson
  scope model info --model base --head 10m
  scope model info --model fno
  scope model info --model runs/poisson/model.safetensors --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelInfo {
    /// A model whose card is shown: what it was trained on, and its errors on held-out records
    #[arg(value_name = "NAME", required_unless_present = "model", conflicts_with_all = ["model", "head", "resolution"])]
    name: Option<String>,
    /// Count the parameters of a size (base, small or tiny), an operator (fno, deeponet, cno or transolver; aux-fno,
    /// aux-deeponet, aux-unet or aux-cno of the auxiliary study), a model's name, a run folder or a weight file
    #[arg(long, value_name = "NAME|RUN|FILE")]
    model: Option<String>,
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
        match (&self.name, &self.model) {
            (Some(name), _) => shown_card::show(name, self.json),
            (None, Some(model)) => self.account(model),
            (None, None) => anyhow::bail!("name a model, as in `scope model info poisson`"),
        }
    }

    /// Counts the parameters of a network.
    fn account(&self, model: &str) -> anyhow::Result<Outcome> {
        let (config, about) = self.config(model)?;
        let lines = self.components(&config)?;
        if self.json {
            let components: serde_json::Map<String, serde_json::Value> =
                lines.into_iter().map(|line| (line.name, line.parameters.into())).collect();
            let pde = about.map(|about| about.pde.name());
            print_json(&json!({ "config": config, "pde": pde, "parameters": components }))?;
            return Ok(Outcome::Success);
        }
        if let Some(about) = about {
            say(&format!("{model}: a model for {}", about.pde.name()));
        }
        say(&match &config {
            Architecture::Scope(config) => describe(config),
            other => format!("{} on a {} grid", other.name(), other.resolution()),
        });
        let mut table = Table::new(&["component", "parameters"]);
        for line in lines {
            table.row([line.name, grouped(line.parameters)]);
        }
        say(&table.to_string());
        Ok(Outcome::Success)
    }

    /// The paper's table of a SCOPE model; the parts of an operator and their sum.
    fn components(&self, config: &Architecture) -> anyhow::Result<Vec<ParameterCount>> {
        if let Some(config) = config.scope() {
            return Ok(Accounting::of(config, self.head)?.components());
        }
        let without = || format!("{} has no decoder that --head could replace: leave it out", config.name());
        anyhow::ensure!(self.head.is_none(), Misuse::of(without()));
        let mut parts = parameter_counts(config)?;
        let parameters = parts.iter().map(|part| part.parameters).sum();
        parts.push(ParameterCount { name: "all".to_owned(), parameters });
        Ok(parts)
    }

    /// The sizes asked for, and what a weight file says about itself.
    fn config(&self, model: &str) -> anyhow::Result<(Architecture, Option<About>)> {
        if let Some(choice) = NetworkChoice::find(model) {
            return Ok((choice.architecture(self.resolution.unwrap_or(128)), None));
        }
        let names = NetworkChoice::names().join(", ");
        let found = models::catalogue()
            .find(model)
            .with_context(|| format!("\"{model}\" is not a network ({names})"))?;
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
        "{resolution} grid, {} tokens of {patch} x {patch} pixels, {latent} numbers each; \
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
