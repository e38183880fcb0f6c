//! Which optimizer a recipe trains with.

use serde::{Deserialize, Serialize};

/// What updates parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// AdamW for all parameters.
    #[default]
    AdamW,
    /// Muon for hidden matrices, AdamW for the rest.
    Muon,
}

/// What a recipe says of Muon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuonRecipe {
    /// The learning rate of hidden matrices after the warm-up. At all times it is the same multiple of AdamW's.
    pub rate: f64,
}

impl Default for MuonRecipe {
    fn default() -> Self {
        Self { rate: 1e-3 }
    }
}
