//! Noise on the readings of held-out records.

use scope_data::{
    Channel, Pair,
    observation::{Condition, ContextMasks, MaskSampler, Namespace, ReadingNoise, TestNoise},
};
use scope_engine::RowNoise;

/// Puts noisy readings in the place of exact ones. What comes with the problem needs no sensor and stays exact.
pub(crate) fn spoil(
    noise: &TestNoise,
    sampler: &MaskSampler,
    (record, condition): (u64, Condition),
    pair: &Pair,
    masks: &ContextMasks,
    context: &mut [f32],
) {
    let keys = sampler.noise_keys(Namespace::Test, record, condition);
    let pixels = pair.a().len();
    for (channel, shown) in Channel::BOTH.into_iter().zip(context.chunks_exact_mut(2 * pixels)) {
        let reading = ReadingNoise { level: noise.levels[channel], key: keys[channel] };
        let weight = if noise.untold { 1.0 } else { reading.trust() };
        let row = RowNoise { key: reading.key, level: reading.stored_level(), weight };
        let (values, mask) = shown.split_at_mut(pixels);
        for point in masks.sensors(channel).points() {
            [values[point], mask[point]] = row.reading(point, pair.field(channel)[point]);
        }
    }
}
