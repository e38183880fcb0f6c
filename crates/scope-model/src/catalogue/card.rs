//! A model card: what a user should know before trusting a model, as TOML beside its weight file.

use std::path::{Path, PathBuf};

use scope_data::{
    DataError, PerChannel,
    observation::{NAMED_POINTS, Task},
    read_bounded,
    schedule::SensorMix,
    write_atomic,
};
use scope_pde::{GridShape, Pde};
use serde::{Deserialize, Serialize};

use super::held_out::HeldOut;
use crate::{
    bands::Bands,
    error::ModelError,
    provenance::{Training, View},
    weights::Quantisation,
};

/// The version of the layout.
const FORMAT: u32 = 1;
/// The most bytes of a card; ours have thirty thousand.
const MOST_BYTES: u64 = 1 << 20;

/// What is known of a model. Errors are percentages, values are in physical units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// The version of this layout.
    pub format: u32,
    /// What the model is called.
    pub name: String,
    /// Its problem.
    pub pde: Pde,
    /// `base`, `small`, `tiny`, or `custom`.
    pub size: String,
    /// How many numbers it was trained to.
    pub parameters: usize,
    /// Grid points along each axis.
    pub resolution: GridShape,
    /// Its weight file.
    pub weights: CardWeights,
    /// How it was trained.
    pub training: CardTraining,
    /// What it was trained on.
    pub data: CardData,
    /// The values that its training data have.
    pub range: PerChannel<[f64; 2]>,
    /// Its errors on records that training has not seen.
    pub held_out: HeldOut,
    /// How far its fields may be off, pixel by pixel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bands: Option<Bands>,
}

/// A card's weight file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardWeights {
    /// Its name, in the card's own folder.
    pub file: String,
    /// What its weights are stored in.
    pub kind: Quantisation,
    /// Its length.
    pub bytes: u64,
    /// Its hash, as `b3sum` prints it.
    pub blake3: String,
}

/// How a model was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardTraining {
    /// The recipe's name.
    pub recipe: String,
    /// Examples seen, by what it went on from too.
    pub draws: u64,
    /// Examples that were planned: with fewer seen, training was cut short.
    pub planned: u64,
    /// The seed of initial parameters, batches and masks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
    /// The device that it was trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The tasks it was trained for.
    pub tasks: Vec<Task>,
    /// The fewest and the most sensors of a field in training, on a grid of 128 x 128.
    pub sensors: [usize; 2],
    /// The least and the greatest noise of readings in training, in units of the field's standard deviation, if some
    /// were noisy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<[f64; 2]>,
    /// The trainings that it went on from, the last one first; draws and minutes are counted above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<CardEarlier>,
}

/// A training that another went on from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardEarlier {
    /// Its problem, if that is another than the card's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Pde>,
    /// The recipe's name.
    pub recipe: String,
    /// Examples seen until its end.
    pub draws: u64,
    /// Minutes until its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
}

impl CardEarlier {
    /// What a training went on from, the last one first.
    pub fn all(training: &Training) -> Vec<Self> {
        std::iter::successors(training.from.as_deref(), |earlier| earlier.from.as_deref())
            .map(|earlier| Self {
                problem: earlier.problem,
                recipe: earlier.recipe.clone(),
                draws: earlier.taken(),
                minutes: earlier.minutes_taken(),
            })
            .collect()
    }
}

impl CardTraining {
    /// The tasks that a training covers, and the fewest and the most sensors of a field on a grid of 128 x 128: all of
    /// the protocol's and the few that were mixed with them, or what a replacement decoder saw.
    pub fn covers(training: Option<&Training>) -> (&'static [Task], [usize; 2]) {
        let adapted = training.and_then(|training| training.adapted.as_deref());
        if adapted.is_some_and(|adapted| adapted.view == View::Sparse) {
            return (&[Task::Forward, Task::Inverse], [500, 500]);
        }
        let mix = training.and_then(|training| training.sensors).filter(|mix| mix.few_share > 0.0);
        let fewest = mix.map_or(500, |mix| mix.few[0].min(500));
        (&Task::ALL, [fewest, NAMED_POINTS])
    }

    /// The range of noise that a training covers, in units of the field's standard deviation; none if all readings were
    /// exact.
    pub fn noise_of(training: &Training) -> Option<[f64; 2]> {
        training.sensors.filter(SensorMix::is_noisy).map(|mix| mix.noise)
    }
}

/// What a model was trained on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardData {
    /// Where the records come from.
    pub origin: String,
    /// The number of records.
    pub records: usize,
    /// BLAKE3 of the fields.
    pub blake3: String,
}

impl Card {
    /// The version that this program reads and writes.
    pub const FORMAT: u32 = FORMAT;

    /// Where the card of a weight file is: beside it, ending in `.toml`.
    pub fn beside(weights: &Path) -> PathBuf {
        weights.with_extension("toml")
    }

    /// Reads a card.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let refuse = |problem: String| ModelError::Card { path: path.to_owned(), problem };
        let bytes = read_bounded(path, MOST_BYTES).map_err(|error| match error {
            DataError::Io { source, .. } => ModelError::Io { path: path.to_owned(), source },
            other => other.into(),
        })?;
        let text = String::from_utf8(bytes).map_err(|error| refuse(error.to_string()))?;
        Self::parse(path, &text)
    }

    /// Reads the text of a card; errors call it `path`.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ModelError> {
        let refuse = |problem: String| ModelError::Card { path: path.to_owned(), problem };
        let card: Self = toml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if card.format != FORMAT {
            return Err(refuse(format!("its format is {}, this program reads {FORMAT}", card.format)));
        }
        card.check().map_err(refuse)?;
        Ok(card)
    }

    /// Writes the card, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), ModelError> {
        Ok(write_atomic(path, self.text(path)?.as_bytes())?)
    }

    /// The text of the card; errors call it `path`.
    pub fn text(&self, path: &Path) -> Result<String, ModelError> {
        let refuse = |problem: String| ModelError::Card { path: path.to_owned(), problem };
        self.check().map_err(refuse)?;
        toml::to_string(self).map_err(|error| refuse(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_says_how_few_and_how_noisy_the_sensors_of_training_were() {
        let of = |sensors: Option<SensorMix>| Training {
            recipe: "fo".into(),
            draws: 1,
            planned: 1,
            generated: true,
            seed: None,
            minutes: None,
            sensors,
            problem: None,
            adapted: None,
            from: None,
        };
        let told = |sensors: Option<SensorMix>| {
            let training = of(sensors);
            let (_, [fewest, _]) = CardTraining::covers(Some(&training));
            (fewest, CardTraining::noise_of(&training))
        };
        let mix = SensorMix { noise_share: 0.25, few_share: 0.25, ..SensorMix::default() };
        assert_eq!(told(None), (500, None));
        assert_eq!(told(Some(SensorMix::default())), (500, None));
        assert_eq!(told(Some(mix)), (5, Some([0.001, 0.2])));
        assert_eq!(told(Some(SensorMix { noise_share: 0.0, ..mix })), (5, None));
    }
}
