//! What a network is shown of a record's channel.

use scope_data::{observation::ReadingNoise, schedule::BatchNoise};
use scope_engine::RowNoise;

/// Adds what is shown of a field to a context: readings times their weights, and the weights.
pub(super) fn show(field: &[f32], seen: &[u64], exact: &[u64], noise: &RowNoise, contexts: &mut Vec<f32>) {
    let is_set = |bits: &[u64], k: usize| (bits[k / 64] >> (k % 64)) & 1 == 1;
    let begin = contexts.len();
    contexts.resize(begin + 2 * field.len(), 0.0);
    let (values, mask) = contexts[begin..].split_at_mut(field.len());
    for (k, (value, mask)) in values.iter_mut().zip(mask).enumerate().filter(|(k, _)| is_set(seen, *k)) {
        let noise = if is_set(exact, k) { &RowNoise::NONE } else { noise };
        [*value, *mask] = noise.reading(k, field[k]);
    }
}

/// A batch's noise in stored coordinates, with the weights of its readings.
pub(super) fn row_noise(noise: &BatchNoise) -> Vec<RowNoise> {
    let row = |noise: &ReadingNoise| RowNoise {
        key: noise.key,
        level: noise.stored_level(),
        weight: noise.trust(),
    };
    noise.rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_off_by_their_noise_and_weighed_by_it() {
        let levels = [0.02, 0.1];
        let rows: Vec<ReadingNoise> =
            levels.iter().zip([3, 4]).map(|(level, key)| ReadingNoise { level: *level, key }).collect();
        let (field, pixels): (Vec<f32>, usize) =
            ((0..65_536).map(|k| (k as f32 * 0.01).sin()).collect(), 65_536);
        let all = vec![u64::MAX; pixels / 64];
        let none = vec![0; pixels / 64];
        for (row, level) in row_noise(&BatchNoise { rows, exact: Vec::new() }).iter().zip(levels) {
            let mut context = Vec::new();
            show(&field, &all, &none, row, &mut context);
            let (values, mask) = context.split_at(pixels);
            let weight = 1e-4 / (1e-4 + level * level);
            assert!(mask.iter().all(|c| (f64::from(*c) - weight).abs() < 1e-7));
            // In units of the field's standard deviation, which is 1/2 in stored coordinates.
            let off = |k: usize| 2.0 * f64::from(values[k] / mask[k] - field[k]) / level;
            let mean = (0..pixels).map(off).sum::<f64>() / pixels as f64;
            let square = (0..pixels).map(|k| off(k).powi(2)).sum::<f64>() / pixels as f64;
            assert!(mean.abs() < 5.0 / 256.0 && (square - 1.0).abs() < 5.0 * 2_f64.sqrt() / 256.0);
        }
    }
}
