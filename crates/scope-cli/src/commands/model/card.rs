//! `scope model card`: what a user should know of a model, from its run and its evaluations.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;
use scope_data::{Dataset, PerChannel, Scaling};
use scope_model::{
    About, Card, CardData, CardEarlier, CardTraining, CardWeights, HeldOut, Preset, RUN_CONFIG, WeightFile,
    parameter_counts,
};
use scope_train::RunConfig;

use crate::commands::Outcome;
use crate::terminal::{say, warn};

/// What `--help` ends with.
const EXAMPLES: &str = "\
Example:
  scope model card --model models/poisson.safetensors --run runs/poisson --data data/poisson \\
      --eval evals/poisson/all.json --trained-on \"one NVIDIA H200\"
  scope model card --model models/poisson.safetensors --eval evals/again/*.json    # new errors on the card it has

Evaluations must be of this very weight file: they are compared by its hash.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ModelCard {
    /// The weight file that the card is for; the card is written beside it
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The run that it comes from; without it, the errors on the card that the model has are renewed
    #[arg(long, value_name = "RUN", requires = "data")]
    run: Option<PathBuf>,
    /// The training set, for the range of its values
    #[arg(long, value_name = "DIR", requires = "run")]
    data: Option<PathBuf>,
    /// Evaluations of the weight file
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    eval: Vec<PathBuf>,
    /// What it was trained on, in words
    #[arg(long, value_name = "TEXT", requires = "run")]
    trained_on: Option<String>,
    /// Minutes of training [default: those asked for, if the run's length was a time]
    #[arg(long, value_name = "M", requires = "run")]
    minutes: Option<f64>,
}

impl ModelCard {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let file = WeightFile::read(&self.model)?;
        let blake3 = file.hash();
        let mut held_out = HeldOut::default();
        for file in &self.eval {
            held_out.add_evaluation(file, &blake3)?;
        }
        let path = Card::beside(&self.model);
        let card = match (&self.run, &self.data) {
            (Some(run), Some(data)) => keep_bands(self.card(run, data, file, held_out)?, &path),
            _ => renewed(Card::read(&path)?, &blake3, held_out)?,
        };
        card.write(&path)?;
        let conditions = match card.held_out.conditions.len() {
            1 => "1 condition".to_owned(),
            several => format!("{several} conditions"),
        };
        say(&format!("wrote {}: {conditions}", path.display()));
        Ok(Outcome::Success)
    }

    /// A card without bands, of the weight file that was read.
    fn card(&self, run: &Path, data: &Path, file: WeightFile, held_out: HeldOut) -> anyhow::Result<Card> {
        let blake3 = file.hash();
        let length = file.length();
        let kind = file.quantisation()?;
        let about = file.about;
        let config = RunConfig::read(&run.join(RUN_CONFIG))?;
        let data = training_set(data, &config)?;
        let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        Ok(Card {
            format: Card::FORMAT,
            name: text(self.model.file_stem()),
            pde: about.pde,
            size: size(&about),
            parameters: parameter_counts(&about.config)?.iter().map(|part| part.parameters).sum(),
            resolution: about.config.resolution(),
            weights: CardWeights { file: text(self.model.file_name()), kind, bytes: length, blake3 },
            training: self.training(&about)?,
            data: CardData {
                origin: data.meta().origin.describe(about.pde),
                records: data.len(),
                blake3: config.data.blake3.clone(),
            },
            range: ranges(&data)?,
            held_out,
            bands: None,
        })
    }

    fn training(&self, about: &About) -> anyhow::Result<CardTraining> {
        let training = about.training.as_ref();
        let training =
            training.with_context(|| format!("{} does not say how it was trained", self.model.display()))?;
        let (tasks, sensors) = CardTraining::covers(Some(training));
        // A replacement decoder goes on from its backbone, though the weight file keeps the two apart.
        let backbone = training.adapted.as_ref().and_then(|adapted| adapted.base.as_ref());
        let training = backbone.map_or(training.clone(), |backbone| training.clone().after(backbone));
        Ok(CardTraining {
            recipe: training.recipe.clone(),
            draws: training.draws,
            planned: training.planned,
            seed: training.seed,
            minutes: self.minutes.or(training.minutes),
            device: self.trained_on.clone(),
            tasks: tasks.to_vec(),
            sensors,
            noise: CardTraining::noise_of(&training),
            from: CardEarlier::all(&training),
        })
    }
}

/// A new card with the bands of the one that it replaces, if they are of this weight file and of other records than its
/// errors.
fn keep_bands(card: Card, path: &Path) -> Card {
    if !path.exists() {
        return card;
    }
    let dropped = |why: &str| {
        warn(&format!(
            "the error bands that {} had are dropped: {why}; measure them with scope model calibrate",
            path.display()
        ));
    };
    match Card::read(path) {
        Err(error) => dropped(&format!("it cannot be read ({error})")),
        Ok(Card { bands: None, .. }) => {}
        Ok(Card { bands: Some(bands), weights, .. }) => {
            if weights.blake3 == card.weights.blake3 && bands.origin != card.held_out.origin {
                return Card { bands: Some(bands), ..card };
            }
            dropped(if weights.blake3 == card.weights.blake3 {
                "they were measured on the very records of these evaluations"
            } else {
                "they are of another weight file"
            });
        }
    }
    card
}

/// A card with other errors; what it was about stays, and no condition is lost.
fn renewed(card: Card, blake3: &str, held_out: HeldOut) -> anyhow::Result<Card> {
    anyhow::ensure!(
        card.weights.blake3 == blake3,
        "the card of {} is of a weight file with BLAKE3 {}, and this one has {blake3}: name its run and data for a card of its own",
        card.name,
        card.weights.blake3
    );
    if let Some(lost) =
        card.held_out.conditions.keys().find(|known| !held_out.conditions.contains_key(*known))
    {
        anyhow::bail!(
            "the card of {} has errors at {lost} too: give an evaluation of that as well",
            card.name
        );
    }
    anyhow::ensure!(
        card.bands.as_ref().is_none_or(|bands| bands.origin != held_out.origin),
        "the bands of {} were measured on these very records ({}): evaluate on others",
        card.name,
        held_out.origin
    );
    Ok(Card { held_out, ..card })
}

/// The set that the run was trained on, and no other.
fn training_set(folder: &Path, config: &RunConfig) -> anyhow::Result<Dataset> {
    let data = Dataset::open(folder)?;
    let hash = data.meta().fields_hash();
    anyhow::ensure!(
        hash == config.data.blake3,
        "{} has BLAKE3 {hash}, and the run was trained on {}: name the training set",
        folder.display(),
        config.data.blake3
    );
    Ok(data)
}

/// The name of a SCOPE model's size, or of an operator.
fn size(about: &About) -> String {
    let Some(config) = about.config.scope() else { return about.config.name().to_owned() };
    Preset::of(config).map_or("custom", Preset::name).to_owned()
}

/// The least and the largest value of each channel, in physical units.
fn ranges(data: &Dataset) -> anyhow::Result<PerChannel<[f64; 2]>> {
    let mut extremes = PerChannel::both([f32::INFINITY, f32::NEG_INFINITY]);
    for record in 0..data.len() {
        let pair = data.pair(record)?;
        for (channel, [low, high]) in extremes.each_mut().with_channels() {
            for value in pair.field(channel) {
                *low = low.min(*value);
                *high = high.max(*value);
            }
        }
    }
    let physical = |(extremes, scaling): ([f32; 2], Scaling)| extremes.map(|value| scaling.physical(value));
    Ok(extremes.zip(data.meta().constants()).map(physical))
}
