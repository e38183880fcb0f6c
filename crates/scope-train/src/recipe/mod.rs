//! Recipes: everything about a training run but its data and its model, as TOML.

mod fits;
mod optimizer;
mod settings;

use std::path::Path;

use scope_data::{DataError, read_bounded_text, schedule::SensorMix};
use scope_engine::{AdamW, Muon, Optimizer};
use scope_model::Precision;
use serde::{Deserialize, Serialize};

pub use fits::FitRecipe;
pub use optimizer::{MuonRecipe, OptimizerKind};

use settings::apply_settings;

use crate::{
    error::TrainError,
    objective::{Component, Objective},
    schedule::{LearningRateSchedule, ScheduleKind},
};

/// The recipes that come with the program.
const BUILT_IN: [(&str, &str); 14] = [
    ("full", include_str!("full.toml")),
    ("fjv", include_str!("fjv.toml")),
    ("fo", include_str!("fo.toml")),
    ("fg", include_str!("fg.toml")),
    ("fjvg", include_str!("fjvg.toml")),
    ("operator", include_str!("operator.toml")),
    ("muon", include_str!("muon.toml")),
    ("muon-fits", include_str!("muon-fits.toml")),
    ("auxiliary", include_str!("auxiliary.toml")),
    ("auxiliary-g", include_str!("auxiliary-g.toml")),
    ("pino", include_str!("pino.toml")),
    ("pino-g", include_str!("pino-g.toml")),
    ("pino-0.1", include_str!("pino-0.1.toml")),
    ("pino-g-0.1", include_str!("pino-g-0.1.toml")),
];

/// How long a replacement head is trained (paper, "Full-backbone SP adaptation and DP control").
const HEAD_EPOCHS: f64 = 100.0;

/// Size of the largest file that is read as a recipe.
const MOST_BYTES: u64 = 1 << 20;
/// The most passes over a training set: the largest run on a single record has as many.
const MOST_EPOCHS: f64 = 1e15;
/// The largest batch of a step.
const MOST_BATCH: usize = 1 << 20;

/// How a model is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Name of the recipe.
    pub name: String,
    /// Seed of initial parameters, batches and masks where none is asked for, if the recipe has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// What products are computed in, if that is not the device's own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Number of examples in a step.
    pub batch: usize,
    /// The parts that a batch is cut into and summed over in a fixed order, so that any number of processes up to
    /// theirs gives the same bits; without, a batch is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// The optimizer.
    #[serde(default)]
    pub optimizer: OptimizerKind,
    /// Learning rate of AdamW after the warm-up.
    pub peak_rate: f64,
    /// Learning rate at both ends of a stage.
    pub floor_rate: f64,
    /// Learning-rate schedule after the warm-up.
    #[serde(default)]
    pub schedule: ScheduleKind,
    /// With a constant learning rate: the last share of a stage, over which it decays.
    #[serde(default = "default_decay_share")]
    pub decay_share: f64,
    /// Epochs of warm-up in each stage; a shortened stage keeps their share of its own epochs.
    pub warmup_epochs: f64,
    /// Weight decay of parameters of rank two and more, without positions.
    pub weight_decay: f64,
    /// Momentum of the EMA teacher at both ends of a stage.
    pub momentum: [f64; 2],
    /// Number of steps between two measurements of the gradient cap; 1 is exact.
    pub cap_every: u64,
    /// Settings of Muon, where it is the optimizer.
    #[serde(default)]
    pub muon: MuonRecipe,
    /// Local fits of the sensors that the network sees beside the context, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits: Option<FitRecipe>,
    /// Few and noisy sensors among those of the protocol, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensors: Option<SensorMix>,
    /// The complete-view stage before the main one, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pretrain: Option<StageRecipe>,
    /// The main stage.
    pub main: StageRecipe,
}

/// A fifth of a stage, as is usual.
fn default_decay_share() -> f64 {
    0.2
}

/// One stage of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageRecipe {
    /// Length in passes over the training set.
    pub epochs: f64,
    /// The objective that is minimised.
    pub objective: Objective,
}

impl Recipe {
    /// The names of the recipes that come with the program.
    pub fn names() -> [&'static str; 14] {
        BUILT_IN.map(|(name, _)| name)
    }

