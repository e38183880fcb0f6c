//! Everything that decides a run, as it is written to `config.toml`.

use std::path::Path;

use scope_data::{Constants, Dataset, read_bounded, write_atomic};
use scope_model::{Adapted, Architecture, DecoderConfig, MOST_DRAWS, Training, View};
use scope_pde::Pde;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    checkpoint::Position,
    data_loader::{Conditions, SamplerConfig},
};
use crate::{
    error::TrainError,
    objective::{Component, Objective},
    recipe::{FitRecipe, Recipe},
    schedule::StageSchedule,
};

/// Size of the largest file that is read as a configuration.
const MOST_BYTES: u64 = 1 << 20;

/// The resolved configuration of a run. Two runs with equal configurations are equal in every bit (on one kind
/// of device), and a run is only continued under the configuration it began with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The problem.
    pub pde: Pde,
    /// Seed of initial parameters, batches and masks.
    pub seed: u64,
    /// Number of steps between two lines of `metrics.jsonl`.
    pub log_every: u64,
    /// Length of the run, as it was asked for.
    pub length: Length,
    /// The stages, in draws.
    pub stages: Vec<Stage>,
    /// The training set.
    pub data: TrainingSet,
    /// Which network, and its sizes.
    pub model: Architecture,
    /// The recipe that it is trained with.
    pub recipe: Recipe,
    /// How fields are stored, where the objective has the residual of an equation in physical units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constants: Option<Constants>,
    /// The trained weights that it begins with, instead of initial ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<InitialWeights>,
    /// The base and the head of an adaptation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapt: Option<AdaptConfig>,
}

/// Trained weights that a run begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InitialWeights {
    /// BLAKE3 of the weight file.
    pub weights: String,
    /// How they were trained, as the file tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained: Option<Training>,
    /// The problem that they were trained on, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Pde>,
}

/// Length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Length {
    /// Passes over the training set in the main stage; earlier stages keep their proportion.
    Epochs(f64),
    /// Examples seen in all stages together.
    Draws(u64),
    /// As many draws as fit into this time, measured on this machine.
    Minutes(f64),
}

/// One stage as it is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// `pretrain`, `main` or `adapt`.
    pub name: String,
    /// Examples seen; a multiple of the batch.
    pub draws: u64,
    /// Number of draws in the warm-up.
    pub warmup: u64,
    /// The objective that is minimised.
    pub objective: Objective,
}

/// Which records a run learns from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSet {
    /// BLAKE3 of the fields.
    pub blake3: String,
    /// Number of records.
    pub records: usize,
    /// Made by our own solvers: fresh draws, not the released records.
    pub generated: bool,
}

/// What an adaptation adds to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptConfig {
    /// BLAKE3 of the base's weight file.
    pub base: String,
    /// How the base was trained, as its weight file tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained: Option<Training>,
    /// What the head sees in training.
    pub view: View,
    /// Whether the head begins as the base's own decoder, and not as a new one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// The head's widths.
    pub head: DecoderConfig,
}

impl TrainingSet {
    /// What a data set is, as a run keeps it.
    pub fn of(data: &Dataset) -> Self {
        let meta = data.meta();
        Self {
            blake3: meta.fields_hash().to_owned(),
            records: meta.count,
            generated: meta.origin.is_generated(),
        }
    }
}

impl RunConfig {
    /// Draws of all stages.
    pub fn total(&self) -> u64 {
        self.stages.iter().map(|stage| stage.draws).sum()
    }

    /// The local fits whose ridge and scale the run measures on its records: those of initial parameters, and those of
    /// weights that are to be renewed.
    pub(crate) fn measured_fits(&self) -> Option<&FitRecipe> {
        let going_on = self.from.is_some();
        self.recipe.fits.as_ref().filter(|fits| self.adapt.is_none() && (!going_on || fits.renew))
    }

    /// The batch that the run begins with: where the training of the weights that it begins with has ended, so that it
    /// sees other masks than that did.
    pub fn first_batch(&self) -> u64 {
        let earlier = self.from.as_ref().and_then(|from| from.trained.as_ref());
        earlier.map_or(0, |trained| trained.taken().div_ceil(self.recipe.batch as u64))
    }

    /// Whether a stage has the residual of the problem's equation in its objective.
    pub(crate) fn has_residual(&self) -> bool {
        self.stages.iter().any(|stage| stage.objective.has(Component::Residual))
    }

    /// The conditions that its batches have.
    pub(crate) fn conditions(&self) -> Conditions {
        match (&self.adapt, self.model.auxiliary()) {
            (Some(adapt), _) if adapt.view == View::Sparse => Conditions::Alternating,
            (None, Some(model)) => {
                Conditions::Auxiliary { deviations: model.units.map(|units| units.deviation) }
            }
            _ => Conditions::Mixed,
        }
    }

