//! What a stage of training minimises, as data.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A term of the objective. Components are ordered and stored by their letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Component {
    /// L_F: the physical error of the fields recovered from the context.
    #[serde(rename = "F")]
    Field,
    /// L_J: the distance of predicted latents from the EMA teacher's.
    #[serde(rename = "J")]
    Latent,
    /// L_G: the physical error of the fields decoded from the complete view's latents.
    #[serde(rename = "G")]
    Grounding,
    /// L_V: a floor under the standard deviation of the complete view's latents.
    #[serde(rename = "V")]
    Variance,
    /// L_R: the mean square of the equation's residual, which PINO adds.
    #[serde(rename = "R")]
    Residual,
}

impl Ord for Component {
    fn cmp(&self, other: &Self) -> Ordering {
        self.letter().cmp(other.letter())
    }
}

impl PartialOrd for Component {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Component {
    /// All components, in the paper's order.
    pub const ALL: [Self; 5] =
        [Component::Field, Component::Latent, Component::Grounding, Component::Variance, Component::Residual];

    /// Its letter in the paper.
    pub fn letter(self) -> &'static str {
        match self {
            Component::Field => "F",
            Component::Latent => "J",
            Component::Grounding => "G",
            Component::Variance => "V",
            Component::Residual => "R",
        }
    }
}

/// The parts of the network that the grounding term trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroundedParts {
    /// Encoder and decoder.
    EncoderAndDecoder,
    /// The decoder only: it sees the complete view's latents, and nothing flows back through them.
    Decoder,
}

/// How the errors of fields are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldMeasure {
    /// The relative L2 error of both fields in physical units.
    #[default]
    Relative,
    /// The mean absolute error of the one field that is hidden, in units of its standard deviation: the auxiliary
    /// operator study.
    HiddenL1,
}

impl FieldMeasure {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Weights of the components and how they are put together. A weight of zero leaves a component out, with all
/// the work that only it needs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// What the field loss L_F and the grounding loss L_G measure.
    #[serde(skip_serializing_if = "FieldMeasure::is_default")]
    pub measure: FieldMeasure,
    /// Weight of the field loss L_F.
    pub field: f64,
    /// Weight of the latent loss L_J; above zero there is an EMA teacher.
    pub latent: f64,
    /// Weight of the grounding loss L_G.
    pub grounding: f64,
    /// The parts of the network that L_G trains.
    pub grounding_reach: GroundedParts,
    /// Weight of the variance loss L_V.
    pub variance: f64,
    /// Standard deviation of a latent coordinate over the batch below which L_V is above zero.
    #[serde(rename = "spread")]
    pub std_floor: f64,
    /// Weight of the residual loss L_R.
    #[serde(skip_serializing_if = "is_zero")]
    pub residual: f64,
    /// Whether the other components together may not outweigh L_F's gradient.
    pub capped: bool,
}

fn is_zero(weight: &f64) -> bool {
    *weight == 0.0
}

impl Default for Objective {
    fn default() -> Self {
        Self::NONE
    }
}

impl Objective {
    /// No component at all; a start for others.
    const NONE: Self = Self {
        measure: FieldMeasure::Relative,
        field: 0.0,
        latent: 0.0,
        grounding: 0.0,
        grounding_reach: GroundedParts::EncoderAndDecoder,
        variance: 0.0,
        std_floor: 0.1,
        residual: 0.0,
        capped: true,
    };

    /// F + alpha (J + 0.25 G + 0.01 V).
    pub const FULL: Self = Self { field: 1.0, latent: 1.0, grounding: 0.25, variance: 0.01, ..Self::NONE };
    /// F + alpha (J + 0.01 V).
    pub const FJV: Self = Self { grounding: 0.0, ..Self::FULL };
    /// The field loss F alone.
    pub const FO: Self = Self { field: 1.0, ..Self::NONE };
    /// F + alpha 0.25 G.
    pub const FG: Self = Self { field: 1.0, grounding: 0.25, ..Self::NONE };
    /// Full, with a grounding that trains the decoder only.
    pub const FJVG: Self = Self { grounding_reach: GroundedParts::Decoder, ..Self::FULL };
    /// G + 0.01 V, uncapped: the complete-view stage before joint training.
    pub const PRETRAIN: Self = Self { grounding: 1.0, variance: 0.01, capped: false, ..Self::NONE };

    /// The weight of a component.
    pub fn weight(&self, component: Component) -> f64 {
        match component {
            Component::Field => self.field,
            Component::Latent => self.latent,
            Component::Grounding => self.grounding,
            Component::Variance => self.variance,
            Component::Residual => self.residual,
        }
    }

    /// Whether a component takes part.
    pub fn has(&self, component: Component) -> bool {
        self.weight(component) > 0.0
    }

    /// The same objective in two: what needs the context, and what needs the complete view. They share no activations.
    pub(crate) fn by_view(&self) -> [Self; 2] {
        let context = Self { grounding: 0.0, variance: 0.0, ..*self };
        let complete = Self { field: 0.0, latent: 0.0, residual: 0.0, ..*self };
        [context, complete]
    }

    /// The same without what is a property of the whole batch: what is left is the mean of every row by itself.
    pub(crate) fn by_row(&self) -> Self {
        Self { variance: 0.0, ..*self }
    }

    /// The components that take part, in the paper's order.
    pub(crate) fn components(&self) -> impl Iterator<Item = Component> + use<> {
        let objective = *self;
        Component::ALL.into_iter().filter(move |component| objective.has(*component))
    }

    /// The parts of the network that it trains. Complete views pass neither predictor nor conditioner, and what
    /// no gradient reaches must not decay either.
    pub fn paths(&self) -> &'static [&'static str] {
        let context = self.has(Component::Field) || self.has(Component::Latent);
        if context { &[""] } else { &["encoder", "decoder"] }
    }
}
