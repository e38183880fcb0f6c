//! The readings that a context shows of a batch: exact ones, and noisy ones with their weights.

use scope_data::{
    observation::{ReadingNoise, write_channel_context},
    schedule::BatchNoise,
};
use scope_engine::RowNoise;

/// Writes one channel's part of a context: readings times their weights, and the weights. `seen` and `exact` are the
/// words of masks.
pub(super) fn write_readings(
    field: &[f32],
    seen: &[u64],
    exact: &[u64],
    noise: &RowNoise,
    context: &mut [f32],
) {
    let is_exact = |point: usize| (exact[point / 64] >> (point % 64)) & 1 == 1;
    let reading = |point: usize, value: f32| {
        let noise = if is_exact(point) { &RowNoise::NONE } else { noise };
        noise.reading(point, value)
    };
    write_channel_context(field, seen, reading, context);
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
        let pixels = 65_536;
        let field: Vec<f32> = (0..pixels).map(|k| (k as f32 * 0.01).sin()).collect();
        let all = vec![u64::MAX; pixels / 64];
        let none = vec![0; pixels / 64];
        for (row, level) in row_noise(&BatchNoise { rows, exact: Vec::new() }).iter().zip(levels) {
            let mut context = vec![f32::NAN; 2 * pixels];
            write_readings(&field, &all, &none, row, &mut context);
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
