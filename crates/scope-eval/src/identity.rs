//! What was evaluated on what: enough to tell whether two results may be compared.

use std::collections::BTreeMap;

use scope_data::{Dataset, Origin, observation::Condition};
use scope_model::{About, Head, Operator, Preset, Training};
use scope_pde::{Pde, Split};
use serde::{Deserialize, Serialize};

use crate::noise::TestNoise;

/// The whole identity of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The problem.
    pub pde: Pde,
    /// The named set of conditions.
    pub protocol: String,
    /// Records evaluated: the first so many of the set.
    pub records: usize,
    /// What was tested.
    pub method: MethodIdentity,
    /// The records.
    pub data: DataIdentity,
    /// What was seen of them.
    pub masks: MaskIdentity,
    /// Where and in which precision it was computed.
    pub computed: String,
    /// The version of this program.
    pub version: String,
}

/// A method and how it came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodIdentity {
    /// The kind of method: `scope`, an operator, `exact`.
    pub name: String,
    /// The size of a network, if it is one of the known ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What trained the backbone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// `native`, or view and size of a replacement such as `sp-10m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoder: Option<String>,
    /// Parameters of what is deployed.
    pub parameters: usize,
    /// BLAKE3 of the weight file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// How it was trained, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Budget>,
}

/// What training cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// Examples seen by the backbone, or by the whole network.
    pub draws: u64,
    /// Examples seen by a replacement decoder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_draws: Option<u64>,
    /// Examples that were planned, of a replacement decoder if it is one; not known of older evaluations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u64>,
    /// Whether it ended before the draws that were planned.
    pub cut_short: bool,
    /// Whether its data were made by our own solvers: fresh draws, not the released records.
    pub generated: bool,
    /// Of initial parameters, batches and masks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The time it was given, if its length was a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
}

impl Budget {
    /// How many draws, in words.
    pub fn described(&self, number: impl Fn(u64) -> String) -> String {
        match self.head_draws {
            Some(head) => format!("{} + {} draws of the head", number(self.draws), number(head)),
            None => format!("{} draws", number(self.draws)),
        }
    }
}

/// The records of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataIdentity {
    /// BLAKE3 of the fields.
    pub blake3: String,
    /// Train or test.
    pub split: Split,
    /// Where they come from, in words.
    pub origin: String,
    /// Whether our own solvers made them: fresh draws, not the released records.
    pub generated: bool,
    /// Points along each axis.
    pub resolution: usize,
    /// Whether the method is known to have been trained on these very records, whatever their split is called.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trained_on: bool,
}

/// The masks of an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MaskIdentity {
    /// Their seed.
    pub seed: u64,
    /// BLAKE3 of all masks of a condition.
    pub blake3: BTreeMap<Condition, String>,
    /// How readings at their points were off, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<TestNoise>,
}

impl Budget {
    /// Examples seen by backbone and replacement decoder together.
    pub fn taken(&self) -> u64 {
        self.draws.saturating_add(self.head_draws.unwrap_or(0))
    }

    /// Whether another is of the same training, after any number of draws. A replacement decoder has its backbone's draws before
    /// it begins, and those must be the same.
    fn is_same_training(&self, other: &Self) -> bool {
        let of = |budget: &Self| {
            let backbone = budget.head_draws.map(|_| budget.draws);
            (budget.seed, budget.planned, budget.generated, budget.minutes, backbone)
        };
        self.planned.is_some() && of(self) == of(other)
    }
}

impl DataIdentity {
    /// Of a data set.
    pub fn of(data: &Dataset) -> Self {
        let meta = data.meta();
        Self {
            blake3: meta.fields_hash().to_owned(),
            split: meta.split,
            origin: meta.origin.describe(meta.pde),
            generated: matches!(meta.origin, Origin::Generated { .. }),
            resolution: meta.resolution,
            trained_on: false,
        }
    }

    /// Whether the records were kept from training: those of a training set never count as held out.
    pub fn is_held_out(&self) -> bool {
        self.split != Split::Train && !self.trained_on
    }
}

impl MethodIdentity {
    /// Of a network in a weight file.
    pub fn of_network(about: &About, parameters: usize, blake3: String) -> Self {
        let preset = about.config.scope().and_then(Preset::of);
        let trained = about.training.as_ref();
        let adapted = trained.and_then(|training| training.adapted.as_deref());
        let decoder = about.config.scope().map(|config| {
            let head = Head::ALL.into_iter().find(|head| head.config() == config.decoder);
            let size = head.map_or("head", Head::name);
            adapted.map_or("native".to_owned(), |adapted| format!("{}-{size}", adapted.view.short()))
        });
        // An adapted model's figures are those of its backbone, and of its head on top.
        let backbone = adapted.map_or(trained, |adapted| adapted.base.as_ref());
        let training = trained.map(|training| Budget {
            draws: backbone.map_or(0, Training::taken),
            head_draws: adapted.map(|_| training.draws),
            planned: Some(training.planned),
            cut_short: [Some(training), backbone].into_iter().flatten().any(|t| t.draws < t.planned),
            generated: training.generated,
            seed: training.seed,
            minutes: training.minutes,
        });
        Self {
            name: about.config.name().to_owned(),
            model: preset.map(|preset| preset.name().to_owned()),
            recipe: backbone.map(|backbone| backbone.recipe.clone()),
            decoder,
            parameters,
            blake3: Some(blake3),
            training,
        }
    }

    /// Whether another is the same kind of model: of the same size, recipe and decoder.
    pub fn is_same_kind(&self, other: &Self) -> bool {
        let of = |method: &Self| {
            let Self { name, model, recipe, decoder, parameters, .. } = method.clone();
            (name, model, recipe, decoder, parameters)
        };
        of(self) == of(other)
    }

    /// Whether another is a model of the same training, after any number of draws, as far as their identities tell.
    pub fn is_same_training(&self, other: &Self) -> bool {
        let budgets = self.training.as_ref().zip(other.training.as_ref());
        self.is_same_kind(other) && budgets.is_some_and(|(own, other)| own.is_same_training(other))
    }

    /// Whether another is what the same training came to later.
    pub fn precedes(&self, other: &Self) -> bool {
        let taken = |method: &Self| method.training.as_ref().map(Budget::taken);
        self.is_same_training(other) && taken(self) < taken(other)
    }

    /// What rows of tables call it: `Full (small)`, `Full / SP-10M (base)`, `Transolver`.
    pub fn label(&self) -> String {
        if self.name == "exact" {
            return "Exact posterior".to_owned();
        }
        if self.name != "scope" {
            let operator = self.name.parse::<Operator>();
            return operator.map_or_else(|_| self.name.clone(), |operator| operator.label().to_owned());
        }
        let mut label = match self.recipe.as_deref() {
            Some("full") => "Full".to_owned(),
            Some(recipe) => recipe.to_uppercase(),
            None => self.name.clone(),
        };
        if let Some(decoder) = self.decoder.as_deref().filter(|decoder| *decoder != "native") {
            label.push_str(&format!(" / {}", decoder.to_uppercase()));
        }
        if let Some(model) = &self.model {
            label.push_str(&format!(" ({model})"));
        }
        label
    }
}
