//! Synthetic batches, for measuring and comparing training steps.

use scope_data::GridShape;
use scope_engine::Device;
use scope_train::{Examples, TrainError};

/// One point in so many is seen.
const SEEN: usize = 30;

/// Waves with few points seen: the time of a step does not depend on their values.
pub(super) fn examples(device: &Device, grid: GridShape, batch: usize) -> Result<Examples, TrainError> {
    let pixels = grid.points();
    let fields: Vec<f32> = (0..batch * 2 * pixels).map(|k| (k as f32 * 0.01).sin()).collect();
    let seen = |k: usize| f32::from(u8::from(k.is_multiple_of(SEEN)));
    let context = |field: &[f32]| {
        let values = field.iter().enumerate().map(|(k, x)| x * seen(k));
        values.chain((0..pixels).map(seen)).collect::<Vec<f32>>()
    };
    let contexts: Vec<f32> = fields.chunks(pixels).flat_map(context).collect();
    Examples::new(device, grid, &fields, &contexts, &vec![0.01; 2 * batch])
}
