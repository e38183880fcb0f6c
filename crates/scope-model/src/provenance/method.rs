//! What was evaluated: a method, and how it came to be.

use serde::{Deserialize, Serialize};

use super::training::Training;
use crate::{
    architecture::Operator,
    config::{Head, Preset},
    operators::Auxiliary,
    weights::About,
};

/// The decoder that a network was trained with.
const NATIVE: &str = "native";

/// The kind of a method; prints and parses as its name in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MethodKind {
    /// A SCOPE network: `scope`.
    Scope,
    /// An operator that the paper compares with.
    Operator(Operator),
    /// An operator of the paper's auxiliary study.
    Auxiliary(Auxiliary),
    /// The exact posterior: `exact`.
    Exact,
    /// The posterior of a linear fit: `linear`.
    Linear,
    /// A method of one's own, by its name.
    Own(String),
}

impl MethodKind {
    /// Its name in files.
    pub fn name(&self) -> &str {
        match self {
            MethodKind::Scope => "scope",
            MethodKind::Operator(operator) => operator.name(),
            MethodKind::Auxiliary(operator) => operator.name(),
            MethodKind::Exact => "exact",
            MethodKind::Linear => "linear",
            MethodKind::Own(name) => name,
        }
    }
}

impl From<&str> for MethodKind {
    fn from(name: &str) -> Self {
        match name {
            "scope" => MethodKind::Scope,
            "exact" => MethodKind::Exact,
            "linear" => MethodKind::Linear,
            _ => {
                let operator = name.parse().map(MethodKind::Operator);
                let known = operator.or_else(|_| name.parse().map(MethodKind::Auxiliary));
                known.unwrap_or_else(|_| MethodKind::Own(name.to_owned()))
            }
        }
    }
}

impl From<String> for MethodKind {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl From<MethodKind> for String {
    fn from(kind: MethodKind) -> Self {
        kind.name().to_owned()
    }
}

/// A method and how it came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodIdentity {
    /// The kind of method.
    #[serde(rename = "name")]
    pub kind: MethodKind,
    /// The size of a network, if it is one of the known ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What trained the backbone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// `native`, or view and size of a replacement such as `sp-10m`; `sp-native-continued` is the native one, trained
    /// on.
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
    /// The seed of initial parameters, batches and masks.
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

    /// Examples seen by backbone and replacement decoder together.
    pub fn taken(&self) -> u64 {
        self.draws.saturating_add(self.head_draws.unwrap_or(0))
    }

    /// Whether another is of the same training, after any number of draws. A replacement decoder has its backbone's
    /// draws before it begins, and those must be the same.
    fn is_same_training(&self, other: &Self) -> bool {
        let of = |budget: &Self| {
            let backbone = budget.head_draws.map(|_| budget.draws);
            (budget.seed, budget.planned, budget.generated, budget.minutes, backbone)
        };
        self.planned.is_some() && of(self) == of(other)
    }
}

impl MethodIdentity {
    /// The identity of a network in a weight file.
    pub fn of_network(about: &About, parameters: usize, blake3: String) -> Self {
        let preset = about.config.scope().and_then(Preset::of);
        let trained = about.training.as_ref();
        let adapted = trained.and_then(|training| training.adapted.as_deref());
        let decoder = about.config.scope().map(|config| {
            let head = Head::ALL.into_iter().find(|head| head.config() == config.decoder);
            let is_native =
                preset.is_some_and(|preset| preset.config(config.resolution).decoder == config.decoder);
            let size = head.map_or(if is_native { NATIVE } else { "head" }, Head::name);
            adapted.map_or(NATIVE.to_owned(), |adapted| {
                let continued = if adapted.continued { "-continued" } else { "" };
                format!("{}-{size}{continued}", adapted.view.short())
            })
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
            kind: about.config.name().into(),
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
            let Self { kind, model, recipe, decoder, parameters, .. } = method.clone();
            (kind, model, recipe, decoder, parameters)
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

    /// View and size of its decoder, as in `sp-10m`, if that is a replacement.
    pub fn replaced_decoder(&self) -> Option<&str> {
        self.decoder.as_deref().filter(|decoder| *decoder != NATIVE)
    }

    /// Whether it is a SCOPE network with the decoder that it was trained with.
    pub fn has_native_decoder(&self) -> bool {
        self.kind == MethodKind::Scope && self.decoder.as_deref() == Some(NATIVE)
    }

    /// Whether its backbone was trained with the paper's whole objective.
    pub fn is_full(&self) -> bool {
        self.recipe.as_deref() == Some("full")
    }

    /// What rows of tables call it: `Full (small)`, `Full / SP-10M (base)`, `Transolver`.
    pub fn label(&self) -> String {
        let mut label = match (&self.kind, self.recipe.as_deref()) {
            (MethodKind::Exact, _) => return "Exact posterior".to_owned(),
            (MethodKind::Linear, _) => return "Linear (POD)".to_owned(),
            (MethodKind::Operator(operator), _) => return operator.label().to_owned(),
            (MethodKind::Auxiliary(operator), recipe) => return auxiliary_label(*operator, recipe),
            (MethodKind::Own(name), _) => return name.clone(),
            (MethodKind::Scope, Some("full")) => "Full".to_owned(),
            (MethodKind::Scope, Some(recipe)) => recipe.to_uppercase(),
            (MethodKind::Scope, None) => self.kind.name().to_owned(),
        };
        if let Some(decoder) = self.replaced_decoder() {
            label.push_str(&format!(" / {}", decoder.to_uppercase()));
        }
        if let Some(model) = &self.model {
            label.push_str(&format!(" ({model})"));
        }
        label
    }
}

/// What rows call an auxiliary operator that was trained with a recipe: `FNO + G (auxiliary)`, `PINO 0.1 + G`.
fn auxiliary_label(operator: Auxiliary, recipe: Option<&str>) -> String {
    let recipe = recipe.unwrap_or_default();
    let grounded = if recipe.split('-').any(|part| part == "g") { " + G" } else { "" };
    if recipe.split('-').next() != Some("pino") {
        return format!("{}{grounded} (auxiliary)", operator.label());
    }
    let weight = recipe.rsplit('-').next().filter(|part| part.parse::<f64>().is_ok()).unwrap_or("1.0");
    format!("PINO {weight}{grounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auxiliary_operators_are_called_by_their_recipes() {
        let label = |recipe| auxiliary_label(Auxiliary::Fno, recipe);
        let labels =
            ["auxiliary", "auxiliary-g", "pino", "pino-g", "pino-0.1", "pino-g-0.1"].map(|r| label(Some(r)));
        let expected = [
            "FNO (auxiliary)",
            "FNO + G (auxiliary)",
            "PINO 1.0",
            "PINO 1.0 + G",
            "PINO 0.1",
            "PINO 0.1 + G",
        ];
        assert_eq!(labels, expected);
        assert_eq!(label(None), "FNO (auxiliary)");
        for kind in Auxiliary::ALL.map(MethodKind::Auxiliary) {
            assert_eq!(MethodKind::from(kind.name()), kind);
        }
    }
}
