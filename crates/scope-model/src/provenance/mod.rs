//! Where a model and its figures come from: how it was trained, what was evaluated on what. Weight files, cards,
//! evaluations and diagnoses state it with the types of this folder.

mod method;
mod training;

use std::collections::BTreeMap;

use scope_data::{
    Dataset,
    observation::{Condition, TestNoise},
};
use scope_pde::{GridShape, Pde, Split};
use serde::{Deserialize, Serialize};

pub use method::{Budget, MethodIdentity, MethodKind};
pub use training::{Adapted, MOST_DRAWS, Training, View};

/// What was evaluated on what: enough to tell whether two results may be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
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
    pub resolution: GridShape,
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

impl DataIdentity {
    /// The provenance of a data set.
    pub fn of(data: &Dataset) -> Self {
        let meta = data.meta();
        Self {
            blake3: meta.fields_hash().to_owned(),
            split: meta.split,
            origin: meta.origin.describe(meta.pde),
            generated: meta.origin.is_generated(),
            resolution: meta.resolution,
            trained_on: false,
        }
    }

    /// Whether the records were kept from training: those of a training set never count as held out.
    pub fn is_held_out(&self) -> bool {
        self.split != Split::Train && !self.trained_on
    }
}
