//! Which optimizer a recipe trains with.

use serde::{Deserialize, Serialize};

/// The optimizer of a recipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizerKind {
    /// AdamW for all parameters.
    #[default]
    AdamW,
    /// Muon for hidden matrices, AdamW for the rest.
    Muon,
}

/// Settings of Muon in a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MuonRecipe {
    /// Learning rate of hidden matrices after the warm-up. At all times it is the same multiple of AdamW's.
    pub rate: f64,
}

impl Default for MuonRecipe {
    fn default() -> Self {
        Self { rate: 1e-3 }
    }
}