    /// The batches of the run from its first one on.
    pub(crate) fn sampler(&self, conditions: Conditions) -> SamplerConfig {
        SamplerConfig {
            conditions,
            sensors: self.recipe.sensors,
            seed: self.seed,
            batch: self.recipe.batch,
            first: self.first_batch(),
        }
    }

    /// How a model came to be that has taken so many draws.
    pub fn training(&self, draws: u64) -> Training {
        let adapted = self.adapt.as_ref();
        let training = Training {
            recipe: self.recipe.name.clone(),
            draws,
            planned: self.total(),
            generated: self.data.generated,
            seed: Some(self.seed),
            minutes: match self.length {
                Length::Minutes(minutes) => Some(minutes),
                Length::Epochs(_) | Length::Draws(_) => None,
            },
            sensors: self.recipe.sensors,
            problem: None,
            adapted: adapted.map(|adapt| {
                let AdaptConfig { view, continued, .. } = *adapt;
                Box::new(Adapted { view, continued, base: adapt.trained.clone() })
            }),
            from: None,
        };
        let Some(from) = &self.from else { return training };
        match &from.trained {
            Some(earlier) => training.after(&Training { problem: from.problem, ..earlier.clone() }),
            None => training,
        }
    }

    /// The schedule of learning rate and EMA momentum over a stage.
    pub fn schedule(&self, stage: &Stage) -> StageSchedule {
        StageSchedule {
            total: stage.draws,
            warmup: stage.warmup,
            batch: self.recipe.batch as u64,
            peak: self.recipe.peak_rate,
            floor: self.recipe.floor_rate,
            schedule: self.recipe.schedule(),
            momentum: self.recipe.momentum,
        }
    }

    /// Reads `config.toml`.
    pub fn read(path: &Path) -> Result<Self, TrainError> {
        let refuse = |error: &dyn std::fmt::Display| TrainError::malformed(path, error.to_string());
        let bytes = read_bounded(path, MOST_BYTES)?;
        let text = str::from_utf8(&bytes).map_err(|error| refuse(&error))?;
        Self::from_text(text).map_err(|problem| TrainError::malformed(path, problem))
    }

    /// Reads what [`RunConfig::to_text`] gives; or what is wrong with it.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        config.check()?;
        Ok(config)
    }

    /// The configuration as `config.toml` has it; or why it cannot be written.
    pub fn to_text(&self) -> Result<String, String> {
        toml::to_string_pretty(self).map_err(|error| error.to_string())
    }

    /// What is impossible about it, expected and got: numbers of a file are not counted with before this.
    fn check(&self) -> Result<(), String> {
        self.recipe.validate().map_err(|error| error.to_string())?;
        self.model.validate().map_err(|error| error.to_string())?;
        if self.has_residual() && self.constants.is_none() {
            return Err("its objective has a residual, and it does not say how fields are stored".to_owned());
        }
        let batch = self.recipe.batch as u64;
        let whole = |stage: &Stage| stage.draws > 0 && stage.draws.is_multiple_of(batch);
        if let Some(stage) = self.stages.iter().find(|stage| !whole(stage) || stage.warmup > stage.draws) {
            let Stage { name, draws, warmup, .. } = stage;
            return Err(format!(
                "the {name} stage has {draws} draws, {warmup} of them warm-up, in batches of {batch}"
            ));
        }
        let total = self.stages.iter().try_fold(0_u64, |sum, stage| sum.checked_add(stage.draws));
        if self.stages.is_empty() || total.is_none_or(|total| total > MOST_DRAWS) {
            return Err(format!("it must have stages, of {MOST_DRAWS} draws at most"));
        }
        let trained = [
            self.from.as_ref().and_then(|from| from.trained.as_ref()),
            self.adapt.as_ref().and_then(|adapt| adapt.trained.as_ref()),
        ];
        trained.into_iter().flatten().try_for_each(Training::check)
    }

    /// Whether a run of this configuration can stand at a position.
    pub(super) fn holds(&self, position: &Position) -> bool {
        let until = |stages: &[Stage]| stages.iter().map(|stage| stage.draws).sum::<u64>();
        position.stage < self.stages.len()
            && (until(&self.stages[..position.stage])..=until(&self.stages[..=position.stage]))
                .contains(&position.draws)
    }

    /// Writes `config.toml`.
    pub fn write(&self, path: &Path) -> Result<(), TrainError> {
        let text = self.to_text().map_err(|problem| TrainError::malformed(path, problem))?;
        Ok(write_atomic(path, text.as_bytes())?)
    }

    /// Refuses a configuration that differs from this one, naming the first key that does. Stages are not compared:
    /// they follow from the rest by what was measured, and by how warm-ups were counted, when the run began.
    pub fn require_same(&self, now: &Self, folder: &Path) -> Result<(), TrainError> {
        let now = Self { stages: self.stages.clone(), ..now.clone() };
        // Not as TOML: its whole numbers end below the largest seeds.
        match difference(&json!(self), &json!(now), "") {
            None => Ok(()),
            Some((key, before, now)) => {
                Err(TrainError::Changed { folder: folder.to_owned(), key, before, now })
            }
        }
    }
}

