//! `scope mask`: observation masks to look at and to use elsewhere.

use std::path::PathBuf;

use anyhow::bail;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use scope_data::{
    GridShape, PerChannel,
    observation::{
        Condition, ContextMasks, Family, MaskSampler, Namespace, TEST_MASK_SEED, TRAIN_MASK_SEED, Task,
        masks_to_npy,
    },
    read_problem, write_atomic,
};
use scope_eval::figure::{Drawing, mask_gallery, mask_panels};
use scope_pde::{Pde, Split};

use super::{Misuse, Outcome, pde_names, resolution};
use crate::terminal::{grouped, say};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Examples:
  scope mask --family cluster --budget 500 --record 7 --out mask.png
  scope mask --family uniform --budget 500 --task joint --out masks.npy
  scope mask --gallery --out gallery.png
  scope mask --problem problem.toml --family uniform --budget 500 --out mask.png

A .npy file holds booleans [2, rows, columns]: where a is seen, and where u is. Masks depend on these arguments alone.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MaskCommand {
    /// The family of layouts
    #[arg(long, value_parser = families(), required_unless_present = "gallery")]
    family: Option<Family>,
    /// Points to observe of a 128 x 128 grid; other resolutions observe the same share
    #[arg(long, value_name = "K", required_unless_present = "gallery")]
    budget: Option<usize>,
    /// Draw all families and budgets in one picture, as test masks of a 128 x 128 grid
    #[arg(long, conflicts_with_all = ["family", "budget", "task", "split", "draw", "resolution"])]
    gallery: bool,
    /// Which channels are observed
    #[arg(long, default_value = "forward", value_parser = tasks())]
    task: Task,
    /// The problem, one of the mask's coordinates
    #[arg(long, default_value_t = Pde::POISSON, value_parser = pde_names())]
    pde: Pde,
    /// The file of a problem of your own, with its grid
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pde", "resolution", "gallery"])]
    problem: Option<PathBuf>,
    /// The record, another one
    #[arg(long, value_name = "R", default_value_t = 0)]
    record: u64,
    /// train or test masks
    #[arg(long, value_name = "SPLIT", default_value_t = Split::Test)]
    split: Split,
    /// How often the record was drawn before (train masks only)
    #[arg(long, value_name = "D", default_value_t = 0)]
    draw: u64,
    /// Seed of the masks [default: 20261013 for test, 20260913 for train]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Grid points along each axis
    #[arg(long, value_name = "S", default_value_t = 128, value_parser = resolution)]
    resolution: usize,
    /// File to write, .png or .npy
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl MaskCommand {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let seed = self.seed.unwrap_or(match self.split {
            Split::Train => TRAIN_MASK_SEED,
            Split::Test => TEST_MASK_SEED,
        });
        let extension = self.out.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        let (Some(family), Some(budget)) = (self.family, self.budget) else {
            return self.draw_gallery(seed, extension);
        };
        let condition = Condition::new(self.task, family, budget).map_err(Misuse::of)?;
        let namespace = match self.split {
            Split::Train => Namespace::Train { draw: self.draw },
            Split::Test => Namespace::Test,
        };
        let (pde, grid) = self.problem()?;
        let sampler = MaskSampler::new(pde, seed, grid);
        let masks = sampler.masks(namespace, self.record, condition, None);
        let bytes = match extension {
            "npy" => masks_to_npy(&[&masks.seen.a, &masks.seen.u]),
            "png" => picture(&masks, condition).to_png()?,
            _ => bail!(Misuse::of(format!("{} must end in .png or .npy", self.out.display()))),
        };
        write_atomic(&self.out, &bytes)?;
        say(&format!(
            "wrote {condition} of record {} ({} and {} of {} points seen) to {}",
            self.record,
            grouped(masks.seen.a.count()),
            grouped(masks.seen.u.count()),
            grouped(grid.points()),
            self.out.display()
        ));
        Ok(Outcome::Success)
    }

    /// The problem and its grid.
    fn problem(&self) -> anyhow::Result<(Pde, GridShape)> {
        let Some(file) = &self.problem else { return Ok((self.pde, self.resolution.into())) };
        let pde = read_problem(file)?;
        let grid = pde.descriptor().shape.unwrap_or(self.resolution.into());
        Ok((pde, grid))
    }

    fn draw_gallery(&self, seed: u64, extension: &str) -> anyhow::Result<Outcome> {
        if extension != "png" {
            bail!(Misuse::of(format!("{} must end in .png: the gallery is a picture", self.out.display())));
        }
        write_atomic(&self.out, &mask_gallery(self.pde, seed, self.record).to_png()?)?;
        say(&format!("drew all families and budgets in {}", self.out.display()));
        Ok(Outcome::Success)
    }
}

/// The observed channels side by side.
fn picture(masks: &ContextMasks, condition: Condition) -> Drawing {
    let PerChannel { a, u } = condition.task().observes();
    let mut panels = Vec::new();
    if a {
        panels.push((format!("a: {condition}"), &masks.seen.a));
    }
    if u {
        panels.push((format!("u: {condition}"), &masks.seen.u));
    }
    mask_panels(&panels, 256.0)
}

fn families() -> impl TypedValueParser<Value = Family> {
    PossibleValuesParser::new(Family::ALL.map(Family::name)).try_map(|name| name.parse::<Family>())
}

fn tasks() -> impl TypedValueParser<Value = Task> {
    PossibleValuesParser::new(Task::ALL.map(Task::name)).try_map(|name| name.parse::<Task>())
}