    /// A recipe that comes with the program, or one from a TOML file, as text.
    pub fn text(name: &str) -> Result<String, TrainError> {
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Ok((*text).to_owned());
        }
        read_bounded_text(Path::new(name), MOST_BYTES).map_err(|error| {
            let known = Self::names().join(", ");
            let reason = match error {
                DataError::Io { source, .. } => source.to_string(),
                other => other.to_string(),
            };
            TrainError::Recipe(format!(
                "\"{name}\" is neither a recipe of this program ({known}) nor a file that can be read ({reason})"
            ))
        })
    }

    /// A recipe by name or file, with settings of the form `key=value` on top.
    pub fn resolve(name: &str, settings: &[String]) -> Result<Self, TrainError> {
        let text = Self::text(name)?;
        let recipe: Self = toml::from_str(&text)
            .map_err(|error| TrainError::Recipe(format!("the recipe \"{name}\" cannot be used: {error}")))?;
        recipe.with_settings(settings)
    }

    /// The same with settings of the form `key=value` on top, checked.
    pub fn with_settings(&self, settings: &[String]) -> Result<Self, TrainError> {
        let recipe = apply_settings(self, settings)?;
        recipe.validate()?;
        Ok(recipe)
    }

    /// Whether such a training can be run, and if not, why.
    pub(crate) fn validate(&self) -> Result<(), TrainError> {
        let refuse = |problem: String| Err(TrainError::Recipe(problem));
        if !(1..=MOST_BATCH).contains(&self.batch) {
            return refuse(format!("batch = {} must lie between 1 and {MOST_BATCH}", self.batch));
        }
        if self.cap_every == 0 {
            return refuse("cap_every = 0 must be positive".to_owned());
        }
        if let Some(parts) = self.parts.filter(|parts| !(1..=self.batch).contains(parts)) {
            return refuse(format!("parts = {parts} must lie between 1 and the batch, {}", self.batch));
        }
        self.validate_rates()?;
        if !self.momentum.iter().all(|momentum| (0.0..=1.0).contains(momentum)) {
            return refuse(format!("momentum = {:?} must lie between 0 and 1", self.momentum));
        }
        if !(0.0..=MOST_EPOCHS).contains(&self.warmup_epochs) {
            let epochs = self.warmup_epochs;
            return refuse(format!(
                "warmup_epochs = {epochs:?} must not be negative, and {MOST_EPOCHS:e} at most"
            ));
        }
        for (name, stage) in self.stages() {
            stage.validate(name)?;
        }
        self.sensors.map_or(Ok(()), |sensors| sensors.check().map_err(TrainError::Recipe))
    }

    fn validate_rates(&self) -> Result<(), TrainError> {
        let refuse = |problem: String| Err(TrainError::Recipe(problem));
        let rates =
            [("peak_rate", self.peak_rate), ("floor_rate", self.floor_rate), ("muon.rate", self.muon.rate)];
        for (key, rate) in rates {
            if !(rate.is_finite() && rate > 0.0) {
                return refuse(format!("{key} = {rate:?} must be a finite number above zero"));
            }
        }
        let (floor, peak) = (self.floor_rate, self.peak_rate);
        if floor > peak {
            return refuse(format!(
                "floor_rate = {floor:?} must not be above peak_rate = {peak:?}: lower the floor too"
            ));
        }
        if !(self.weight_decay.is_finite() && self.weight_decay >= 0.0) {
            return refuse(format!(
                "weight_decay = {:?} must be a finite number, zero or more",
                self.weight_decay
            ));
        }
        if !(0.0..=1.0).contains(&self.decay_share) {
            return refuse(format!("decay_share = {} must lie between 0 and 1", self.decay_share));
        }
        Ok(())
    }

    /// The optimizer with its settings.
    pub fn optimizer(&self) -> Optimizer {
        let adamw = AdamW { decay: self.weight_decay, ..AdamW::default() };
        let muon = Muon { rate_ratio: self.muon.rate / self.peak_rate, ..Muon::default() };
        Optimizer { adamw, muon: (self.optimizer == OptimizerKind::Muon).then_some(muon) }
    }

    /// Learning-rate schedule after the warm-up, with its settings.
    pub fn schedule(&self) -> LearningRateSchedule {
        match self.schedule {
            ScheduleKind::Cosine => LearningRateSchedule::Cosine,
            ScheduleKind::ConstantThenDecay => {
                LearningRateSchedule::ConstantThenDecay { decay_share: self.decay_share }
            }
        }
    }

    /// The recipe of a replacement head: the field loss alone for 100 epochs, everything else as here.
    #[must_use]
    pub fn for_head(&self) -> Self {
        let main = StageRecipe { epochs: HEAD_EPOCHS, objective: Objective::FO };
        Self { name: "head".to_owned(), pretrain: None, main, ..self.clone() }
    }

    /// The stages in order, with their names.
    pub fn stages(&self) -> Vec<(&'static str, StageRecipe)> {
        let pretrain = self.pretrain.map(|stage| ("pretrain", stage));
        pretrain.into_iter().chain([("main", self.main)]).collect()
    }
}

