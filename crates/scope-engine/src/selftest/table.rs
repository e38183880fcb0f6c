//! Batches gathered from a table.

use super::{Check, numbers, relative_error};
use crate::{
    device::Device,
    error::EngineError,
    table::{Selection, Table},
};

/// Copies are exact.
const LIMIT: f64 = 0.0;

/// Everything that a gathered batch holds, on both devices.
pub(super) fn checks(processor: &Device, card: &Device) -> Result<Vec<Check>, EngineError> {
    let (expected, got) = (gathered(processor)?, gathered(card)?);
    let pairs = expected.iter().zip(&got);
    Ok(pairs
        .map(|((name, expected), (_, got))| Check {
            name: format!("gather: {name}"),
            error: relative_error(got, expected),
            limit: LIMIT,
        })
        .collect())
}

type Parts = Vec<(&'static str, Vec<f32>)>;

fn gathered(device: &Device) -> Result<Parts, EngineError> {
    let (shape, batch) = ([7, 2, 16, 24], 5);
    let images = numbers(1, shape.iter().product());
    let table = Table::new(device, shape, |first, piece| {
        piece.copy_from_slice(&images[first * 2 * 16 * 24..][..piece.len()]);
        Ok::<(), EngineError>(())
    })?;
    let mut selection = Selection::new(&table, batch)?;
    let masks: Vec<u64> = (1..=batch as u64 * 2 * 6).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    selection.change(&[6, 0, 3, 3, 5], &numbers(2, 2 * batch), &masks)?;
    let batch = table.gather(&selection)?;
    let parts = [
        ("images", &batch.images),
        ("what is seen", &batch.seen),
        ("complete views", &batch.complete),
        ("weights", &batch.weights),
    ];
    parts.into_iter().map(|(name, tensor)| Ok((name, tensor.to_vec::<f32>()?))).collect()
}
