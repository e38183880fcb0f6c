//! `scope train`: a model from data.

use clap::Args;
use scope_data::Dataset;
use scope_pde::Pde;
use scope_train::{Ask, Recipe};

use super::RunArguments;
use crate::commands::{NetworkChoice, Outcome, network_names, pde_names};
use crate::terminal::{print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope train --pde poisson --data data/poisson --recipe full --model small --minutes 25 --out runs/poisson
  scope train --pde poisson --data data/poisson --recipe full --model small --minutes 25 --out runs/poisson --resume
  scope train --pde darcy --data data/darcy --recipe fo --model tiny --draws 20000 --set peak_rate=1e-3 --out runs/try

  scope train --pde poisson --data data/poisson --model fno --recipe operator --epochs 10 --out runs/fno

Recipes: full, fjv, fo, fg, fjvg, operator, or a TOML file of your own. Exit code 75: interrupted, state saved.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainCommand {
    /// The problem, which the data must be of
    #[arg(long, value_parser = pde_names())]
    pde: Pde,
    /// A recipe of the program, or a TOML file [default: full; operator for an operator]
    #[arg(long, value_name = "NAME|FILE")]
    recipe: Option<String>,
    /// A SCOPE model of some size, or an operator
    #[arg(long, default_value = "base", value_parser = network_names())]
    model: NetworkChoice,
    /// Steps between measurements of the gradient cap; 1 is exact
    #[arg(long, value_name = "K")]
    cap_every: Option<u64>,
    /// Print what would be trained, and stop
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    run: RunArguments,
}

impl TrainCommand {
    pub(crate) fn run(mut self) -> anyhow::Result<Outcome> {
        self.run.settings.extend(self.cap_every.map(|k| format!("cap_every={k}")));
        let usual = match self.model {
            NetworkChoice::Scope(_) => "full",
            NetworkChoice::Operator(_) => "operator",
        };
        let recipe = Recipe::resolve(self.recipe.as_deref().unwrap_or(usual), &self.run.settings)?;
        let data = Dataset::open(&self.run.data)?;
        let (meta, shown) = (data.meta(), self.run.data.display());
        anyhow::ensure!(
            meta.pde == self.pde,
            "{shown} holds {} and --pde says {}: name the set or the problem you mean",
            meta.pde.name(),
            self.pde.name()
        );
        let ask = Ask {
            recipe,
            model: self.model.architecture(meta.resolution),
            length: self.run.length(),
            seed: self.run.seed,
            log_every: self.run.log_every,
            adapt: None,
        };
        ask.model.validate()?;
        if self.dry_run {
            let device = self.run.device.open()?;
            let make = |config: &_| scope_train::learner(config, &device, None);
            let config = scope_train::plan(ask, &data, &make, 1)?;
            print_json(&config)?;
            return Ok(Outcome::Success);
        }
        say(&format!(
            "training {} on {} records of {} with {}",
            self.model.name(),
            meta.count,
            self.pde.name(),
            ask.recipe.name
        ));
        self.run.train(ask, None)
    }
}
