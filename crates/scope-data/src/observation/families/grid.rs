//! A Cartesian product of evenly spread rows and columns.

use crate::{draw::Draw, observation::mask::Mask};

/// Rows floor((r + phase) S / rows) for r below `rows`, columns alike, each axis with a random phase in [0,
/// 1); a coin decides whether rows and columns are exchanged.
pub(in crate::observation) fn sample(mask: &mut Mask, shape: [usize; 2], stream: &mut impl Draw) {
    let size = mask.size();
    let [rows, columns] = if stream.coin() { [shape[1], shape[0]] } else { shape };
    let rows = lines(rows, size, stream);
    let columns = lines(columns, size, stream);
    for i in &rows {
        for j in &columns {
            mask.insert(i * size + j);
        }
    }
}

fn lines(count: usize, size: usize, stream: &mut impl Draw) -> Vec<usize> {
    let phase = stream.unit();
    let step = size as f64 / count as f64;
    // The last line is at most floor(size - tiny); the minimum guards against rounding up.
    (0..count).map(|k| (((k as f64 + phase) * step) as usize).min(size - 1)).collect()
}