/// The first key under which two values differ, with both of them.
fn difference(before: &Value, now: &Value, key: &str) -> Option<(String, String, String)> {
    if let (Value::Object(before), Value::Object(now)) = (before, now) {
        let nothing = Value::String("(nothing)".to_owned());
        let keys = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
        return keys.into_iter().find_map(|name| {
            let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            difference(before.get(name).unwrap_or(&nothing), now.get(name).unwrap_or(&nothing), &inner)
        });
    }
    (before != now).then(|| (key.to_owned(), before.to_string(), now.to_string()))
}

#[cfg(test)]
mod tests {
    use scope_model::Preset;

    use super::*;

    fn config(seed: u64, settings: &[&str]) -> RunConfig {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        RunConfig {
            pde: Pde::POISSON,
            seed,
            log_every: 1,
            length: Length::Draws(320),
            stages: vec![Stage { name: "main".to_owned(), draws: 320, warmup: 16, objective: Objective::FO }],
            data: TrainingSet { blake3: "some".to_owned(), records: 10, generated: true },
            model: Preset::Tiny.config(32).into(),
            recipe: Recipe::resolve("fo", &settings).unwrap(),
            constants: None,
            from: None,
            adapt: None,
        }
    }

    #[test]
    fn what_has_changed_is_named_whatever_the_seed() {
        for seed in [3, 1 << 63, u64::MAX] {
            let begun = config(seed, &[]);
            let refused =
                |now: &RunConfig| begun.require_same(now, Path::new("run")).unwrap_err().to_string();
            begun.require_same(&begun, Path::new("run")).unwrap();
            let message = refused(&config(seed, &["peak_rate=1e-3"]));
            assert!(message.contains("was begun with recipe.peak_rate = 0.000125"), "{message}");
            let message = refused(&config(seed - 1, &[]));
            assert!(message.contains(&format!("was begun with seed = {seed}")), "{message}");
            let data = TrainingSet { records: 11, ..begun.data.clone() };
            let message = refused(&RunConfig { data, ..begun.clone() });
            assert!(message.contains("was begun with data.records = 10"), "{message}");
        }
    }

    /// A file may state anything; nothing is counted with before it is possible.
    #[test]
    fn impossible_configurations_are_refused_when_they_are_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("config.toml");
        let stage = |draws: u64| Stage { draws, warmup: 0, ..config(1, &[]).stages[0].clone() };
        let with = |stages: Vec<Stage>| RunConfig { stages, ..config(1, &[]) };
        let mut batchless = config(1, &[]);
        batchless.recipe.batch = 0;
        let trained = Training { draws: MOST_DRAWS + 1, ..config(1, &[]).training(320) };
        let from = Some(InitialWeights { weights: String::new(), trained: Some(trained), problem: None });
        let wrong = [
            with(Vec::new()),
            with(vec![stage(0)]),
            with(vec![stage(33)]),
            with(vec![stage(1 << 60), stage(32)]),
            with(vec![Stage { warmup: 321, ..stage(320) }]),
            batchless,
            RunConfig { from, ..config(1, &[]) },
        ];
        for config in wrong {
            config.write(&path).unwrap();
            let refused = RunConfig::read(&path);
            assert!(matches!(refused, Err(TrainError::Malformed { .. })), "{refused:?}");
        }
    }

    #[test]
    fn positions_lie_within_their_stage() {
        let mut config = config(1, &[]);
        config.stages.push(config.stages[0].clone());
        let at = |stage: usize, draws: u64| {
            let counters = crate::trainer::Counters { steps: 0, alpha: 1.0 };
            config.holds(&Position { stage, draws, counters, metrics_bytes: 0, milestone: false })
        };
        assert!(at(0, 0) && at(0, 320) && at(1, 320) && at(1, 640));
        assert!(!at(0, 321) && !at(1, 319) && !at(1, 641) && !at(2, 640) && !at(usize::MAX, 0));
    }

    #[test]
    fn the_largest_seeds_are_written_and_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("config.toml");
        let begun = config(u64::MAX, &[]);
        begun.write(&path).unwrap();
        assert_eq!(RunConfig::read(&path).unwrap(), begun);
    }
}