impl StageRecipe {
    fn validate(&self, name: &str) -> Result<(), TrainError> {
        let weights = Component::ALL.map(|component| self.objective.weight(component));
        if !weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0)
            || weights.iter().all(|weight| *weight == 0.0)
        {
            return Err(TrainError::Recipe(format!(
                "{name}.objective has weights {weights:?}: none may be negative, and one must be above zero"
            )));
        }
        let std_floor = self.objective.std_floor;
        if !(std_floor.is_finite() && std_floor >= 0.0) {
            return Err(TrainError::Recipe(format!(
                "{name}.objective.spread = {std_floor} must be a finite number that is not negative"
            )));
        }
        if !(self.epochs > 0.0 && self.epochs <= MOST_EPOCHS) {
            return Err(TrainError::Recipe(format!(
                "{name}.epochs = {:?} must be positive, and {MOST_EPOCHS:e} at most",
                self.epochs
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::FieldMeasure;

    #[test]
    fn the_papers_recipes_are_what_they_say() {
        let objective = |name: &str| Recipe::resolve(name, &[]).unwrap().main.objective;
        assert_eq!(objective("full"), Objective::FULL);
        assert_eq!(objective("fjv"), Objective::FJV);
        assert_eq!(objective("fo"), Objective::FO);
        assert_eq!(objective("fg"), Objective::FG);
        assert_eq!(objective("fjvg"), Objective::FJVG);
        let full = Recipe::resolve("full", &[]).unwrap();
        assert_eq!(full.pretrain.unwrap().objective, Objective::PRETRAIN);
        assert_eq!((full.batch, full.peak_rate, full.main.epochs), (32, 1.25e-4, 500.0));
        assert!(Recipe::resolve("fo", &[]).unwrap().pretrain.is_none());
        let operator = Recipe::resolve("operator", &[]).unwrap();
        assert_eq!(
            (operator.batch, operator.main.epochs, operator.main.objective),
            (125, 100.0, Objective::FO)
        );
        assert!(operator.pretrain.is_none());
    }

    #[test]
    fn the_auxiliary_recipes_are_the_papers() {
        let arms = [
            ("auxiliary", 0.0, 0.0),
            ("auxiliary-g", 0.25, 0.0),
            ("pino", 0.0, 1.0),
            ("pino-g", 0.25, 1.0),
            ("pino-0.1", 0.0, 0.1),
            ("pino-g-0.1", 0.25, 0.1),
        ];
        for (name, grounding, residual) in arms {
            let recipe = Recipe::resolve(name, &[]).unwrap();
            let objective = recipe.main.objective;
            assert_eq!(
                (recipe.name.as_str(), recipe.seed, recipe.precision),
                (name, Some(0), Some(Precision::F32))
            );
            assert_eq!((recipe.batch, recipe.main.epochs, recipe.weight_decay), (32, 100.0, 1e-5));
            assert_eq!((recipe.peak_rate, recipe.floor_rate, recipe.warmup_epochs), (1e-4, 1e-4, 0.0));
            assert_eq!(
                (objective.field, objective.grounding, objective.residual),
                (1.0, grounding, residual)
            );
            assert_eq!((objective.measure, objective.capped), (FieldMeasure::HiddenL1, false));
            let written = toml::to_string(&recipe).unwrap();
            assert_eq!(toml::from_str::<Recipe>(&written).unwrap(), recipe);
        }
        // What was written before there were such recipes is written so still.
        let full = toml::to_string(&Recipe::resolve("full", &[]).unwrap()).unwrap();
        assert!(
            !full.contains("measure") && !full.contains("residual") && !full.contains("precision"),
            "{full}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_never_ends_is_no_recipe() {
        let refused = Recipe::resolve("/dev/zero", &[]).unwrap_err().to_string();
        assert!(refused.contains("\"/dev/zero\" is neither a recipe"), "{refused}");
        assert!(refused.contains("longer than 1048576 bytes"), "{refused}");
    }

    #[test]
    fn muon_is_a_setting_of_every_recipe_and_the_papers_are_without() {
        let paper = ["full", "fjv", "fo", "fg", "fjvg", "operator"];
        for name in paper {
            let recipe = Recipe::resolve(name, &[]).unwrap();
            assert_eq!(
                (recipe.optimizer().muon, recipe.schedule()),
                (None, LearningRateSchedule::Cosine),
                "{name}"
            );
        }
        let own = Recipe::resolve("muon", &[]).unwrap();
        let rate = |recipe: &Recipe| recipe.peak_rate * recipe.optimizer().muon.unwrap().rate_ratio;
        assert!((rate(&own) - 1e-3).abs() < 1e-18);
        assert_eq!((own.peak_rate, own.main.objective, own.batch), (6e-4, Objective::FO, 32));
        assert!((own.floor_rate / own.peak_rate - 0.01).abs() < 1e-15);
        assert!((own.warmup_epochs / own.main.epochs - 0.04).abs() < 1e-15);
        let settings =
            ["optimizer=muon", "muon.rate=2e-3", "schedule=constant_then_decay", "decay_share=0.5"];
        let full = Recipe::resolve("full", &settings.map(str::to_owned)).unwrap();
        assert!((rate(&full) - 2e-3).abs() < 1e-18);
        assert_eq!(full.schedule(), LearningRateSchedule::ConstantThenDecay { decay_share: 0.5 });
        let refused = |setting: &str| Recipe::resolve("muon", &[setting.to_owned()]).unwrap_err().to_string();
        assert!(refused("optimizer=sgd").contains("sgd"), "{}", refused("optimizer=sgd"));
        assert!(refused("schedule=wavy").contains("wavy"));
        assert!(refused("muon.rate=0").contains("muon.rate"));
        assert!(refused("decay_share=1.5").contains("decay_share"));
    }

    #[test]
    fn settings_replace_values_and_nothing_else() {
        let set = |settings: &[&str]| {
            Recipe::resolve("full", &settings.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
        };
        let recipe = set(&["batch=8", "main.objective.grounding=0.5", "peak_rate=6e-4"]).unwrap();
        assert_eq!((recipe.batch, recipe.main.objective.grounding, recipe.peak_rate), (8, 0.5, 6e-4));
        let refused = |settings: &[&str]| set(settings).unwrap_err().to_string();
        assert_eq!(
            refused(&["peek_rate=1"]),
            "the recipe has no key \"peek_rate\"; did you mean \"peak_rate\"?"
        );
        assert!(refused(&["batch"]).contains("key=value"));
        assert!(refused(&["batch=many"]).contains("batch"));
        for batch in ["batch=0", "batch=2000000"] {
            assert!(refused(&[batch]).contains("must lie between 1 and 1048576"), "{}", refused(&[batch]));
        }
        assert_eq!(
            refused(&["peak_rate=1e-7"]),
            "floor_rate = 1e-6 must not be above peak_rate = 1e-7: lower the floor too"
        );
        assert!(refused(&["main.objective.field=-1"]).contains("main.objective"));
        let numbers = [
            "peak_rate",
            "floor_rate",
            "warmup_epochs",
            "weight_decay",
            "muon.rate",
            "decay_share",
            "main.epochs",
            "main.objective.field",
            "main.objective.spread",
            "pretrain.objective.spread",
        ];
        for key in numbers {
            for value in ["nan", "inf", "-inf", "-1", "1e999"] {
                let last = key.rsplit('.').next().unwrap();
                let message = refused(&[&format!("{key}={value}")]);
                assert!(message.contains(last) || message.contains("objective"), "{key}={value}: {message}");
            }
        }
        assert!(refused(&["momentum=[0.9, nan]"]).contains("momentum"));
        for key in ["main.epochs", "pretrain.epochs", "warmup_epochs"] {
            let message = refused(&[&format!("{key}=1e308")]);
            assert!(message.contains("epochs = 1e308") && message.contains("1e15 at most"), "{message}");
        }
        assert!(
            Recipe::resolve("fool", &[])
                .unwrap_err()
                .to_string()
                .contains("full, fjv, fo, fg, fjvg, operator, muon, muon-fits, auxiliary")
        );
    }
}
