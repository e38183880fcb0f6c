//! Batches gathered from a table.

use super::{Check, numbers, relative_error};
use crate::{
    device::Device,
    error::EngineError,
    noise::RowNoise,
    table::{ImageTable, SelectedBatch, SelectedNoise, Selection},
};

/// Copies are exact.
const LIMIT: f64 = 0.0;
/// Noise is computed in double precision and rounded; readings then round once or twice more.
const NOISY_LIMIT: f64 = 1e-5;

/// Everything that a gathered batch holds, on both devices, of exact readings and of noisy ones.
pub(super) fn checks(cpu: &Device, gpu: &Device) -> Result<Vec<Check>, EngineError> {
    let mut checks = Vec::new();
    for (kind, noisy, limit) in [("", false, LIMIT), (" with noise", true, NOISY_LIMIT)] {
        let expected = gathered(cpu, noisy)?;
        let got = gathered(gpu, noisy)?;
        let pairs = expected.iter().zip(&got);
        checks.extend(pairs.map(|((name, expected), (_, got))| Check {
            name: format!("gather{kind}: {name}"),
            error: relative_error(got, expected),
            limit,
        }));
    }
    Ok(checks)
}

type Parts = Vec<(&'static str, Vec<f32>)>;

/// Words that look random.
fn bits(count: usize, first: u64) -> Vec<u64> {
    (first..first + count as u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect()
}

fn gathered(device: &Device, noisy: bool) -> Result<Parts, EngineError> {
    let shape = [7, 2, 16, 24];
    let batch = 5;
    let images = numbers(1, shape.iter().product());
    let table = ImageTable::new(device, shape, |first, piece| {
        piece.copy_from_slice(&images[first * 2 * 16 * 24..][..piece.len()]);
        Ok::<(), EngineError>(())
    })?;
    let mut selection = Selection::new(&table, batch)?;
    let masks = bits(batch * 2 * 6, 1);
    let exact = bits(batch * 6, 1_000);
    let keys = bits(batch * 2, 2_000);
    // Every third row is exact.
    let row = |(k, key): (usize, &u64)| match k % 3 {
        0 => RowNoise::NONE,
        _ => RowNoise { key: *key, level: 0.1 * k as f32, weight: 1.0 / k as f32 },
    };
    let rows: Vec<RowNoise> = keys.iter().enumerate().map(row).collect();
    selection.change(&SelectedBatch {
        indices: &[6, 0, 3, 3, 5],
        weights: &numbers(2, 2 * batch),
        masks: &masks,
        noise: noisy.then_some(SelectedNoise { rows: &rows, exact: &exact }),
    })?;
    let batch = table.gather(&selection)?;
    let parts = [
        ("images", &batch.images),
        ("what is seen", &batch.seen),
        ("complete views", &batch.complete),
        ("weights", &batch.weights),
    ];
    parts.into_iter().map(|(name, tensor)| Ok((name, tensor.to_vec::<f32>()?))).collect()
}
