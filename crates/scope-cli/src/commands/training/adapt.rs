//! `scope adapt`: a larger decoder on a trained model.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use scope_model::{Head, View};
use scope_train::{AdaptConfig, Recipe, RunRequest};

use super::{RunArguments, weights::Weights};
use crate::commands::{Outcome, head_names};
use crate::terminal::say;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope adapt --base runs/poisson --data data/poisson --head 10m --view sparse --minutes 4 --out runs/poisson-sp
  scope adapt --base runs/poisson --data data/poisson --head 10m --view complete --minutes 4 --out runs/poisson-dp

The base is pinned by its hash and stays as it is. Exit code 75: interrupted, state saved.";

/// What a head sees of a record in training.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Seen {
    // Ordinary comments: with help of their own, values would change the layout of the whole page.
    // Predicted latents of sparse contexts.
    Sparse,
    // Latents of complete views.
    Complete,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdaptCommand {
    /// A run folder, a weight file or a model's name
    #[arg(long, value_name = "RUN|FILE|NAME")]
    base: PathBuf,
    /// Which replacement decoder
    #[arg(long, value_parser = head_names())]
    head: Head,
    /// What it is trained on: predicted latents of sparse contexts (SP), or latents of complete views (DP)
    #[arg(long, default_value = "sparse")]
    view: Seen,
    #[command(flatten)]
    run: RunArguments,
}

impl AdaptCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let base = Weights::read(&self.base)?;
        let about = &base.file.about;
        anyhow::ensure!(
            about.config.scope().is_some(),
            "{} is of kind {}, and only a scope model has a decoder to replace",
            base.shown,
            about.config.name()
        );
        let recipe = self.run.set(&Recipe::resolve("fo", &[])?.for_head())?;
        let view = match self.view {
            Seen::Sparse => View::Sparse,
            Seen::Complete => View::Complete,
        };
        let request = RunRequest {
            recipe,
            model: about.config.clone(),
            length: self.run.length(),
            seed: self.run.seed,
            log_every: self.run.log_every,
            from: None,
            adapt: Some(AdaptConfig {
                base: base.hash.clone(),
                trained: about.training.clone(),
                view,
                head: self.head.config(),
            }),
        };
        let data = scope_data::Dataset::open(&self.run.data)?;
        base.require_same_problem(&data, &self.run.data)?;
        say(&format!("training a {} head on {}", self.head.name(), base.shown));
        self.run.train(request, &data, Some(&base))
    }
}
