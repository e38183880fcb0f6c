//! `scope adapt`: a decoder fitted to a trained, frozen model.

use std::path::PathBuf;

use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_model::{DecoderConfig, Head, View};
use scope_train::{AdaptConfig, Recipe, RunRequest};

use super::{RunArguments, weights::Weights};
use crate::commands::{Misuse, Outcome};
use crate::terminal::say;

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope adapt --base runs/poisson --data data/poisson --head 10m --view sparse --minutes 4 --out runs/poisson-sp
  scope adapt --base runs/poisson --data data/poisson --head 10m --view complete --minutes 4 --out runs/poisson-dp
  scope adapt --base runs/poisson --data data/poisson --head native --continued --minutes 4 --out runs/poisson-longer

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
    /// Which replacement decoder: one of these sizes, or one as large as the base's own
    #[arg(long, value_parser = widths())]
    head: Widths,
    /// With --head native: go on from the base's own decoder, instead of a new one
    #[arg(long)]
    continued: bool,
    /// What it is trained on: predicted latents of sparse contexts (SP), or latents of complete views (DP)
    #[arg(long, default_value = "sparse")]
    view: Seen,
    #[command(flatten)]
    run: RunArguments,
}

/// How large the decoder is.
#[derive(Clone, Copy, Debug)]
enum Widths {
    Native,
    Head(Head),
}

/// What stands for the size of the base's own decoder.
const NATIVE: &str = "native";

/// Reads the name of a replacement decoder, or "native".
fn widths() -> impl TypedValueParser<Value = Widths> {
    let names = Head::ALL.map(Head::name).into_iter().chain([NATIVE]);
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        NATIVE => Ok(Widths::Native),
        name => name.parse().map(Widths::Head),
    })
}

impl Widths {
    fn name(self) -> &'static str {
        match self {
            Widths::Native => NATIVE,
            Widths::Head(head) => head.name(),
        }
    }
}

impl AdaptCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        if let Some(outcome) = self.run.start_processes()? {
            return Ok(outcome);
        }
        let base = Weights::read(&self.base)?;
        let about = &base.file.about;
        anyhow::ensure!(
            about.config.scope().is_some(),
            "{} is of kind {}, and only a scope model has a decoder to replace",
            base.shown,
            about.config.name()
        );
        let head = self.widths(&base)?;
        let recipe = self.run.set(&Recipe::resolve("fo", &[])?.for_head())?;
        anyhow::ensure!(
            recipe.fits.is_none(),
            Misuse::of("local fits are inputs of the frozen base: leave --set fits... out")
        );
        let view = match self.view {
            Seen::Sparse => View::Sparse,
            Seen::Complete => View::Complete,
        };
        let request = RunRequest {
            seed: self.run.seed(&recipe),
            recipe,
            model: about.config.clone(),
            length: self.run.length(),
            log_every: self.run.log_every,
            from: None,
            adapt: Some(AdaptConfig {
                base: base.hash.clone(),
                trained: about.training.clone(),
                view,
                continued: self.continued,
                head,
            }),
        };
        let data = scope_data::Dataset::open(&self.run.data)?;
        base.require_same_problem(&data, &self.run.data)?;
        let what = if self.continued { "going on with the decoder of" } else { "training a new decoder on" };
        say(&format!("{what} {} ({})", base.shown, self.head.name()));
        self.run.train(request, &data, Some(&base))
    }

    /// The widths of the decoder: those asked for, or the base's own, which must not be a replacement itself.
    fn widths(&self, base: &Weights) -> anyhow::Result<DecoderConfig> {
        anyhow::ensure!(
            !self.continued || matches!(self.head, Widths::Native),
            Misuse::of("--continued goes on with the base's own decoder: say --head native")
        );
        let about = &base.file.about;
        let replaced = about.training.as_ref().is_some_and(|training| training.adapted.is_some());
        match (self.head, about.config.scope()) {
            (Widths::Head(head), _) => Ok(head.config()),
            (Widths::Native, Some(config)) if !replaced => Ok(config.decoder.clone()),
            (Widths::Native, _) => anyhow::bail!(
                "the decoder of {} is a replacement, and --head native means the one that a model was trained with: name the backbone",
                base.shown
            ),
        }
    }
}
