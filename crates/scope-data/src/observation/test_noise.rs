//! Noise of an evaluation's readings.

use serde::{Deserialize, Serialize};

use crate::{Constants, PerChannel, as_array};

/// The noise of an evaluation's readings: Gaussian, independent, the same for the same record, condition and mask seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestNoise {
    /// The standard deviations for a and u, in units of the field's own.
    #[serde(with = "as_array")]
    pub levels: PerChannel<f64>,
    /// Whether the method is not told: readings then count in full, as if they were exact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
}

impl TestNoise {
    /// The standard deviations in physical units.
    pub fn physical(&self, constants: &Constants) -> PerChannel<f64> {
        self.levels.zip(*constants).map(|(level, scaling)| level * scaling.sigma)
    }

    /// The levels in words: one where both are the same.
    pub fn shown(&self) -> String {
        let PerChannel { a, u } = self.levels;
        if a == u { a.to_string() } else { format!("{a}-{u}") }
    }

    /// What labels and names of files say of it.
    pub fn label(&self) -> String {
        format!("noise-{}{}", self.shown(), if self.untold { "-untold" } else { "" })
    }
}
