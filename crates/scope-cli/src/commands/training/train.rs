//! `scope train`: a model from data.

use std::path::PathBuf;

use clap::Args;
use scope_data::{Dataset, Meta, read_problem};
use scope_model::{Architecture, Preset, Quantisation, Training};
use scope_pde::Pde;
use scope_train::{InitialWeights, Recipe, RunRequest};

use super::{RunArguments, build_trainer, weights::Weights};
use crate::commands::{Misuse, NetworkChoice, Outcome, network_names, pde_names};
use crate::terminal::{grouped, print_json, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope train --pde poisson --data data/poisson --recipe full --model small --minutes 25 --out runs/poisson
  scope train --pde poisson --data data/poisson --recipe full --model small --minutes 25 --out runs/poisson --resume
  scope train --pde darcy --data data/darcy --recipe fo --model tiny --draws 20000 --set peak_rate=1e-3 --out runs/try
  scope train --pde poisson --data data/poisson --model fno --recipe operator --epochs 10 --out runs/fno
  scope train --pde poisson --data data/poisson --model aux-fno --recipe auxiliary-g --epochs 10 --out runs/aux-fno-g
  scope train --pde poisson --data data/poisson --recipe full --from runs/poisson --minutes 25 --out runs/poisson-2
  scope train --pde helmholtz --data data/helmholtz --recipe muon-fits --from poisson --minutes 5 --out runs/helmholtz
  scope train --pde poisson --data data/poisson --recipe full --model small --epochs 1 --processes 4 --out runs/poisson
  scope train --problem problem.toml --data data/mine/train --model small --minutes 5 --out runs/mine

Recipes: full, fjv, fo, fg, fjvg, operator, muon, muon-fits; auxiliary, auxiliary-g, pino, pino-g, pino-0.1 and
pino-g-0.1 for aux-* models; or a TOML file of your own. Exit code 75: interrupted, state saved.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TrainCommand {
    /// The problem, which the data must be of; the data know it themselves
    #[arg(long, value_parser = pde_names())]
    pde: Option<Pde>,
    /// The file of a problem of your own, which the data must be of
    #[arg(long, value_name = "FILE", conflicts_with = "pde")]
    problem: Option<PathBuf>,
    /// A recipe of the program, or a TOML file [default: full; operator for an operator, auxiliary for aux-*]
    #[arg(long, value_name = "NAME|FILE")]
    recipe: Option<String>,
    /// A SCOPE model of some size, or an operator [default: base]
    #[arg(long, value_parser = network_names(), conflicts_with = "from")]
    model: Option<NetworkChoice>,
    /// Go on from trained weights, of this problem or of another one on the same grid: a run folder, a weight file or a
    /// model's name; its network, a fresh optimiser, a whole schedule without pretraining
    #[arg(long, value_name = "RUN|FILE|NAME")]
    from: Option<PathBuf>,
    /// Steps between measurements of the gradient cap; 1 is exact
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    cap_every: Option<u64>,
    /// Print what would be trained, and stop
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    run: RunArguments,
}

/// What is gone on from, in a sentence.
fn describe(start: &Weights) -> anyhow::Result<String> {
    let draws = start.file.about.training.as_ref().map_or(0, Training::taken);
    let rounded = match start.file.quantisation()? {
        Quantisation::Int8 => "; they were rounded to eight bits, and training goes on from the rounded ones",
        Quantisation::F32 | Quantisation::Bf16 | Quantisation::Int16 => "",
    };
    Ok(format!("going on from {} after {} draws{rounded}", start.shown, grouped(draws as usize)))
}

/// Whether a recipe's name is no path: what it should have been, the command line alone shows.
fn is_plain(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

impl TrainCommand {
    pub(crate) fn run(mut self) -> anyhow::Result<Outcome> {
        if !self.dry_run
            && let Some(outcome) = self.run.start_processes()?
        {
            return Ok(outcome);
        }
        self.run.settings.extend(self.cap_every.map(|k| format!("cap_every={k}")));
        let data = Dataset::open(&self.run.data)?;
        let meta = data.meta();
        let shown = self.run.data.display();
        if let Some((stated, option)) = self.stated_problem()? {
            anyhow::ensure!(
                meta.pde == stated,
                "{shown} holds {} and {option} says {stated}: name the set or the problem you mean",
                meta.pde.name(),
            );
        }
        let start = self.from.as_deref().map(Weights::read).transpose()?;
        if let Some(start) = &start {
            start.require_same_grid(&data, &self.run.data)?;
        }
        let request = self.request(start.as_ref(), meta)?;
        if self.dry_run {
            return self.show_plan(request, &data, start.as_ref());
        }
        if let Some(start) = &start {
            say(&describe(start)?);
            if !start.is_of(meta) {
                say(&format!(
                    "they are of {} with another normalisation: what they know is carried over to {}",
                    start.file.about.pde, meta.pde
                ));
            }
        }
        say(&format!(
            "training {} on {} records of {} with {}",
            start.as_ref().map_or_else(|| self.network().name().to_owned(), |_| "their network".to_owned()),
            meta.count,
            meta.pde.name(),
            request.recipe.name
        ));
        self.run.train(request, &data, start.as_ref())
    }

    /// The problem that was stated, and by which option.
    fn stated_problem(&self) -> anyhow::Result<Option<(Pde, &'static str)>> {
        Ok(match &self.problem {
            Some(file) => Some((read_problem(file)?, "--problem")),
            None => self.pde.map(|pde| (pde, "--pde")),
        })
    }

    /// The network that was named, or the paper's.
    fn network(&self) -> NetworkChoice {
        self.model.unwrap_or(NetworkChoice::Scope(Preset::Base))
    }

    /// What is asked for: the network of the weights to go on from, or the one named.
    fn request(&self, start: Option<&Weights>, meta: &Meta) -> anyhow::Result<RunRequest> {
        let named = || self.network().architecture(meta.resolution);
        let model = start.map_or_else(named, |start| start.file.about.config.clone());
        model.validate()?;
        let usual = match &model {
            Architecture::Scope(_) => "full",
            Architecture::Auxiliary(_) => "auxiliary",
            _ => "operator",
        };
        let name = self.recipe.as_deref().unwrap_or(usual);
        let recipe = Recipe::resolve(name, &[]).map_err(|error| {
            if is_plain(name) { Misuse::of(error).into() } else { anyhow::Error::from(error) }
        })?;
        let recipe = self.run.set(&recipe)?;
        let constants = meta.constants();
        let model = match start {
            // Weights bring their own network, with or without fits.
            Some(start) if start.is_of(meta) => model,
            Some(_) => recipe.trained_network(model, meta.pde, &constants).map_err(Misuse::of)?,
            None => recipe.network(model, meta.pde, &constants).map_err(Misuse::of)?,
        };
        let request = RunRequest {
            seed: self.run.seed(&recipe),
            recipe,
            model,
            length: self.run.length(),
            log_every: self.run.log_every,
            from: start.map(|start| InitialWeights {
                weights: start.hash.clone(),
                trained: start.file.about.training.clone(),
                problem: start.other_problem(meta),
            }),
            adapt: None,
        };
        request.require_fit(meta.pde).map_err(|error| Misuse::of(format!("{error} (--recipe {usual})")))?;
        request.require_length().map_err(Misuse::of)?;
        Ok(request)
    }

    /// Prints what would be trained.
    fn show_plan(
        &self,
        request: RunRequest,
        data: &Dataset,
        weights: Option<&Weights>,
    ) -> anyhow::Result<Outcome> {
        let device = self.run.device.open()?;
        let build = |config: &_| build_trainer(config, &device, weights);
        let config = scope_train::plan(request, data, &build, 1)?;
        print_json(&config)?;
        Ok(Outcome::Success)
    }
}
