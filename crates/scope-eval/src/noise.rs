//! Noise on the readings of held-out records.

use scope_data::{
    Channel, Constants, Pair, PerChannel, as_array,
    observation::{Condition, ContextMasks, MaskSampler, Namespace, ReadingNoise},
};
use scope_engine::RowNoise;
use serde::{Deserialize, Serialize};

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

    /// Puts noisy readings in the place of exact ones. What comes with the problem needs no sensor and stays exact.
    pub(crate) fn spoil(
        &self,
        sampler: &MaskSampler,
        (record, condition): (u64, Condition),
        pair: &Pair,
        masks: &ContextMasks,
        context: &mut [f32],
    ) {
        let keys = sampler.noise_keys(Namespace::Test, record, condition);
        let pixels = pair.a().len();
        for (channel, shown) in Channel::BOTH.into_iter().zip(context.chunks_exact_mut(2 * pixels)) {
            let noise = ReadingNoise { level: self.levels[channel], key: keys[channel] };
            let weight = if self.untold { 1.0 } else { noise.trust() };
            let row = RowNoise { key: noise.key, level: noise.stored_level(), weight };
            let (values, mask) = shown.split_at_mut(pixels);
            for point in masks.sensors(channel).points() {
                [values[point], mask[point]] = row.reading(point, pair.field(channel)[point]);
            }
        }
    }
}
